#include "Tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Passes/schedule_cost.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/crew.h"
#include "Tune/measure.h"
#include "Tune/search.h"

enum { MOST_FAULTS_TO_OPEN = 3, MOST_FINALISTS = 8, FINAL_ROUNDS = 9 };
static const double OPEN_S = 300, DEADLINE_S = 30, FINAL_S = 120;

typedef enum entry_state { WAITING, COMPILING, READY, MEASURING, DONE } entry_state;

typedef struct entry {
  char text[HD_SCHEDULE_TEXT];
  entry_state state;
} entry;

/* All products. */
typedef struct session {
  const hd_tune_options *o;
  int32_t n;
  bool recording; /* hd_records_begin was called */
  double begun_at, until, deadline;
  int64_t n_fresh; /* measured by this session */
} session;

typedef enum phase { SEARCH, FINAL, OVER } phase;

/* One product in work. */
typedef struct course {
  const hd_tune_options *o;
  session *session;
  hd_crew *crew;
  const hd_product *product;
  char name[HD_PRODUCT_TEXT];
  entry *entries; /* entry 0 is the default */
  hd_search search;
  size_t n;
  int64_t n_wanted, n_measured, n_refused, n_lost, n_in_flight;
  int32_t n_faults; /* of bringing the measurer up, in a row */
  phase phase;
  size_t finalist[MOST_FINALISTS];
  int32_t n_finalists, n_replayed; /* compare: the first n_replayed are the search's own */
  int64_t n_searched;
  bool chosen;
  hd_tune_event event;
} course;

/* ---- the list ---- */

static double predict(const course *c, const hd_problem *p, const hd_schedule *s) {
  static const int64_t fixed[3] = {0};
  return hd_schedule_cost(p, s, fixed, c->o->ceilings).seconds;
}

/* The wanted keys change nothing in it; the default (index 0, which the list holds once more)
 * stays in any case. */
static heddle_status is_wanted(heddle_context *ctx, const course *c, const hd_schedule *s,
                               size_t index, bool *yes) {
  char is[HD_SCHEDULE_TEXT], would_be[HD_SCHEDULE_TEXT];
  hd_schedule set = *s;
  HD_TRY(hd_schedule_parse(ctx, c->o->only ? c->o->only : "", &set));
  hd_schedule_print(s, is);
  hd_schedule_print(&set, would_be);
  *yes = index == 0 || (strcmp(is, would_be) == 0 && strcmp(is, c->entries[0].text) != 0);
  return HEDDLE_OK;
}

static heddle_status take_schedules(heddle_context *ctx, course *c, const hd_problem *p,
                                    const hd_schedule *list, size_t n) {
  c->entries = hd_xmalloc(n * sizeof *c->entries);
  for (size_t i = 0; i < n; i++) {
    bool yes;
    HD_TRY(is_wanted(ctx, c, &list[i], i, &yes));
    if (!yes)
      continue;
    entry *e = &c->entries[c->n++];
    *e = (entry){.state = WAITING};
    hd_schedule_print(&list[i], e->text);
    hd_search_add(&c->search, e->text, predict(c, p, &list[i]));
  }
  return HEDDLE_OK;
}

static heddle_status list_schedules(heddle_context *ctx, course *c) {
  hd_product_ir ir = {0};
  hd_schedule *list;
  size_t n;
  HD_TRY(hd_product_build(ctx, c->product, &ir));
  heddle_status status = hd_schedule_enumerate(ctx, ir.kernel, &list, &n);
  if (status == HEDDLE_OK) {
    status = take_schedules(ctx, c, &ir.problem, list, n);
    free(list);
  }
  hd_product_ir_free(&ir);
  return status;
}

static bool is_lost(hd_verdict v) {
  return v == HD_VERDICT_FAILED || v == HD_VERDICT_CRASH || v == HD_VERDICT_HANG;
}

static void settle(course *c, size_t i, hd_verdict verdict, double seconds) {
  c->entries[i].state = DONE;
  c->search.list[i].taken = true;
  if (verdict == HD_VERDICT_OK)
    hd_search_learn(&c->search, i, seconds);
  c->n_measured += verdict != HD_VERDICT_REFUSED;
  c->n_refused += verdict == HD_VERDICT_REFUSED;
  c->n_lost += is_lost(verdict);
}

