/* The generated C launcher compiles without warnings. On a fake driver it always agrees with
 * hd_manifest_plan: the same refusal or the same launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <string.h>
#include <cmocka.h>

#include "open_launcher.h"
#include "sample_manifest.h"

static int setup(void **state) {
  hd_manifest m = sample_manifest();
  *state = open_launcher(&m, &both);
  return 0;
}

static int teardown(void **state) { return dlclose(*state); }

typedef int (*launch_fn)(const void *kernel, const void *a, const void *b, const void *c, void *d,
                         const void *user, int32_t m, int32_t n, int32_t k, int64_t ldb,
                         int64_t ldc, int64_t ldd, float alpha, float beta, void *workspace,
                         void *stream);
typedef int (*workspace_fn)(const void *kernel, int32_t m, int32_t n, int32_t k, int64_t ldb,
                            int64_t ldc, int64_t ldd, uint64_t *n_bytes);

static int call(void *library, const hd_values *v) {
  float alpha, beta;
  memcpy(&alpha, &v->v[HD_ARG_ALPHA], 4);
  memcpy(&beta, &v->v[HD_ARG_BETA], 4);
  launch_fn sample = (launch_fn)find(library, "sample");
#define P(kind) ((void *)(uintptr_t)v->v[HD_ARG_##kind])
#define I(kind) ((int32_t)v->v[HD_ARG_##kind])
#define L(kind) ((int64_t)v->v[HD_ARG_##kind])
  return sample(kernel, P(A), P(B), P(C), P(D), P(USER), I(M), I(N), I(K), L(LDB), L(LDC), L(LDD),
                alpha, beta, P(WORKSPACE), (void *)0x77);
#undef P
#undef I
#undef L
}

/* The launcher's code for a rule of hd_manifest_plan. */
static int code_of(const char *rule) {
  static const char *const rules[] = {"",           "launch.size",  "launch.max",
                                      "launch.stride", "launch.divisible", "launch.null",
                                      "launch.align", "launch.variant", "launch.grid",
                                      "launch.workspace", "launch.tmap"};
  for (int i = 1; i < (int)HD_COUNT(rules); i++) {
    if (strcmp(rule, rules[i]) == 0)
      return -i;
  }
  fail_msg("no code for %s", rule);
  return 1;
}

static void expect_launch(const hd_launch_plan *plan, const hd_values *v, bool tma) {
  if (seen.n_launches != (plan->grid_x > 0) + (plan->ahead != NULL) + (plan->behind != NULL))
    fail_msg("%d launches, m %d n %d g %d", seen.n_launches, (int)v->v[HD_ARG_M],
             (int)v->v[HD_ARG_N], (int)v->v[HD_ARG_G]);
  if (plan->grid_x == 0)
    return;
  assert_int_equal(seen.first_grid, plan->ahead ? plan->ahead_grid : plan->grid_x);
  const hd_variant *last = plan->behind ? plan->behind : plan->variant; /* the recorded launch */
  if (hd_variant_serves(last)) {
    assert_string_equal(seen.function, last->entry);
    assert_int_equal(seen.grid, plan->behind ? plan->behind_grid : plan->grid_x);
    assert_int_equal(seen.dependent, 1);
    return;
  }
  assert_string_equal(seen.function, plan->variant->entry);
  assert_int_equal(seen.grid, plan->grid_x);
  assert_int_equal(seen.block, plan->variant->n_threads);
  assert_int_equal(seen.shared_bytes, plan->variant->shared_bytes);
  assert_int_equal(seen.cluster, tma ? plan->variant->cluster : 0);
  assert_int_equal(seen.dependent, tma);
  assert_ptr_equal(seen.stream, (void *)0x77);
  assert_int_equal(seen.m, v->v[HD_ARG_M]);
  assert_int_equal(seen.ldb, v->v[HD_ARG_LDB]);
  assert_int_equal(seen.alpha_bits, v->v[HD_ARG_ALPHA]);
  assert_int_equal(seen.n_maps, tma);
  assert_int_equal(seen.b_param, tma ? UINT64_C(0xabababababababab) : v->v[HD_ARG_B]);
  if (!tma)
    return;
  const hd_tmap *t = &plan->tmap[0];
  assert_int_equal(seen.map_type, 9);
  assert_int_equal(seen.map_swizzle, t->swizzle);
  assert_int_equal(seen.map_rank, t->rank);
  assert_int_equal(seen.map_base, t->base);
  for (int i = 0; i < t->rank; i++) {
    assert_int_equal(seen.map_dim[i], t->dim[i]);
    assert_int_equal(seen.map_box[i], t->box[i]);
    assert_int_equal(seen.map_stride[i], t->stride[i]);
  }
}

