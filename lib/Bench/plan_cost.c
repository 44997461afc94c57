/* What picking among buckets adds to the plan of a launch. */
#include <string.h>

#include "Bench/bench.h"
#include "Bench/self_cost.h"
#include "Kernel/manifest.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "Support/statistics.h"

enum {
  PLANS = 1024,
  TURNS = 100, /* for each round */
  STEP = 16,
  VARIANTS = 2, /* of a bucket */
  OPERAND = 1 << 20
};

/* The kernel's variant as many times, each pair for sizes up to so many more. */
static void divide(hd_manifest *m, int32_t n_buckets) {
  hd_variant own = m->variant[0];
  m->n_variants = 0;
  for (int32_t i = 0; i < n_buckets * VARIANTS; i++) {
    hd_variant *v = &m->variant[m->n_variants++];
    int32_t bucket = i / VARIANTS;
    *v = own;
    if (bucket + 1 == n_buckets)
      continue;
    memmove(&v->requirement[1], &v->requirement[0],
            sizeof v->requirement[0] * (size_t)v->n_requirements++);
    v->requirement[0] = (hd_requirement){.value = {.arg = HD_ARG_N, .mul = 1, .div = 1},
                                         .modulo = 1,
                                         .at_most = STEP * (bucket + 1)};
  }
  hd_manifest_index(m);
}

/* Plans of one manifest, for sizes from 1 to `largest` in no order. */
typedef struct contender {
  const hd_manifest *manifest;
  uint32_t largest;
  double *seconds; /* of a plan, by turn */
} contender;
enum { ONE, ANY, AGAIN, CONTENDERS };

static heddle_status time_plans(heddle_context *ctx, const contender *c, int64_t k, int32_t turn) {
  uint32_t drawn = 1;
  double start = hd_clock_seconds();
  for (int32_t i = 0; i < PLANS; i++) {
    hd_launch_plan plan;
    hd_values values = {0};
    drawn = drawn * 1664525u + 1013904223u;
    values.v[HD_ARG_A] = values.v[HD_ARG_B] = values.v[HD_ARG_D] = OPERAND;
    values.v[HD_ARG_N] = 1 + (drawn >> 8) % c->largest;
    values.v[HD_ARG_LDB] = (uint64_t)k;
    values.v[HD_ARG_LDD] = (uint64_t)c->manifest->arg[0].max + STEP * HD_MAX_VARIANTS;
    HD_TRY(hd_manifest_plan(ctx, c->manifest, &values, NULL, &plan));
  }
  c->seconds[turn] = (hd_clock_seconds() - start) / PLANS;
  return HEDDLE_OK;
}

/* The contenders take turns, each as often first: what else the machine does costs all alike. The
 * medians of the turns' differences. */
static heddle_status compare(heddle_context *ctx, const contender c[CONTENDERS], int64_t k,
                             int32_t n_turns, hd_plan_cost *cost) {
  for (int32_t turn = 0; turn < n_turns; turn++)
    for (int32_t i = 0; i < CONTENDERS; i++)
      HD_TRY(time_plans(ctx, &c[(turn + i) % CONTENDERS], k, turn));
  for (int32_t turn = 0; turn < n_turns; turn++)
    for (int32_t i = ANY; i < CONTENDERS; i++)
      c[i].seconds[turn] -= c[ONE].seconds[turn];
  cost->one = hd_median(c[ONE].seconds, n_turns);
  cost->any = hd_median(c[ANY].seconds, n_turns);
  cost->again = hd_median(c[AGAIN].seconds, n_turns);
  return HEDDLE_OK;
}

heddle_status hd_cost_plan(heddle_context *ctx, int32_t n_rounds, hd_plan_cost *cost) {
  enum { M = 64, K = 64, BUCKETS = HD_MAX_VARIANTS / VARIANTS };
  hd_bench_problem p = {
      .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = M, .n = 0, .k = K};
  heddle_compiled *compiled;
  hd_arena arena = {0};
  size_t n_bytes;
  int32_t n_turns = n_rounds * TURNS;
  char *text = hd_bench_text(&p, "sm_90a", true, false);
  heddle_compile_options options = {.schedule = "tile=64x16 stages=2 b=tma"};
  heddle_status status = heddle_compile(ctx, "cost", text, strlen(text), &options, &compiled);
  hd_free(text);
  HD_TRY(status);
  hd_manifest *one = HD_NEW(&arena, hd_manifest), *many = HD_NEW(&arena, hd_manifest);
  const char *json = heddle_compiled_manifest(compiled, &n_bytes);
  status = hd_manifest_read(ctx, json, n_bytes, &arena, one);
  if (status == HEDDLE_OK) {
    contender c[CONTENDERS] = {[ONE] = {one, STEP * BUCKETS}, [ANY] = {many, STEP * BUCKETS},
                               [AGAIN] = {many, STEP}};
    *many = *one;
    divide(many, BUCKETS);
    for (int32_t i = 0; i < CONTENDERS; i++)
      c[i].seconds = HD_NEW_ARRAY(&arena, double, n_turns);
    cost->n_buckets = BUCKETS;
    status = compare(ctx, c, K, n_turns, cost);
  }
  heddle_compiled_free(compiled);
  hd_arena_free(&arena);
  return status;
}
