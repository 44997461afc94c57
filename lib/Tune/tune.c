#include "Tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Choice/size_choice.h"
#include "Schedule/cost.h"
#include "Schedule/enumerate.h"
#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/tune_session.h"

enum { MOST_FAULTS_TO_OPEN = 3 };
static const double OPEN_S = 300, DEADLINE_S = 30;

/* ---- the list ---- */

static void add_entry(hd_product_session *c, const hd_problem *p, const hd_entry *e) {
  static const int64_t fixed[3] = {0};
  c->entries[c->n++] = *e;
  hd_search_add(&c->search, e->text,
                hd_schedule_cost(p, &e->schedule, fixed, c->o->ceilings).seconds);
}

/* The incumbent may order its tiles as another entry does, and so be none of the list. What comes
 * from elsewhere is legalised like everything else; one that is not legal is left out. */
static void take_incumbent(heddle_context *ctx, hd_product_session *c, const hd_problem *p) {
  const char *text = c->o->incumbent;
  hd_entry e = {.state = HD_STATE_WAITING};
  heddle_context *why = heddle_context_create();
  heddle_status status = hd_schedule_read(why, c->o->ceilings, p, text, &e.schedule);
  if (status == HEDDLE_OK)
    status = hd_schedule_check(why, p, &e.schedule);
  if (status != HEDDLE_OK) {
    hd_note(ctx, HD_NOWHERE, "tune.incumbent", "\"%.200s\" is left out: %s", text,
            hd_first_error_text(why, heddle_status_text(status)));
  } else {
    hd_schedule_print(&e.schedule, e.text);
    for (c->incumbent = 0; c->incumbent < c->n; c->incumbent++)
      if (strcmp(c->entries[c->incumbent].text, e.text) == 0)
        break;
    if (c->incumbent == c->n)
      add_entry(c, p, &e);
  }
  heddle_context_free(why);
}

static heddle_status take_schedules(heddle_context *ctx, hd_product_session *c, const hd_problem *p,
                                    const hd_schedule *list, size_t n) {
  size_t n_wanted = 0;
  hd_schedule_words only = {0};
  HD_TRY(hd_schedule_parse(ctx, HD_NOWHERE, c->o->only, &only));
  c->entries = hd_xmalloc((n + 1) * sizeof *c->entries);
  for (size_t i = 0; i < n; i++) {
    bool yes = hd_schedule_matches(&list[i], &only);
    n_wanted += yes;
    hd_entry e = {.schedule = list[i], .state = HD_STATE_WAITING};
    hd_schedule_print(&list[i], e.text);
    if (i > 0 && (!yes || strcmp(e.text, c->entries[0].text) == 0))
      continue; /* the default, first and once more in the list, stays in any case */
    add_entry(c, p, &e);
  }
  c->incumbent = SIZE_MAX;
  if (c->o->incumbent)
    take_incumbent(ctx, c, p);
  if (n_wanted == 0)
    hd_note(ctx, HD_NOWHERE, "tune.only",
            "%s: no legal schedule has \"%s\"; only the default is measured", c->name,
            c->o->only);
  return HEDDLE_OK;
}

static heddle_status list_schedules(heddle_context *ctx, hd_product_session *c) {
  hd_schedule *list;
  size_t n;
  HD_TRY(hd_product_build(ctx, HD_NOWHERE, c->product, &c->front));
  hd_schedule_enumerate(c->o->ceilings, &c->front.problem, &list, &n);
  heddle_status status = take_schedules(ctx, c, &c->front.problem, list, n);
  hd_free(list);
  return status;
}

/* The race is with what a user gets. */
static void replace_usual(hd_product_session *c) {
  static const int64_t fixed[3];
  const hd_tuned_entry *none;
  hd_schedule s;
  hd_spilled_add(&c->spilled, &c->entries[c->usual].schedule);
  c->usual = SIZE_MAX;
  if (hd_choose_for_sizes(NULL, &c->front, NULL, fixed, &c->spilled, &none, &s) != HEDDLE_OK)
    return;
  for (size_t i = 0; i < c->n && c->usual == SIZE_MAX; i++)
    if (hd_schedule_equals(&c->entries[i].schedule, &s) && !hd_spilled_has(&c->spilled, &s))
      c->usual = i;
}