static bool take_known(void *user, const hd_record *r) {
  course *c = user;
  for (size_t i = 0; i < c->n; i++)
    if (!r->final && strcmp(c->entries[i].text, r->schedule) == 0 && c->entries[i].state != DONE)
      settle(c, i, r->verdict, r->median);
  return true;
}

/* ---- telling ---- */

static double best_seconds(const course *c) {
  double best = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->search.list[i].measured > 0 && (best == 0 || c->search.list[i].measured < best))
      best = c->search.list[i].measured;
  return best;
}

/* At the pace so far; products to come count as this one. */
static double left_seconds(const course *c) {
  const session *s = c->session;
  double pace = (hd_clock_seconds() - s->begun_at) / (double)(s->n_fresh ? s->n_fresh : 1);
  int64_t left = c->n_wanted - c->n_measured +
                 (s->n - 1 - c->event.product_index) * c->n_wanted;
  return left > 0 ? pace * (double)left : 0;
}

static void tell(course *c, const hd_record *record, const hd_choice *choice) {
  hd_tune_event *e = &c->event;
  e->record = record;
  e->choice = choice;
  e->n_legal = (int64_t)c->n;
  e->n_wanted = c->n_wanted;
  e->n_measured = c->n_measured;
  e->n_lost = c->n_lost;
  e->best = best_seconds(c);
  e->left_seconds = left_seconds(c);
  if (c->o->tell)
    c->o->tell(c->o->user, e);
}

/* ---- one measurement ---- */

static heddle_status record(heddle_context *ctx, course *c, size_t i, hd_verdict verdict,
                            const char *answer) {
  hd_record r = {.product = c->name,
                 .schedule = c->entries[i].text,
                 .verdict = verdict,
                 .why = verdict == HD_VERDICT_OK ? "" : answer,
                 .predicted = c->search.list[i].predicted};
  if (verdict == HD_VERDICT_OK)
    sscanf(answer, "%lf %lf %lf %lf %lf %d", &r.median, &r.min, &r.max, &r.error, &r.power_w,
           &r.sm_mhz);
  settle(c, i, verdict, r.median);
  c->n_in_flight--;
  c->session->n_fresh++;
  heddle_status status = hd_records_add(ctx, c->o->records, &r);
  tell(c, &r, NULL);
  return status;
}

/* The verdict that begins an answer, and the rest of it. */
static hd_verdict read_answer(const char *line, const char **rest) {
  char word[16] = "";
  hd_verdict verdict = HD_VERDICT_FAILED;
  sscanf(line, "%15s", word);
  *rest = line + strlen(word);
  *rest += **rest == ' ';
  double seconds;
  if (!hd_verdict_parse(word, &verdict) ||
      (verdict == HD_VERDICT_OK && (sscanf(*rest, "%lf", &seconds) != 1 || !(seconds > 0)))) {
    *rest = line;
    return HD_VERDICT_FAILED;
  }
  return verdict;
}

/* A CUDA error is sticky, and a wrong kernel may have written anywhere: the child is not used
 * again. */
static void distrust_measurer(course *c) {
  hd_child_stop(&c->crew->measurer.child, NULL);
  c->crew->measurer.entry = HD_ENTRY_IDLE;
  c->crew->ready = false;
}

static heddle_status heard_measurer(heddle_context *ctx, course *c, const hd_news *news) {
  const char *rest = hd_strbuf_text(&news->line);
  hd_verdict verdict = news->kind == HD_NEWS_HANG    ? HD_VERDICT_HANG
                       : news->kind == HD_NEWS_CRASH ? HD_VERDICT_CRASH
                                                     : read_answer(rest, &rest);
  if (verdict == HD_VERDICT_FAILED || verdict == HD_VERDICT_WRONG)
    distrust_measurer(c);
  return record(ctx, c, (size_t)news->entry, verdict, rest);
}

static heddle_status heard_compiler(heddle_context *ctx, course *c, const hd_news *news) {
  size_t i = (size_t)news->entry;
  const char *line = hd_strbuf_text(&news->line);
  if (news->kind == HD_NEWS_LINE && strcmp(line, "compiled") == 0) {
    c->entries[i].state = READY;
    return HEDDLE_OK;
  }
  const char *space = strchr(line, ' ');
  hd_verdict verdict = news->kind == HD_NEWS_LINE ? HD_VERDICT_REFUSED
                       : news->kind == HD_NEWS_HANG ? HD_VERDICT_HANG
                                                    : HD_VERDICT_CRASH;
  return record(ctx, c, i, verdict, verdict == HD_VERDICT_REFUSED && space ? space + 1 : line);
}

