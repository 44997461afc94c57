/* What picking among buckets adds to the plan of a launch. */
#include <math.h>
#include <string.h>

#include "Bench/bench.h"
#include "Bench/self_cost.h"
#include "Kernel/manifest.h"
#include "Support/file.h"
#include "Support/memory.h"

enum { PLANS = 4096, STEP = 16, VARIANTS = 2 /* of a bucket */, OPERAND = 1 << 20 };

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

static heddle_status time_plans(heddle_context *ctx, const hd_manifest *m, int64_t k,
                                int32_t largest, int32_t n_rounds, double *seconds) {
  *seconds = INFINITY;
  for (int32_t r = 0; r < n_rounds; r++) {
    uint32_t drawn = 1;
    double start = hd_clock_seconds();
    for (int32_t i = 0; i < PLANS; i++) {
      hd_launch_plan plan;
      hd_values values = {0};
      drawn = drawn * 1664525u + 1013904223u;
      uint64_t n = 1 + (drawn >> 8) % (uint32_t)largest;
      values.v[HD_ARG_A] = values.v[HD_ARG_B] = values.v[HD_ARG_D] = OPERAND;
      values.v[HD_ARG_N] = n;
      values.v[HD_ARG_LDB] = (uint64_t)k;
      values.v[HD_ARG_LDD] = (uint64_t)m->arg[0].max + (uint64_t)largest;
      HD_TRY(hd_manifest_plan(ctx, m, &values, NULL, &plan));
    }
    double each = (hd_clock_seconds() - start) / PLANS;
    *seconds = each < *seconds ? each : *seconds;
  }
  return HEDDLE_OK;
}

heddle_status hd_cost_plan(heddle_context *ctx, int32_t n_rounds, hd_plan_cost *cost) {
  enum { M = 64, K = 64, BUCKETS = HD_MAX_VARIANTS / VARIANTS };
  hd_bench_problem p = {
      .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = M, .n = 0, .k = K};
  heddle_compiled *compiled;
  hd_arena arena = {0};
  hd_plan_cost took = {.n_buckets = BUCKETS};
  size_t n_bytes;
  char *text = hd_bench_text(&p, "sm_90a", true, false);
  heddle_compile_options options = {.schedule = "tile=64x16 stages=2 b=tma"};
  heddle_status status = heddle_compile(ctx, "cost", text, strlen(text), &options, &compiled);
  hd_free(text);
  HD_TRY(status);
  hd_manifest *m = HD_NEW(&arena, hd_manifest);
  const char *json = heddle_compiled_manifest(compiled, &n_bytes);
  status = hd_manifest_read(ctx, json, n_bytes, &arena, m);
  if (status == HEDDLE_OK)
    status = time_plans(ctx, m, K, STEP * BUCKETS, n_rounds, &took.one);
  if (status == HEDDLE_OK) {
    divide(m, BUCKETS);
    status = time_plans(ctx, m, K, STEP * BUCKETS, n_rounds, &took.buckets);
  }
  if (status == HEDDLE_OK) {
    status = time_plans(ctx, m, K, STEP, n_rounds, &took.again);
  }
  heddle_compiled_free(compiled);
  hd_arena_free(&arena);
  if (status == HEDDLE_OK)
    *cost = took;
  return status;
}