static uint64_t next(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

/* Sizes near the limits of every rule, and sometimes an extreme value. */
static hd_values random_values(uint64_t *seed) {
  static const int64_t odd[] = {-1, 0, 1, 2, 3, 100001, INT32_MAX, INT32_MIN};
  hd_values v = sample_values();
  v.v[HD_ARG_M] = next(seed) % 1000;
  v.v[HD_ARG_N] = next(seed) % 300;
  v.v[HD_ARG_K] = 4 * (next(seed) % 64) + (next(seed) % 16 == 0);
  v.v[HD_ARG_LDB] = v.v[HD_ARG_K] + next(seed) % 20;
  v.v[HD_ARG_LDC] = v.v[HD_ARG_N] + next(seed) % 3 - (next(seed) % 16 == 0);
  v.v[HD_ARG_LDD] = v.v[HD_ARG_N] + next(seed) % 3;
  v.v[HD_ARG_B] += next(seed) % 4 ? 0 : next(seed) % 20;
  if (next(seed) % 8 == 0)
    v.v[HD_ARG_A + next(seed) % (HD_ARG_WORKSPACE - HD_ARG_A + 1)] = next(seed) % 2 * 0x40;
  if (next(seed) % 8 == 0)
    v.v[HD_ARG_M + next(seed) % 3] = (uint64_t)odd[next(seed) % HD_COUNT(odd)];
  if (next(seed) % 16 == 0)
    v.v[HD_ARG_LDB + next(seed) % 3] =
        (uint64_t)(odd[next(seed) % HD_COUNT(odd)] * (INT64_C(1) << 20));
  if (next(seed) % 64 == 0) { /* more tiles than a grid can have */
    v.v[HD_ARG_M] = 100000;
    v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = INT32_MAX;
  }
  return v;
}

/* The same as a batch: D's matrices lie apart, with interleaved rows, or overlap. */
static hd_values random_batch(uint64_t *seed) {
  hd_values v = random_values(seed);
  uint64_t rows = v.v[HD_ARG_M] * v.v[HD_ARG_LDD], between = next(seed) % 4;
  v.v[HD_ARG_G] = next(seed) % 8 ? next(seed) % 6 : next(seed) % (1 << 21);
  v.v[HD_ARG_STRIDE_B] = next(seed) % 3 * (v.v[HD_ARG_N] * v.v[HD_ARG_LDB] + next(seed) % 3 * 4);
  v.v[HD_ARG_STRIDE_D] = between == 0 ? v.v[HD_ARG_N] + next(seed) % 3 : rows + next(seed) % 9 - 1;
  if (between == 0 && next(seed) % 2)
    v.v[HD_ARG_LDD] = v.v[HD_ARG_G] * v.v[HD_ARG_STRIDE_D];
  if (next(seed) % 64 == 0)
    v.v[HD_ARG_STRIDE_B + next(seed) % 3] = (uint64_t)-(int64_t)(next(seed) % 2);
  return v;
}

/* Calls a launcher whose sample is a batch. */
static int call_batch(void *library, const hd_values *v) {
  typedef int (*batch_fn)(const void *, const void *, const void *, const void *, void *,
                          const void *, int32_t, int32_t, int32_t, int64_t, int64_t, int64_t, float,
                          float, void *, int32_t, int64_t, int64_t, void *);
  batch_fn sample = (batch_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha, beta;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  memcpy(&beta, &x[HD_ARG_BETA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_C],
                (void *)x[HD_ARG_D], (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M],
                (int32_t)x[HD_ARG_N], (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB],
                (int64_t)x[HD_ARG_LDC], (int64_t)x[HD_ARG_LDD], alpha, beta,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_B],
                (int64_t)x[HD_ARG_STRIDE_D], (void *)0x77);
}

/* The same as groups. */
static hd_values random_groups(uint64_t *seed) {
  hd_values v = random_values(seed);
  v.v[HD_ARG_G] = next(seed) % 8 ? next(seed) % 70 : next(seed) % (1 << 11);
  v.v[HD_ARG_STRIDE_A] = 128 * (next(seed) % 100) + (next(seed) % 64 == 0);
  v.v[HD_ARG_OFFSETS] = next(seed) % 64 ? 0x5000 : next(seed) % 2;
  return v;
}

static int call_groups(void *library, const hd_values *v) {
  typedef int (*groups_fn)(const void *, const void *, const void *, const void *, void *,
                           const void *, int32_t, int32_t, int32_t, int64_t, int64_t, int64_t,
                           float, float, void *, int32_t, int64_t, const void *, void *);
  groups_fn sample = (groups_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha, beta;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  memcpy(&beta, &x[HD_ARG_BETA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_C],
                (void *)x[HD_ARG_D], (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M],
                (int32_t)x[HD_ARG_N], (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB],
                (int64_t)x[HD_ARG_LDC], (int64_t)x[HD_ARG_LDD], alpha, beta,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_A],
                (void *)x[HD_ARG_OFFSETS], (void *)0x77);
}

/* The same for groups whose columns are combined. */
static hd_values random_combined(uint64_t *seed) {
  hd_values v = random_groups(seed);
  v.v[HD_ARG_T] = next(seed) % 8 ? next(seed) % 100 : next(seed) % 5000;
  v.v[HD_ARG_COMBINE_D] = next(seed) % 64 ? 0x6000 : next(seed) % 2;
  return v;
}

static int call_combined(void *library, const hd_values *v) {
  typedef int (*combined_fn)(const void *, const void *, const void *, void *, const void *,
                             int32_t, int32_t, int32_t, int64_t, int64_t, float, void *, int32_t,
                             int64_t, const void *, const void *, int32_t, void *);
  combined_fn sample = (combined_fn)find(library, "sample");
  const uint64_t *x = v->v;
  float alpha;
  memcpy(&alpha, &x[HD_ARG_ALPHA], 4);
  return sample(kernel, (void *)x[HD_ARG_A], (void *)x[HD_ARG_B], (void *)x[HD_ARG_D],
                (void *)x[HD_ARG_USER], (int32_t)x[HD_ARG_M], (int32_t)x[HD_ARG_N],
                (int32_t)x[HD_ARG_K], (int64_t)x[HD_ARG_LDB], (int64_t)x[HD_ARG_LDD], alpha,
                (void *)x[HD_ARG_WORKSPACE], (int32_t)x[HD_ARG_G], (int64_t)x[HD_ARG_STRIDE_A],
                (void *)x[HD_ARG_OFFSETS], (void *)x[HD_ARG_COMBINE_D], (int32_t)x[HD_ARG_T],
                (void *)0x77);
}

/* Values for the arguments of the sample's manifest. */
static hd_values random_of(const hd_manifest *m, uint64_t *seed) {
  if (hd_manifest_is_grouped(m))
    return m->slots ? random_combined(seed) : random_groups(seed);
  return hd_manifest_arg(m, HD_ARG_G) ? random_batch(seed) : random_values(seed);
}

static int call_of(const hd_manifest *m, void *library, const hd_values *v) {
  if (hd_manifest_is_grouped(m))
    return m->slots ? call_combined(library, v) : call_groups(library, v);
  return hd_manifest_arg(m, HD_ARG_G) ? call_batch(library, v) : call(library, v);
}

static void agree_everywhere(void *library, const hd_manifest *m) {
  heddle_context *ctx = heddle_context_create();
  uint64_t seed = 1;
  int n_launched = 0, n_sums_of_none = 0, n_refused[16] = {0};
  for (int i = 0; i < 20000; i++) {
    int resident = (int)(next(&seed) % 9) + 1;
    hd_values v = random_of(m, &seed), planned = v;
    uint32_t residents[HD_MAX_VARIANTS] = {(uint32_t)(resident * m->variant[0].cluster),
                                            (uint32_t)resident * 10, (uint32_t)resident * 10};
    hd_launch_plan plan;
    load(library, resident);
    int code = call_of(m, library, &v);
    heddle_context_clear(ctx);
    if (hd_manifest_plan(ctx, m, &planned, residents, &plan) != HEDDLE_OK) {
      assert_int_equal(code, code_of(heddle_context_get(ctx, 0)->rule));
      assert_int_equal(seen.n_launches, 0);
      n_refused[-code]++;
      continue;
    }
    assert_int_equal(code, 0);
    expect_launch(&plan, &v, strcmp(plan.variant->path, "tma") == 0);
    n_launched += seen.n_launches > 0;
    n_sums_of_none += seen.n_launches == 1 && hd_variant_serves(plan.variant);
  }
  heddle_context_free(ctx);
  assert_in_range(n_launched, 3000, 20000);
  assert_in_range(n_sums_of_none, m->slots ? 100 : 0, m->slots ? 5000 : 0);
  for (int i = 1; i <= 8; i++)
    if (n_refused[i] == 0)
      fail_msg("no case with code %d", -i);
}

static void launcher_and_plan_agree_everywhere(void **state) {
  hd_manifest m = sample_manifest();
  agree_everywhere(*state, &m);
}

static void workspaces_agree(void *library, const hd_manifest *m) {
  hd_values v = sample_values();
  uint64_t bytes = 0, planned = 0;
  workspace_fn sample_workspace = (workspace_fn)find(library, "sample_workspace");
  for (int32_t rows = 0; rows < 5000; rows += 130) {
    int resident = rows / 130 % 7 + 1;
    uint32_t residents[HD_MAX_VARIANTS] = {(uint32_t)(resident * m->variant[0].cluster),
                                            (uint32_t)resident * 10, (uint32_t)resident * 10};
    load(library, resident);
    v.v[HD_ARG_M] = (uint64_t)rows;
    assert_int_equal(sample_workspace(kernel, rows, 128, 64, 64, 128, 128, &bytes), 0);
    assert_int_equal(hd_manifest_workspace(NULL, m, &v, residents, &planned), HEDDLE_OK);
    assert_int_equal(bytes, planned);
  }
  assert_int_equal(sample_workspace(kernel, 256, 128, 63, 64, 128, 128, &bytes), -4);
}

static void workspace_and_plan_agree(void **state) {
  hd_manifest m = sample_manifest();
  workspaces_agree(*state, &m);
}

/* Opens a launcher of its own. The workspace function is compared only for a plain product, whose
 * arguments it has. */
static void launches_agree(const hd_manifest *m) {
  void *library = open_launcher(m, &both);
  agree_everywhere(library, m);
  dlclose(library);
}

static void launches_and_workspaces_agree(const hd_manifest *m) {
  void *library = open_launcher(m, &both);
  agree_everywhere(library, m);
  workspaces_agree(library, m);
  dlclose(library);
}

static void shared_tiles_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_streamed();
  launches_and_workspaces_agree(&m);
}

