/* What a case is for the compiler: its text, and the schedules to try. */
#include <stdio.h>
#include <stdlib.h>

#include "Choice/bucket_choose.h"
#include "Passes/front.h"
#include "Schedule/enumerate.h"
#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Bench/bench.h"
#include "Bench/bench_random.h"

hd_product hd_bench_product(const hd_bench_problem *p) {
  return (hd_product){.a = p->elem,
                      .b = p->elem,
                      .acc = heddle_elem_get(p->elem)->acc,
                      .d = p->d_elem,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .g = p->g,
                      .dependent = p->dependent,
                      .epilogue = p->epilogue};
}

bool hd_bench_same_but_n(const hd_bench_problem *x, const hd_bench_problem *y) {
  return x->elem == y->elem && x->d_elem == y->d_elem && x->m == y->m && x->k == y->k;
}

char *hd_bench_text(const hd_bench_problem *p, const char *target, bool row_major,
                    bool weights_ready) {
  char name[64];
  hd_product product = hd_bench_product(p);
  snprintf(product.target, sizeof product.target, "%s", target);
  product.d_col_major = !row_major;
  product.weights_ready = weights_ready;
  snprintf(name, sizeof name, "bench_%s_%s", heddle_elem_get(p->elem)->name,
           row_major ? "row" : "col");
  return hd_product_kernel(&product, name);
}

/* The problem by the order of D: row, col. The one that is asked for, or both. */
typedef struct orders {
  hd_front front[2];
  bool asked[2];
} orders;

typedef struct ways {
  const hd_device_model *device;
  hd_bench_way *list;
  int32_t n, cap, first; /* first: of this promise */
  bool weights_ready;
} ways;

/* text: by the order of D, owned; NULL where that is not asked for. */
static void add_texts(ways *out, char *const text[2], bool dynamic, bool is_choice) {
  hd_bench_way way = {text[0], text[1], out->weights_ready, dynamic, is_choice};
  if (!way.schedule) {
    way.schedule = way.col_schedule;
    way.col_schedule = NULL;
  }
  HD_PUSH(out->list, out->n, out->cap, way);
}

static char *print(const hd_schedule *s) {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(s, text);
  return hd_xstrdup(text);
}

static void add(ways *out, const hd_schedule *s) {
  add_texts(out, (char *const[2]){print(s), NULL}, false, false);
}

static heddle_status sweep(heddle_context *ctx, const hd_problem *p, const char *wanted,
                           ways *out) {
  hd_schedule *list;
  hd_schedule_words words = {0};
  size_t n;
  HD_TRY(hd_schedule_parse(ctx, HD_NOWHERE, wanted, &words));
  hd_schedule_enumerate(out->device, p, &list, &n);
  heddle_status status = HEDDLE_OK;
  for (size_t i = 0; i < n; i++)
    if (hd_schedule_matches(&list[i], &words))
      add(out, &list[i]);
  hd_free(list);
  if (out->n == out->first)
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "bench.sweep",
                      "none of the %zu legal schedules has \"%s\"; legal: fewer keys", n, wanted);
  return status;
}

static void sample(const hd_problem *problem, const hd_bench_options *o, ways *out) {
  hd_schedule *list = hd_xmalloc(sizeof *list * (size_t)o->sample);
  int32_t n = hd_bench_sample(out->device, problem, o->sample, o->seed, list);
  for (int32_t i = 0; i < n; i++)
    add(out, &list[i]);
  hd_free(list);
}

/* One that is not legal for this case is noted and left out, unless nothing else is left. */
static heddle_status add_legal(heddle_context *ctx, const hd_problem *p, const hd_schedule *s,
                               bool last, ways *out) {
  heddle_context *quiet = heddle_context_create();
  heddle_status status = hd_schedule_check(quiet, p, s);
  if (status == HEDDLE_OK)
    add(out, s);
  else if (!last || out->n > out->first)
    hd_note(ctx, HD_NOWHERE, "bench.schedule", "left out: %s",
            hd_first_error_text(quiet, "not legal"));
  heddle_context_free(quiet);
  return last && out->n == out->first ? hd_schedule_check(ctx, p, s) : HEDDLE_OK;
}

static heddle_status named(heddle_context *ctx, const hd_problem *p, const hd_bench_options *o,
                           ways *out) {
  for (int32_t i = 0; i < o->n_schedules; i++) {
    hd_schedule s;
    HD_TRY(hd_schedule_read(ctx, out->device, p, o->schedule[i], &s));
    HD_TRY(add_legal(ctx, p, &s, i + 1 == o->n_schedules, out));
  }
  return HEDDLE_OK;
}

/* What a user would get, of each order by itself. */
static void add_usual(const orders *of, const hd_bench_options *o, ways *out) {
  static const int64_t fixed[3] = {0};
  char *text[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    if (!of->asked[i])
      continue;
    const hd_problem *p = &of->front[i].problem;
    hd_product product = hd_product_of(p, fixed);
    hd_schedule s;
    if (!o->tuned || !hd_tune_pick(o->tuned, p, &product, NULL, &s))
      s = hd_schedule_default(out->device, p);
    text[i] = print(&s);
  }
  add_texts(out, text, false, true);
}

