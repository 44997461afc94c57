/* What a case is for the compiler: its text, and the schedules to try. */
#include <stdio.h>
#include <stdlib.h>

#include "Passes/front.h"
#include "Passes/schedule_fit.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/bench.h"

hd_product hd_bench_product(const hd_bench_problem *p) {
  return (hd_product){.a = p->elem,
                      .b = p->elem,
                      .acc = hd_product_accumulator(p->elem),
                      .d = p->d_elem,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k};
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

typedef struct ways {
  hd_bench_way *list;
  int32_t n, cap, first; /* first: of this promise */
  bool weights_ready;
} ways;

static void add(ways *out, const hd_schedule *s) {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(s, text);
  hd_bench_way way = {hd_xstrdup(text), out->weights_ready};
  HD_PUSH(out->list, out->n, out->cap, way);
}

static heddle_status sweep(heddle_context *ctx, const hd_op *kernel, const char *wanted,
                           ways *out) {
  hd_schedule *list;
  size_t n;
  HD_TRY(hd_schedule_enumerate(ctx, kernel, &list, &n));
  heddle_status status = HEDDLE_OK;
  for (size_t i = 0; i < n && status == HEDDLE_OK; i++) {
    bool yes = false;
    status = hd_schedule_has(ctx, &list[i], wanted, &yes);
    if (yes)
      add(out, &list[i]);
  }
  free(list);
  if (status == HEDDLE_OK && out->n == out->first)
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "bench.sweep",
                      "none of %zu legal schedules has \"%s\"; legal: fewer keys", n, wanted);
  return status;
}

/* One that is not legal for this case is noted and left out, unless nothing else is left. */
static heddle_status add_legal(heddle_context *ctx, const hd_op *kernel, const hd_schedule *s,
                               bool last, ways *out) {
  heddle_context *quiet = heddle_context_create();
  heddle_status status = hd_schedule_check(quiet, kernel, s);
  if (status == HEDDLE_OK)
    add(out, s);
  else if (!last || out->n > out->first)
    hd_note(ctx, HD_NOWHERE, "bench.schedule", "left out: %s",
            hd_first_error_text(quiet, "not legal"));
  heddle_context_free(quiet);
  return last && out->n == out->first ? hd_schedule_check(ctx, kernel, s) : HEDDLE_OK;
}

/* What was tuned for it, else the default. */
static heddle_status usual(heddle_context *ctx, const hd_op *kernel, const hd_tuned *tuned,
                           hd_schedule *s) {
  static const int64_t fixed[3] = {0};
  const hd_tuned_entry *entry = NULL;
  hd_problem p;
  HD_TRY(hd_problem_read(ctx, (hd_op *)kernel, &p));
  hd_product product = hd_product_of(&p, fixed);
  if (tuned)
    HD_TRY(hd_tune_pick(ctx, tuned, kernel, &product, &entry, s));
  return entry ? HEDDLE_OK : hd_schedule_default(ctx, kernel, s);
}

static heddle_status named(heddle_context *ctx, const hd_op *kernel, const hd_bench_options *o,
                           ways *out) {
  int32_t n = o->n_schedules ? o->n_schedules : 1;
  for (int32_t i = 0; i < n; i++) {
    hd_schedule s;
    HD_TRY(o->n_schedules ? hd_schedule_resolve(ctx, kernel, o->schedule[i], &s)
                          : usual(ctx, kernel, o->tuned, &s));
    HD_TRY(add_legal(ctx, kernel, &s, i + 1 == n, out));
  }
  return HEDDLE_OK;
}

static heddle_status add_ways(heddle_context *ctx, const hd_bench_problem *problem,
                              const hd_bench_options *o, const char *target, bool weights_ready,
                              ways *out) {
  char *text = hd_bench_text(problem, target, true, weights_ready);
  hd_front front = {0};
  hd_pass_context pass = {ctx, target, NULL};
  out->first = out->n;
  out->weights_ready = weights_ready;
  heddle_status status = hd_front_made(&pass, HD_NOWHERE, text, &front);
  if (status == HEDDLE_OK)
    status = o->sweep ? sweep(ctx, front.problem.kernel, o->sweep, out)
                      : named(ctx, front.problem.kernel, o, out);
  hd_front_free(&front);
  free(text);
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

void hd_bench_ways_free(hd_bench_way *list, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    free(list[i].schedule);
  free(list);
}