static void batches_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_batch();
  launches_agree(&m);
}

static void groups_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_groups();
  launches_agree(&m);
}

/* Also the workspaces: for the most slots that groups of so many columns may need. */
static void streamed_groups_agree_too(void **state) {
  typedef int (*groups_workspace_fn)(const void *, int32_t, int32_t, int32_t, int64_t, int64_t,
                                     int64_t, int32_t, int64_t, uint64_t *);
  (void)state;
  hd_manifest m = sample_streamed_groups();
  hd_values v = sample_values();
  void *library = open_launcher(&m, &both);
  groups_workspace_fn of = (groups_workspace_fn)find(library, "sample_workspace");
  agree_everywhere(library, &m);
  v.v[HD_ARG_STRIDE_A] = 128;
  for (int32_t g = 0; g < 40; g++) {
    uint32_t residents[HD_MAX_VARIANTS] = {(uint32_t)(g % 9 + 1) *
                                           (uint32_t)m.variant[0].cluster};
    uint64_t bytes = 0, planned = 0;
    load(library, g % 9 + 1);
    v.v[HD_ARG_G] = (uint64_t)g;
    assert_int_equal(of(kernel, 256, 128, 64, 64, 128, 128, g, 128, &bytes), 0);
    assert_int_equal(hd_manifest_workspace(NULL, &m, &v, residents, &planned), HEDDLE_OK);
    assert_int_equal(bytes, planned);
  }
  dlclose(library);
}