/* ---- bringing the measurer up ---- */

static heddle_status heard_open(heddle_context *ctx, course *c, const hd_news *news) {
  const char *line = hd_strbuf_text(&news->line);
  hd_provenance p = {.seed = c->o->seed};
  if (news->kind != HD_NEWS_LINE) {
    if (++c->n_faults < MOST_FAULTS_TO_OPEN)
      return HEDDLE_OK;
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                    "%d measuring processes in a row could not be brought up: %s", c->n_faults,
                    line);
  }
  if (sscanf(line, "ready %lf %31s %127[^\n]", &p.power_limit_w, p.driver, p.device) != 3)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                    "the measuring process cannot work: %s", line);
  c->crew->ready = true;
  c->n_faults = 0;
  if (c->session->recording)
    return HEDDLE_OK;
  c->session->recording = true;
  return hd_records_begin(ctx, c->o->records, &p, c->o->resume);
}

/* ---- the final ---- */

static void add_finalist(course *c, size_t i) {
  for (int32_t j = 0; j < c->n_finalists; j++)
    if (c->finalist[j] == i)
      return;
  if (c->n_finalists < MOST_FINALISTS)
    c->finalist[c->n_finalists++] = i;
}

/* The default, then the fastest others, of those that the search has measured. */
static void add_fastest(course *c, const hd_search *search) {
  int32_t most = c->o->n_finalists ? c->o->n_finalists : 3;
  const hd_search_item *list = search->list;
  double above = 0;
  if (list[0].measured > 0)
    add_finalist(c, 0);
  for (int32_t round = 0; round < most; round++) {
    size_t best = c->n;
    for (size_t i = 1; i < c->n; i++)
      if (list[i].measured > above && (best == c->n || list[i].measured < list[best].measured))
        best = i;
    if (best == c->n)
      return;
    above = list[best].measured;
    add_finalist(c, best);
  }
}

/* What the search would have measured, with what the records hold. */
static void replay_search(course *c) {
  hd_search replay = hd_search_fresh(&c->search);
  c->n_searched = hd_search_share((int64_t)c->n);
  for (int64_t k = 0; k < c->n_searched; k++) {
    size_t i = k == 0 ? 0 : hd_search_next(&replay);
    replay.list[i].taken = true;
    if (c->search.list[i].measured > 0)
      hd_search_learn(&replay, i, c->search.list[i].measured);
  }
  add_fastest(c, &replay);
  c->n_replayed = c->n_finalists;
  hd_search_free(&replay);
}

static bool pick_finalists(course *c) {
  c->n_finalists = 0;
  if (c->o->compare)
    replay_search(c);
  add_fastest(c, &c->search);
  return c->n_finalists > 0;
}

static void ask_final(course *c) {
  hd_strbuf request = {0};
  hd_strbuf_printf(&request, "%d", FINAL_ROUNDS);
  for (int32_t i = 0; i < c->n_finalists; i++)
    hd_strbuf_printf(&request, "\t%s", c->entries[c->finalist[i]].text);
  hd_crew_measure(c->crew, HD_ENTRY_FINAL, hd_strbuf_text(&request), FINAL_S);
  hd_strbuf_free(&request);
}

/* "final MEDIAN MIN MAX …" in the order asked for; false when it is anything else. */
static bool read_final(const course *c, const char *line, hd_timing *t) {
  int at = 0;
  if (strncmp(line, "final", 5) != 0)
    return false;
  line += 5;
  for (int32_t i = 0; i < c->n_finalists; i++, line += at)
    if (sscanf(line, "%lf %lf %lf%n", &t[i].median, &t[i].min, &t[i].max, &at) != 3 ||
        !(t[i].median > 0))
      return false;
  return true;
}

static hd_tune_contest contest_of(const course *c, const hd_timing *t, int32_t best) {
  int32_t own = 0;
  for (int32_t i = 1; i < c->n_replayed; i++)
    if (t[i].median < t[own].median)
      own = i;
  return (hd_tune_contest){.chosen = c->entries[c->finalist[own]].text,
                           .best = c->entries[c->finalist[best]].text,
                           .chosen_seconds = t[own].median,
                           .best_seconds = t[best].median,
                           .noise = (t[best].max - t[best].min) / t[best].median,
                           .n_searched = c->n_searched};
}