static heddle_status read_problem(heddle_context *ctx, const hd_bench_problem *problem,
                                  const char *target, bool row_major, bool weights_ready,
                                  hd_front *front) {
  char *text = hd_bench_text(problem, target, row_major, weights_ready);
  hd_pass_context pass = {.ctx = ctx, .target = target};
  heddle_status status = hd_front_made(&pass, HD_NOWHERE, text, front);
  hd_free(text);
  return status;
}

/* A kernel whose n is known at launch, with the buckets that its user would get. */
static heddle_status print_plan(heddle_context *ctx, const hd_bench_problem *problem,
                                const hd_bench_options *o, const char *target, bool row_major,
                                bool weights_ready, char **text) {
  hd_bench_problem open = *problem;
  hd_front front = {0};
  const hd_bucket_options options = {.tuned = o->tuned};
  hd_bucket_plan plan;
  hd_strbuf words = {0};
  open.n = 0;
  heddle_status status = read_problem(ctx, &open, target, row_major, weights_ready, &front);
  if (status == HEDDLE_OK)
    status = hd_bucket_choose(ctx, &front, &options, &plan);
  if (status == HEDDLE_OK) {
    hd_bucket_plan_print(&plan, &words);
    *text = hd_strbuf_take(&words);
  }
  hd_front_free(&front);
  return status;
}

/* With the schedule of the fixed kernel, all keys given (the default of a key can depend on N), or
 * else with the buckets that its user would get. */
static heddle_status add_dynamic(heddle_context *ctx, const hd_bench_problem *problem,
                                 const orders *of, const hd_bench_options *o,
                                 const char *target, ways *out) {
  char *text[2] = {NULL, NULL};
  heddle_status status = HEDDLE_OK;
  if (o->n_schedules) {
    char *same = hd_xstrdup(out->list[out->n - 1].schedule);
    add_texts(out, (char *const[2]){same, NULL}, true, false);
    return HEDDLE_OK;
  }
  for (int i = 0; i < 2 && status == HEDDLE_OK; i++)
    if (of->asked[i])
      status = print_plan(ctx, problem, o, target, i == 0, out->weights_ready, &text[i]);
  if (status == HEDDLE_OK) {
    add_texts(out, text, true, true);
    return HEDDLE_OK;
  }
  hd_free(text[0]);
  hd_free(text[1]);
  return status;
}

static heddle_status list_ways(heddle_context *ctx, const orders *of,
                               const hd_bench_options *o, ways *out) {
  const hd_problem *p = &of->front[!of->asked[0]].problem;
  out->device = o->tuned ? hd_tuned_ceilings(o->tuned) : hd_device_model_of(p->target);
  if (o->sweep)
    return sweep(ctx, p, o->sweep, out);
  if (o->n_schedules)
    return named(ctx, p, o, out);
  if (o->sample)
    sample(p, o, out);
  else
    add_usual(of, o, out);
  return HEDDLE_OK;
}

static heddle_status add_ways(heddle_context *ctx, const hd_bench_problem *problem,
                              const hd_bench_options *o, const char *target, bool weights_ready,
                              ways *out) {
  orders of = {.asked = {o->order != HD_BENCH_COL, o->order != HD_BENCH_ROW}};
  heddle_status status = HEDDLE_OK;
  out->first = out->n;
  out->weights_ready = weights_ready;
  for (int i = 0; i < 2 && status == HEDDLE_OK; i++)
    if (of.asked[i])
      status = read_problem(ctx, problem, target, i == 0, weights_ready, &of.front[i]);
  if (status == HEDDLE_OK)
    status = list_ways(ctx, &of, o, out);
  if (status == HEDDLE_OK && o->dynamic)
    status = add_dynamic(ctx, problem, &of, o, target, out);
  hd_front_free(&of.front[0]);
  hd_front_free(&of.front[1]);
  return status;
}

heddle_status hd_bench_ways(heddle_context *ctx, const hd_bench_problem *problem,
                            const hd_bench_options *options, const char *target,
                            hd_bench_way **list, int32_t *n) {
  ways out = {0};
  heddle_status status = HEDDLE_OK;
  if (options->promise != HD_BENCH_READY)
    status = add_ways(ctx, problem, options, target, false, &out);
  if (options->promise != HD_BENCH_NO_PROMISE && status == HEDDLE_OK)
    status = add_ways(ctx, problem, options, target, true, &out);
  if (status != HEDDLE_OK) {
    hd_bench_ways_free(out.list, out.n);
    return status;
  }
  *list = out.list;
  *n = out.n;
  return HEDDLE_OK;
}

const char *hd_bench_way_schedule(const hd_bench_way *way, bool row_major) {
  return row_major || !way->col_schedule ? way->schedule : way->col_schedule;
}

void hd_bench_ways_free(hd_bench_way *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    hd_free(list[i].schedule);
    hd_free(list[i].col_schedule);
  }
  hd_free(list);
}