static void what_runs_ahead_agrees_too(void **state) {
  (void)state;
  hd_manifest m = sample_copied();
  launches_and_workspaces_agree(&m);
}

static void what_runs_behind_agrees_too(void **state) {
  (void)state;
  hd_manifest m = sample_combined();
  launches_agree(&m);
}

/* The first variant is for few columns: the generated C must have the same border. */
static void buckets_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_variant *first = &m.variant[0];
  first->requirement[first->n_requirements++] = (hd_requirement){{HD_ARG_N, 1, 0, 1}, 1, 100};
  launches_and_workspaces_agree(&m);
}

/* Full clusters in which each CTA has tiles of its own. The last CTAs have none. */
static void spread_clusters_agree_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  m.variant[0].cluster = 4;
  m.variant[0].tile_cluster = 1;
  launches_and_workspaces_agree(&m);
}

/* 16 tiles of 2^27 - 1 k-blocks, shared by 17 workers, as in test_manifest_plan.c. */
static void shared_k_blocks_fit_31_bits(void **state) {
  (void)state;
  hd_manifest m = sample_streamed();
  hd_values v = sample_values();
  void *library = open_launcher(&m, &both);
  v.v[HD_ARG_M] = 16 * 256;
  v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 64;
  v.v[HD_ARG_K] = v.v[HD_ARG_LDB] = INT32_MAX - 15;
  load(library, 17);
  assert_int_equal(call(library, &v), code_of("launch.grid"));
  dlclose(library);
}