static void settle(hd_product_session *c, size_t i, hd_verdict verdict, double seconds) {
  c->entries[i].state = HD_STATE_DONE;
  c->search.list[i].taken = true;
  if (verdict == HD_VERDICT_OK)
    hd_search_learn(&c->search, i, seconds);
  c->n_measured += verdict != HD_VERDICT_REFUSED;
  c->n_refused += verdict == HD_VERDICT_REFUSED;
  c->n_lost += hd_verdict_is_loss(verdict);
  if (i == c->usual && verdict == HD_VERDICT_REFUSED)
    replace_usual(c);
}

/* A record from before a key was there lacks it: what its text comes to is compared. */
static bool take_known(void *user, const hd_record *r) {
  hd_product_session *c = user;
  hd_schedule s;
  char text[HD_SCHEDULE_TEXT];
  if (r->final || hd_schedule_read(NULL, c->o->ceilings, &c->front.problem, r->schedule, &s) !=
                      HEDDLE_OK)
    return true;
  hd_schedule_print(&s, text);
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(c->entries[i].text, text) == 0 && c->entries[i].state != HD_STATE_DONE)
      settle(c, i, r->verdict, r->median);
  return true;
}

/* ---- one measurement ---- */

static heddle_status take_in(heddle_context *ctx, hd_product_session *c, size_t i,
                             const hd_record *r) {
  settle(c, i, r->verdict, r->median);
  c->n_in_flight--;
  c->session->n_fresh++;
  heddle_status status = hd_records_add(ctx, c->o->records, r);
  hd_product_session_tell(c, r, NULL);
  return status;
}

static heddle_status heard_measurer(heddle_context *ctx, hd_product_session *c,
                                    const hd_worker_event *event) {
  hd_record r = hd_product_session_heard(c, (size_t)event->entry, event);
  hd_entry *e = &c->entries[event->entry];
  memcpy(e->cubin, r.cubin, sizeof e->cubin);
  e->error = r.error;
  return take_in(ctx, c, (size_t)event->entry, &r);
}

static heddle_status heard_compiler(heddle_context *ctx, hd_product_session *c,
                                    const hd_worker_event *event) {
  size_t i = (size_t)event->entry;
  const char *line = hd_strbuf_text(&event->line);
  if (event->kind == HD_WORKER_LINE && strncmp(line, "compiled", 8) == 0) {
    c->entries[i].state = HD_STATE_READY;
    return HEDDLE_OK;
  }
  const char *space = strchr(line, ' ');
  bool told = event->kind == HD_WORKER_LINE;
  hd_record r = {.product = c->name,
                 .schedule = c->entries[i].text,
                 .verdict = told                          ? HD_VERDICT_REFUSED
                            : event->kind == HD_WORKER_HANG ? HD_VERDICT_HANG
                                                          : HD_VERDICT_CRASH,
                 .why = told && space ? space + 1 : line,
                 .predicted = hd_product_session_predicted(c, i)};
  return take_in(ctx, c, i, &r);
}

/* ---- bringing the measurer up ---- */

static heddle_status heard_open(heddle_context *ctx, hd_product_session *c,
                                const hd_worker_event *event) {
  const char *line = hd_strbuf_text(&event->line);
  hd_provenance p = {.seed = c->o->seed};
  if (event->kind != HD_WORKER_LINE) {
    if (++c->n_faults < MOST_FAULTS_TO_OPEN)
      return HEDDLE_OK;
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                    "%d measuring processes in a row failed to start: %s", c->n_faults,
                    line);
  }
  if (sscanf(line, "ready %lf %31s %127[^\n]", &p.power_limit_w, p.driver, p.device) != 3)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                    "the measuring process cannot work: %s",
                    line + (strncmp(line, "failed ", 7) ? 0 : 7));
  c->workers->ready = true;
  c->n_faults = 0;
  if (c->session->recording)
    return HEDDLE_OK;
  c->session->recording = true;
  return hd_records_begin(ctx, c->o->records, &p, c->o->resume);
}

/* ---- canaries ---- */

/* One before the first measurement, one after the choice. */
static bool canary_is_due(const hd_product_session *c) {
  if (!c->o->canaries)
    return false;
  return c->n_canaries == 0 ? c->phase == HD_PHASE_SEARCH
                            : c->n_canaries == 1 && c->phase == HD_PHASE_OVER && c->chosen;
}

