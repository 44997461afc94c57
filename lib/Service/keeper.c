/* The keeper thread does periodic work. Each second, and when it is woken, it handles ended leases,
 * their cost, changed choices and tokens, and claims that wait for a job. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "Service/server.h"
#include "Service/service_state.h"
#include "Support/memory.h"

/* ---- waiting claims ---- */

static bool is_over(const hd_request *r, const void *now) {
  return r->wait_until <= *(const double *)now;
}

static bool is_of_class(const hd_request *r, const void *class) {
  return strcmp(hd_text_of(json_object_get(r->body, "device"), "class", ""), class) == 0;
}

static bool is_any(const hd_request *r, const void *user) {
  (void)r;
  (void)user;
  return true;
}

static void answer_all(hd_request *list) {
  for (hd_request *next; list; list = next) {
    next = list->next;
    hd_answer_nothing(list);
    hd_request_resume(list);
  }
}

/* Requeues as many claims of a class as it has jobs, oldest first; skips closed connections. */
static void serve_class(hd_service *s, const char *class, int64_t n) {
  hd_request *list = hd_take_waiting(s, is_of_class, class, n);
  for (hd_request *next; list; list = next) {
    next = list->next;
    if (hd_request_is_gone(list) || !hd_queue_push(&s->writes, list, INT32_MAX)) {
      hd_answer_nothing(list);
      hd_request_resume(list);
    }
  }
}

/* ---- periodic work, as requests without a client ---- */

static void run_expire(hd_request *r) {
  int n = 0;
  if (hd_leases_expire(r, &n))
    r->service->metrics.expired_leases += (unsigned)n;
}

static void run_charge(hd_request *r) {
  hd_leases_charge(r);
}

static void run_read(hd_request *r) {
  bool changed;
  r->service->metrics.reads++;
  hd_sql_ok(r, hd_tokens_refresh(r->service->tokens, r->store));
  hd_sql_ok(r, hd_snapshot_refresh(r->service->snapshot, r->store, &changed));
}

static void run_states(hd_request *r) {
  hd_rows rows;
  if (HD_RUN(r, job_states, &rows, ""))
    hd_metrics_states(&r->service->metrics, &rows);
}

static void run_serve(hd_request *r) {
  hd_rows rows;
  if (r->service->n_waiting && HD_RUN(r, waiting_classes, &rows, ""))
    for (int i = 0; i < rows.n; i++)
      serve_class(r->service, hd_cell_text(&rows, i, 0), hd_cell_int(&rows, i, 1));
}

/* False: the database is not reachable. */
static bool act(hd_service *s, hd_store *store, hd_handler *run) {
  hd_request r = {.service = s, .run = run, .begun = hd_clock_seconds()};
  hd_request_run(&r, store);
  bool up = r.sql != HD_SQL_DOWN;
  hd_free(r.text);
  hd_arena_free(&r.arena);
  return up;
}

/* ---- the loop ---- */

/* Waits up to a second, or until this or another daemon wakes the keeper; at least 20 ms, so that a
 * busy daemon reads the changes of many requests at once. */
static void sleep_a_while(hd_service *s, hd_store *store) {
  char drained[64];
  usleep(20000);
  int fd = hd_store_listen(store);
  struct pollfd fds[] = {{s->wake[0], POLLIN, 0}, {fd, POLLIN, 0}};
  poll(fds, fd >= 0 ? 2 : 1, 1000);
  while (read(s->wake[0], drained, sizeof drained) > 0)
    continue;
}

/* The work of each second. */
static void tick(hd_service *s, hd_store *store, int64_t n) {
  hd_server_cut_slow(s);
  s->store_is_up =
      act(s, store, run_expire) && act(s, store, run_charge) && act(s, store, run_read);
  if (!s->store_is_up)
    return;
  if (n % 5 == 0)
    act(s, store, run_states);
  if (n % 60 == 0)
    (void)hd_store_vacuum(store);
  act(s, store, run_serve);
}

static void *keep(void *user) {
  hd_service *s = user;
  hd_store *store = NULL;
  heddle_context *ctx = heddle_context_create();
  double next = 0;
  int64_t n_ticks = 0;
  while (!s->stopping && hd_store_open(ctx, s->config->store, &store) != HEDDLE_OK) {
    heddle_context_clear(ctx);
    sleep(1);
  }
  while (!s->stopping) {
    bool jobs = atomic_exchange(&s->jobs_changed, false);
    bool choices = atomic_exchange(&s->choices_changed, false);
    bool heard = hd_store_heard(store);
    double now = hd_clock_seconds();
    if (choices || heard)
      act(s, store, run_read);
    if (jobs || heard)
      act(s, store, run_serve);
    if ((jobs || choices) && hd_store_notify(store) != HD_SQL_OK)
      hd_log_text(s, "error", "notify: %s", hd_store_error(store));
    if (now >= next) {
      next = now + 1;
      tick(s, store, n_ticks++);
    }
    answer_all(hd_take_waiting(s, is_over, &now, INT32_MAX));
    sleep_a_while(s, store);
  }
  hd_store_close(store);
  heddle_context_free(ctx);
  return NULL;
}

heddle_status hd_keeper_start(heddle_context *ctx, hd_service *s) {
  if (pipe2(s->wake, O_NONBLOCK | O_CLOEXEC) != 0 || pthread_create(&s->keeper, NULL, keep, s) != 0)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "service.start", "cannot start a thread");
  s->keeper_runs = true;
  return HEDDLE_OK;
}

void hd_keeper_stop(hd_service *s) {
  s->stopping = true;
  if (s->keeper_runs) {
    hd_keeper_wake(s);
    pthread_join(s->keeper, NULL);
    close(s->wake[0]);
    close(s->wake[1]);
  }
  s->keeper_runs = false;
  answer_all(hd_take_waiting(s, is_any, NULL, INT32_MAX));
}