static void the_drivers_code_comes_back(void **state) {
  hd_values v = sample_values();
  load(*state, 4);
  seen.launch_code = 719;
  assert_int_equal(call(*state, &v), 719);
}

/* Fixed sizes, no tensor maps, no workspace, only a cubin: other branches of the generator. */
static void fixed_sizes_compile_too(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  heddle_image cubin = both, ptx = both;
  m.variant[0] = m.variant[1];
  m.n_variants = 1;
  m.variant[0].workspace_bytes_per_tile = (hd_expr){0};
  m.variant[0].n_requirements = 0;
  for (int i = 0; i < m.n_args; i++) {
    if (hd_arg_class_of(m.arg[i].kind) == HEDDLE_CLASS_I32 ||
        hd_arg_class_of(m.arg[i].kind) == HEDDLE_CLASS_I64)
      m.arg[i].fixed = 4096;
  }
  cubin.ptx_bytes = 0;
  dlclose(open_launcher(&m, &cubin));
  m.variant[0].n_params = 0;
  ptx.cubin_bytes = 0;
  dlclose(open_launcher(&m, &ptx));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launcher_and_plan_agree_everywhere),
      cmocka_unit_test(workspace_and_plan_agree),
      cmocka_unit_test(shared_tiles_agree_too),
      cmocka_unit_test(batches_agree_too),
      cmocka_unit_test(groups_agree_too),
      cmocka_unit_test(streamed_groups_agree_too),
      cmocka_unit_test(what_runs_ahead_agrees_too),
      cmocka_unit_test(what_runs_behind_agrees_too),
      cmocka_unit_test(buckets_agree_too),
      cmocka_unit_test(spread_clusters_agree_too),
      cmocka_unit_test(shared_k_blocks_fit_31_bits),
      cmocka_unit_test(the_drivers_code_comes_back),
      cmocka_unit_test(fixed_sizes_compile_too),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