/* A measurer that ended is brought up again, and asked again. */
static heddle_status heard_canary(heddle_context *ctx, hd_product_session *c,
                                  const hd_worker_event *event) {
  const char *line = hd_strbuf_text(&event->line);
  hd_tune_canary canary = {0};
  char throttle[24];
  if (event->kind != HD_WORKER_LINE && ++c->n_faults < MOST_FAULTS_TO_OPEN)
    return HEDDLE_OK;
  if (event->kind != HD_WORKER_LINE ||
      sscanf(line, "canary %lf %lf", &canary.read_s, &canary.kernel_s) != 2)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.canary",
                    "the measuring process says of its device: %.200s", line);
  hd_answer_word(line, "throttle", throttle, sizeof throttle);
  canary.throttle = strtoull(throttle, NULL, 0);
  c->n_canaries++;
  c->event.canary = &canary;
  hd_product_session_tell(c, NULL, NULL);
  c->event.canary = NULL;
  return HEDDLE_OK;
}

/* ---- the session of a product ---- */

static bool may_begin(const hd_product_session *c) {
  return c->n_measured + c->n_in_flight < c->n_wanted && !hd_product_session_time_is_up(c);
}

static size_t next_waiting(const hd_product_session *c) { return hd_search_next(&c->search); }

static heddle_status feed_compilers(heddle_context *ctx, hd_product_session *c) {
  for (bool taken = true; taken && may_begin(c) && c->n_in_flight <= 2 * c->workers->n_compilers;) {
    size_t i = next_waiting(c);
    if (i == c->n)
      return HEDDLE_OK;
    HD_TRY(hd_workers_compile(ctx, c->workers, (int64_t)i, c->entries[i].text, c->session->deadline,
                           &taken));
    if (taken) {
      c->entries[i].state = HD_STATE_COMPILING;
      c->search.list[i].taken = true;
      c->n_in_flight++;
    }
  }
  return HEDDLE_OK;
}

/* The compiled entry that promises most; without compilers the best of all. */
static size_t next_ready(const hd_product_session *c) {
  if (c->workers->n_compilers == 0)
    return may_begin(c) ? next_waiting(c) : c->n;
  size_t best = c->n;
  double least = INFINITY;
  for (size_t i = 0; i < c->n && !hd_product_session_time_is_up(c); i++) {
    if (c->entries[i].state != HD_STATE_READY)
      continue;
    double promise = hd_search_promise(&c->search, i);
    if (promise < least || best == c->n) {
      least = promise;
      best = i;
    }
  }
  return best;
}

static heddle_status feed_measurer(heddle_context *ctx, hd_product_session *c) {
  if (c->workers->measurer.child.pid && c->workers->measurer.entry != HD_ENTRY_IDLE)
    return HEDDLE_OK;
  if (!c->workers->ready)
    return hd_workers_open(ctx, c->workers, c->o->seed, OPEN_S);
  if (canary_is_due(c)) {
    hd_workers_measure(c->workers, HD_ENTRY_CANARY, "", c->session->deadline);
    return HEDDLE_OK;
  }
  if (c->phase != HD_PHASE_SEARCH) {
    hd_final_ask(c);
    return HEDDLE_OK;
  }
  size_t i = next_ready(c);
  if (i == c->n)
    return HEDDLE_OK;
  c->n_in_flight += c->entries[i].state == HD_STATE_WAITING;
  c->entries[i].state = HD_STATE_MEASURING;
  c->search.list[i].taken = true;
  hd_workers_measure(c->workers, (int64_t)i, c->entries[i].text, c->session->deadline);
  return HEDDLE_OK;
}

static heddle_status heed(heddle_context *ctx, hd_product_session *c,
                          const hd_worker_event *event) {
  if (event->kind == HD_WORKER_NONE || event->entry == HD_ENTRY_IDLE)
    return HEDDLE_OK;
  if (!event->measurer)
    return heard_compiler(ctx, c, event);
  if (event->entry == HD_ENTRY_OPEN)
    return heard_open(ctx, c, event);
  if (event->entry == HD_ENTRY_CANARY)
    return heard_canary(ctx, c, event);
  return event->entry < 0 ? hd_final_heard(ctx, c, event) : heard_measurer(ctx, c, event);
}