static heddle_status choose(heddle_context *ctx, course *c, const hd_timing *t) {
  int32_t best = 0;
  for (int32_t i = 0; i < c->n_finalists; i++) {
    size_t e = c->finalist[i];
    hd_record r = {.product = c->name,
                   .schedule = c->entries[e].text,
                   .final = true,
                   .median = t[i].median,
                   .min = t[i].min,
                   .max = t[i].max,
                   .predicted = c->search.list[e].predicted};
    HD_TRY(hd_records_add(ctx, c->o->records, &r));
    if (t[i].median < t[best].median)
      best = i;
  }
  hd_choice choice = {.product = c->name,
                      .schedule = c->entries[c->finalist[best]].text,
                      .default_schedule = c->entries[0].text,
                      .device = "",
                      .seconds = t[best].median,
                      .default_seconds = c->finalist[0] == 0 ? t[0].median : 0,
                      .n_legal = (int64_t)c->n,
                      .n_measured = c->n_measured};
  HD_TRY(hd_records_choose(ctx, c->o->records, &choice));
  c->chosen = true;
  hd_tune_contest contest = contest_of(c, t, best);
  c->event.contest = c->o->compare ? &contest : NULL;
  tell(c, NULL, &choice);
  c->event.contest = NULL;
  return HEDDLE_OK;
}

/* A final that fails leaves the product without a choice: the next run tries again. */
static heddle_status heard_final(heddle_context *ctx, course *c, const hd_news *news) {
  hd_timing t[MOST_FINALISTS];
  const char *line = hd_strbuf_text(&news->line);
  c->phase = OVER;
  if (news->kind == HD_NEWS_LINE && read_final(c, line, t))
    return choose(ctx, c, t);
  distrust_measurer(c);
  hd_warning(ctx, HD_NOWHERE, "tune.final", "%s: the final was lost: %s", c->name, line);
  return HEDDLE_OK;
}

/* ---- the course of a product ---- */

static bool time_is_up(const course *c) { return hd_clock_seconds() > c->session->until; }

static bool may_begin(const course *c) {
  return c->n_measured + c->n_in_flight < c->n_wanted && !time_is_up(c);
}

static size_t next_waiting(const course *c) { return hd_search_next(&c->search); }

static heddle_status feed_compilers(heddle_context *ctx, course *c) {
  for (bool taken = true; taken && may_begin(c) && c->n_in_flight <= 2 * c->crew->n_compilers;) {
    size_t i = next_waiting(c);
    if (i == c->n)
      return HEDDLE_OK;
    HD_TRY(hd_crew_compile(ctx, c->crew, (int64_t)i, c->entries[i].text, c->session->deadline,
                           &taken));
    if (taken) {
      c->entries[i].state = COMPILING;
      c->search.list[i].taken = true;
      c->n_in_flight++;
    }
  }
  return HEDDLE_OK;
}

/* The compiled entry that promises most; without compilers the best of all. */
static size_t next_ready(const course *c) {
  if (c->crew->n_compilers == 0)
    return may_begin(c) ? next_waiting(c) : c->n;
  size_t best = c->n;
  double least = INFINITY;
  for (size_t i = 0; i < c->n && !time_is_up(c); i++) {
    if (c->entries[i].state != READY)
      continue;
    double promise = hd_search_promise(&c->search, i);
    if (promise < least || best == c->n) {
      least = promise;
      best = i;
    }
  }
  return best;
}

static heddle_status feed_measurer(heddle_context *ctx, course *c) {
  if (c->crew->measurer.child.pid && c->crew->measurer.entry != HD_ENTRY_IDLE)
    return HEDDLE_OK;
  if (!c->crew->ready)
    return hd_crew_open(ctx, c->crew, OPEN_S);
  if (c->phase == FINAL) {
    ask_final(c);
    return HEDDLE_OK;
  }
  size_t i = next_ready(c);
  if (i == c->n)
    return HEDDLE_OK;
  c->n_in_flight += c->entries[i].state == WAITING;
  c->entries[i].state = MEASURING;
  c->search.list[i].taken = true;
  hd_crew_measure(c->crew, (int64_t)i, c->entries[i].text, c->session->deadline);
  return HEDDLE_OK;
}

