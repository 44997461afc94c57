/* Requests that need the database: queues, workers, and the transaction around a handler. */
#include <string.h>

#include "Service/service_state.h"
#include "Support/memory.h"

/* ---- queues ---- */

bool hd_queue_push(hd_queue *q, hd_request *r, int max) {
  pthread_mutex_lock(&q->lock);
  bool room = q->n < max && !q->closed;
  if (room) {
    r->next = NULL;
    *q->last = r;
    q->last = &r->next;
    q->n++;
  }
  pthread_mutex_unlock(&q->lock);
  if (room) /* without the lock, which the worker takes at once */
    pthread_cond_signal(&q->filled);
  return room;
}

static hd_request *pop(hd_queue *q) {
  pthread_mutex_lock(&q->lock);
  while (!q->first && !q->closed)
    pthread_cond_wait(&q->filled, &q->lock);
  hd_request *r = q->first;
  if (r) {
    q->first = r->next;
    if (!q->first)
      q->last = &q->first;
    q->n--;
  }
  pthread_mutex_unlock(&q->lock);
  return r;
}

static void open_queue(hd_queue *q) { /* zeroed */
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->filled, NULL);
  q->last = &q->first;
}

static void close_queue(hd_queue *q) {
  pthread_mutex_lock(&q->lock);
  q->closed = true;
  pthread_cond_broadcast(&q->filled);
  pthread_mutex_unlock(&q->lock);
}

/* ---- one request ---- */

/* Answers a request whose statements failed. If the connection was lost, COMMIT may have succeeded;
 * every request may be repeated. */
static void answer_failure(hd_request *r) {
  hd_service *s = r->service;
  s->metrics.store_failures++;
  hd_log_text(s, "error", "request %s, %s: %s", r->id, r->route ? r->route->name : "of the keeper",
              hd_store_error(r->store));
  bool away = r->sql != HD_SQL_BROKEN && r->sql != HD_SQL_CONFLICT;
  hd_refuse(r, away ? HD_RULE_STORE_DOWN : HD_RULE_INTERNAL, NULL, NULL, NULL, NULL);
  if (away)
    hd_answer_header(r, "Retry-After", "1");
}

static void wake_others(hd_request *r) {
  hd_service *s = r->service;
  s->jobs_changed |= r->wakes_jobs;
  s->choices_changed |= r->wakes_choices;
  if (r->wakes_jobs || r->wakes_choices)
    hd_keeper_wake(s);
}

/* If memory ran out, parts may be missing, so nothing is committed. */
static void run_once(hd_request *r) {
  uint64_t before = hd_memory_shortages();
  r->run(r);
  if (r->sql == HD_SQL_OK && hd_memory_shortages() != before)
    hd_sql_ok(r, hd_store_no_memory(r->store));
  if (!r->begun_tx)
    return;
  if (r->sql == HD_SQL_OK && !r->rule && !r->rolls_back)
    hd_sql_ok(r, hd_store_commit(r->store));
  else
    hd_store_rollback(r->store);
  r->begun_tx = false;
}

void hd_request_run(hd_request *r, hd_store *store) {
  enum { TRIES = 5 };
  r->store = store;
  for (int i = 0; i < TRIES; i++) {
    hd_request_reset(r);
    r->wait_until = 0;
    run_once(r);
    /* after a conflict, the second try sees the other transaction's changes */
    if (r->sql != HD_SQL_AGAIN && r->sql != HD_SQL_CONFLICT && !(r->sql == HD_SQL_DOWN && i == 0))
      break;
  }
  r->service->store_is_up = r->sql == HD_SQL_DOWN ? false : r->service->store_is_up;
  if (r->sql != HD_SQL_OK)
    answer_failure(r);
  else if (!r->rule)
    wake_others(r);
  r->store = NULL;
}

/* ---- workers ---- */

typedef struct worker {
  hd_service *service;
  hd_queue *queue;
  hd_store *store;
} worker;

static void *work(void *user) {
  worker *w = user;
  for (hd_request *r; (r = pop(w->queue));) {
    hd_request_run(r, w->store);
    if (r->status == 0 && r->wait_until > 0)
      hd_wait_for_job(r);
    else
      hd_request_resume(r);
  }
  hd_store_close(w->store);
  hd_free(w);
  return NULL;
}

static heddle_status start_one(heddle_context *ctx, hd_service *s, hd_queue *queue) {
  worker *w = hd_xzalloc(sizeof *w);
  w->service = s;
  w->queue = queue;
  heddle_status status = hd_store_open(ctx, s->config->store, &w->store);
  if (status == HEDDLE_OK && pthread_create(&s->worker[s->n_workers], NULL, work, w) != 0) {
    hd_store_close(w->store);
    status =
        hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "service.start", "cannot start a thread");
  }
  if (status != HEDDLE_OK) {
    hd_free(w);
    return status;
  }
  s->n_workers++;
  return HEDDLE_OK;
}

heddle_status hd_workers_start(heddle_context *ctx, hd_service *s) {
  bool sqlite = strncmp(s->config->store, "sqlite:", 7) == 0;
  int64_t n_writers = sqlite ? 1 : s->config->workers, n_readers = 2;
  open_queue(&s->writes);
  open_queue(&s->reads);
  for (int64_t i = 0; i < n_writers; i++)
    HD_TRY(start_one(ctx, s, &s->writes));
  for (int64_t i = 0; i < n_readers; i++)
    HD_TRY(start_one(ctx, s, &s->reads));
  return HEDDLE_OK;
}

void hd_workers_stop(hd_service *s) {
  close_queue(&s->writes);
  close_queue(&s->reads);
  for (int i = 0; i < s->n_workers; i++)
    pthread_join(s->worker[i], NULL);
  s->n_workers = 0;
}