/* The search is over when all that is wanted was measured, and the final follows; or when the
 * time is up, and then only what is being measured is waited for. */
static void turn_phase(hd_product_session *c) {
  bool idle = c->workers->measurer.entry < 0;
  if (c->phase != HD_PHASE_SEARCH || !idle)
    return;
  if (hd_product_session_time_is_up(c))
    c->phase = HD_PHASE_OVER;
  else if (c->n_in_flight == 0 && (!may_begin(c) || next_waiting(c) == c->n) && !hd_final_begin(c))
    c->phase = HD_PHASE_OVER;
}

static heddle_status pursue(heddle_context *ctx, hd_product_session *c) {
  hd_worker_event event = {0};
  heddle_status status = HEDDLE_OK;
  for (turn_phase(c); status == HEDDLE_OK && (c->phase != HD_PHASE_OVER || canary_is_due(c));
       turn_phase(c)) {
    if (c->phase == HD_PHASE_SEARCH)
      status = feed_compilers(ctx, c);
    if (status == HEDDLE_OK)
      status = feed_measurer(ctx, c);
    if (status == HEDDLE_OK) {
      /* A refusal is a record of the device, which the measurer names first. */
      hd_workers_wait(c->workers, !c->session->recording, 1, &event);
      status = heed(ctx, c, &event);
    }
  }
  hd_strbuf_free(&event.line);
  return status;
}

/* ---- the session ---- */

static heddle_status tune_one(heddle_context *ctx, hd_session *s, hd_workers *workers,
                              const hd_product *product, int32_t index, bool *chosen) {
  hd_product_session c = {
      .o = s->o, .session = s, .workers = workers, .product = product, .phase = HD_PHASE_SEARCH};
  c.event = (hd_tune_event){.product = product, .product_index = index, .n_products = s->n};
  hd_product_print(product, c.name);
  heddle_status status = list_schedules(ctx, &c);
  int64_t n = (int64_t)c.n, top = s->o->n_top ? s->o->n_top : hd_search_share(n);
  c.n_wanted = s->o->exhaustive || top > n ? n : top;
  if (status == HEDDLE_OK && s->o->resume)
    status = hd_records_each(ctx, s->o->records, c.name, take_known, &c);
  int64_t done_before = 0;
  if (status == HEDDLE_OK && s->o->resume)
    status = hd_records_chosen(ctx, s->o->records, c.name,
                               hd_product_session_is_alone(s->o, product), &done_before);
  int64_t most = (int64_t)c.n - c.n_refused;
  c.chosen = done_before && done_before >= (c.n_wanted < most ? c.n_wanted : most);
  if (status == HEDDLE_OK && !c.chosen) {
    hd_workers_begin(workers, product);
    status = pursue(ctx, &c);
  }
  *chosen = c.chosen;
  hd_free(c.entries);
  hd_search_free(&c.search);
  hd_front_free(&c.front);
  return status;
}

heddle_status hd_tune(heddle_context *ctx, const hd_tune_options *options, const hd_product *list,
                      int32_t n, int32_t *n_done) {
  hd_session s = {.o = options,
                  .list = list,
                  .n = n,
                  .begun_at = hd_clock_seconds(),
                  .deadline = options->deadline_s > 0 ? options->deadline_s : DEADLINE_S};
  s.until = options->budget_s > 0 ? s.begun_at + options->budget_s : INFINITY;
  hd_workers own = {0}, *workers = options->workers ? options->workers : &own;
  workers->argv = options->worker;
  workers->memory_bytes = options->memory_bytes;
  workers->n_compilers = options->n_jobs < HD_TUNE_MOST_JOBS ? options->n_jobs : HD_TUNE_MOST_JOBS;
  heddle_status status = HEDDLE_OK;
  *n_done = 0;
  for (int32_t i = 0; i < n && status == HEDDLE_OK && hd_clock_seconds() < s.until; i++) {
    bool chosen = false;
    status = tune_one(ctx, &s, workers, &list[i], i, &chosen);
    *n_done += chosen;
  }
  hd_workers_end(&own);
  return status;
}