static heddle_status heed(heddle_context *ctx, course *c, const hd_news *news) {
  if (news->kind == HD_NEWS_NONE || news->entry == HD_ENTRY_IDLE)
    return HEDDLE_OK;
  if (!news->measurer)
    return heard_compiler(ctx, c, news);
  if (news->entry == HD_ENTRY_OPEN)
    return heard_open(ctx, c, news);
  return news->entry == HD_ENTRY_FINAL ? heard_final(ctx, c, news) : heard_measurer(ctx, c, news);
}

/* The search is over when all that is wanted was measured, and the final follows; or when the
 * time is up, and then only what is being measured is waited for. */
static void turn_phase(course *c) {
  bool idle = c->crew->measurer.entry < 0;
  if (c->phase != SEARCH || !idle)
    return;
  if (time_is_up(c))
    c->phase = OVER;
  else if (c->n_in_flight == 0 && (!may_begin(c) || next_waiting(c) == c->n))
    c->phase = pick_finalists(c) ? FINAL : OVER;
}

static heddle_status pursue(heddle_context *ctx, course *c) {
  hd_news news = {0};
  heddle_status status = HEDDLE_OK;
  for (turn_phase(c); status == HEDDLE_OK && c->phase != OVER; turn_phase(c)) {
    if (c->phase == SEARCH && c->session->recording) /* whose record would it be? */
      status = feed_compilers(ctx, c);
    if (status == HEDDLE_OK)
      status = feed_measurer(ctx, c);
    if (status == HEDDLE_OK) {
      hd_crew_wait(c->crew, 1, &news);
      status = heed(ctx, c, &news);
    }
  }
  hd_strbuf_free(&news.line);
  return status;
}

/* ---- the session ---- */

static int64_t wanted(const hd_tune_options *o, size_t n_legal) {
  int64_t n = (int64_t)n_legal, top = o->n_top ? o->n_top : hd_search_share(n);
  return o->exhaustive || top > n ? n : top;
}

static heddle_status tune_one(heddle_context *ctx, session *s, hd_crew *crew,
                              const hd_product *product, int32_t index, bool *chosen) {
  course c = {.o = s->o, .session = s, .crew = crew, .product = product, .phase = SEARCH};
  c.event = (hd_tune_event){.product = product, .product_index = index, .n_products = s->n};
  hd_product_print(product, c.name);
  heddle_status status = list_schedules(ctx, &c);
  c.n_wanted = wanted(s->o, c.n);
  if (status == HEDDLE_OK && s->o->resume)
    status = hd_records_each(ctx, s->o->records, c.name, take_known, &c);
  int64_t done_before = 0;
  if (status == HEDDLE_OK && s->o->resume)
    status = hd_records_chosen(ctx, s->o->records, c.name, &done_before);
  int64_t most = (int64_t)c.n - c.n_refused;
  c.chosen = done_before && done_before >= (c.n_wanted < most ? c.n_wanted : most);
  if (status == HEDDLE_OK && !c.chosen) {
    hd_crew_begin(crew, product);
    status = pursue(ctx, &c);
  }
  *chosen = c.chosen;
  free(c.entries);
  hd_search_free(&c.search);
  return status;
}

heddle_status hd_tune(heddle_context *ctx, const hd_tune_options *options, const hd_product *list,
                      int32_t n, int32_t *n_done) {
  session s = {.o = options,
               .n = n,
               .begun_at = hd_clock_seconds(),
               .deadline = options->deadline_s > 0 ? options->deadline_s : DEADLINE_S};
  s.until = options->budget_s > 0 ? s.begun_at + options->budget_s : INFINITY;
  hd_crew crew = {.argv = options->worker};
  crew.n_compilers = options->n_jobs < HD_TUNE_MOST_JOBS ? options->n_jobs : HD_TUNE_MOST_JOBS;
  heddle_status status = HEDDLE_OK;
  *n_done = 0;
  for (int32_t i = 0; i < n && status == HEDDLE_OK && hd_clock_seconds() < s.until; i++) {
    bool chosen = false;
    status = tune_one(ctx, &s, &crew, &list[i], i, &chosen);
    *n_done += chosen;
  }
  hd_crew_end(&crew);
  return status;
}
