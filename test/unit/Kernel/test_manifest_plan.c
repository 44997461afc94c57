/* The arithmetic of the launch path: every check, the choice of the variant, grids, tensor maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sample_manifest.h"

static hd_launch_plan planned(hd_values values, const uint32_t *resident) {
  hd_manifest *m = test_malloc(sizeof *m);
  hd_launch_plan plan;
  *m = sample_manifest();
  assert_int_equal(hd_manifest_plan(NULL, m, &values, resident, &plan), HEDDLE_OK);
  static hd_variant kept; /* outlives m, for the caller */
  kept = *plan.variant;
  plan.variant = &kept;
  test_free(m);
  return plan;
}

static void aligned_values_take_the_first_variant(void **state) {
  (void)state;
  hd_launch_plan p = planned(sample_values(), NULL);
  assert_string_equal(p.variant->path, "tma");
  assert_int_equal(p.n_tiles, 4);
  assert_int_equal(p.grid_x, 4);
  assert_int_equal(p.workspace_bytes, 0);
  assert_int_equal(p.tmap[0].base, 0x20000);
  assert_int_equal(p.tmap[0].dim[0], 64);
  assert_int_equal(p.tmap[0].dim[1], 128);
  assert_int_equal(p.tmap[0].stride[1], 128);
  assert_int_equal(p.tmap[0].box[1], 64);
}

static void unaligned_values_fall_to_the_next_variant(void **state) {
  (void)state;
  hd_values by_stride = sample_values(), by_pointer = sample_values();
  by_stride.v[HD_ARG_LDB] = 66;
  by_pointer.v[HD_ARG_B] += 2;
  hd_launch_plan p = planned(by_stride, NULL);
  assert_string_equal(p.variant->path, "gather");
  assert_int_equal(p.n_tiles, 12);
  assert_int_equal(p.workspace_bytes, 12 * 4100);
  assert_string_equal(planned(by_pointer, NULL).variant->path, "gather");
}

/* The bucket of the first variant ends at its border. Larger sizes use the next variant. */
static void a_bucket_ends_at_its_border(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_variant *first = &m.variant[0];
  uint64_t bytes = 1;
  first->requirement[first->n_requirements++] =
      (hd_requirement){{HD_ARG_N, 1, 0, 1}, 1, 128};
  for (uint64_t n = 127; n <= 129; n++) {
    hd_values v = sample_values();
    hd_launch_plan plan;
    v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = n;
    assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_OK);
    assert_string_equal(plan.variant->path, n <= 128 ? "tma" : "gather");
  }
  /* The workspace depends only on the variants that a launch of these sizes may use. */
  hd_values v = sample_values();
  first->requirement[first->n_requirements - 1].at_most = 0;
  m.variant[1].requirement[m.variant[1].n_requirements++] =
      (hd_requirement){{HD_ARG_N, 1, 0, 1}, 1, 64};
  assert_int_equal(hd_manifest_workspace(NULL, &m, &v, NULL, &bytes), HEDDLE_OK);
  assert_int_equal(bytes, 0);
}

static void persistent_grids_stay_resident_and_whole_clusters(void **state) {
  (void)state;
  hd_values v = sample_values();
  v.v[HD_ARG_M] = 128 * 99; /* 198 tiles; 200 in full clusters */
  assert_int_equal(planned(v, (uint32_t[]){132, 0, 0, 0}).grid_x, 132);
  assert_int_equal(planned(v, (uint32_t[]){131, 0, 0, 0}).grid_x, 130);
  assert_int_equal(planned(v, (uint32_t[]){1, 0, 0, 0}).grid_x, 2);
  assert_int_equal(planned(v, (uint32_t[]){500, 0, 0, 0}).grid_x, 200);
  v.v[HD_ARG_M] = 1;
  v.v[HD_ARG_N] = 1;
  v.v[HD_ARG_LDD] = v.v[HD_ARG_LDC] = 1;
  assert_int_equal(planned(v, NULL).n_tiles, 2);
  assert_int_equal(planned(v, NULL).grid_x, 2);
}

/* Each CTA has tiles of its own. The grid still has only full clusters, and is no larger than
 * fits. */
static void spread_grids_are_whole_clusters(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan p;
  m.variant[0].cluster = 4;
  m.variant[0].tile_cluster = 1;
  v.v[HD_ARG_M] = 128 * 55; /* 110 tiles */
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, (uint32_t[]){120, 0, 0, 0}, &p), HEDDLE_OK);
  assert_int_equal(p.n_tiles, 110);
  assert_int_equal(p.grid_x, 112);
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, (uint32_t[]){103, 0, 0, 0}, &p), HEDDLE_OK);
  assert_int_equal(p.grid_x, 100);
}

static void nothing_to_do_is_a_grid_of_zero(void **state) {
  (void)state;
  hd_values v = sample_values();
  v.v[HD_ARG_M] = 0;
  v.v[HD_ARG_A] = v.v[HD_ARG_D] = 0;
  assert_int_equal(planned(v, NULL).grid_x, 0);
}

static void fixed_sizes_fill_themselves_in(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan p;
  m.arg[5].fixed = 512;
  v.v[HD_ARG_M] = 77;
  assert_false(hd_arg_is_passed(hd_manifest_arg(&m, HD_ARG_M)));
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &p), HEDDLE_OK);
  assert_int_equal(v.v[HD_ARG_M], 512);
  assert_int_equal(p.n_tiles, 8);
}

static void refused(hd_arg_kind kind, int64_t value, heddle_status status, const char *rule,
                    const char *text) {
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan plan;
  heddle_context *ctx = heddle_context_create();
  v.v[kind] = (uint64_t)value;
  memset(&plan, 0x55, sizeof plan);
  hd_launch_plan before = plan;
  assert_int_equal(hd_manifest_plan(ctx, &m, &v, NULL, &plan), status);
  assert_memory_equal(&plan, &before, sizeof plan);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  assert_string_equal(d->rule, rule);
  if (!strstr(d->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, d->text);
  v = sample_values();
  v.v[kind] = (uint64_t)value;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), status);
  heddle_context_free(ctx);
}

static void bad_values_are_named(void **state) {
  (void)state;
  const heddle_status invalid = HEDDLE_INVALID;
  refused(HD_ARG_M, -1, invalid, "launch.size", "argument m: got -1; legal: at least 0");
  refused(HD_ARG_M, 100001, invalid, "launch.max", "at most 100000");
  refused(HD_ARG_K, 0, invalid, "launch.size", "argument k: got 0; legal: at least 1");
  refused(HD_ARG_K, 62, invalid, "launch.divisible", "a multiple of 4; nearest: 64");
  refused(HD_ARG_N, (int64_t)1 << 31, invalid, "launch.max", "at most 2147483647");
  refused(HD_ARG_LDB, 63, invalid, "launch.stride", "ldb: got 63; legal: at least the row");
  refused(HD_ARG_LDD, -128, invalid, "launch.stride", "ldd: got -128");
  refused(HD_ARG_LDB, INT64_MAX, invalid, "launch.max", "ldb");
  refused(HD_ARG_A, 0, invalid, "launch.null", "argument a");
  refused(HD_ARG_A, 0x10040, invalid, "launch.align", "a multiple of 128");
  refused(HD_ARG_D, 0x10001, invalid, "launch.align", "argument d: got address 0x10001");
  refused(HD_ARG_LDB, 65, HEDDLE_UNSUPPORTED, "launch.variant", "gives 130");
}

static void a_pitch_may_have_a_most(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan plan;
  hd_arg *ldd = (hd_arg *)hd_manifest_arg(&m, HD_ARG_LDD);
  ldd->max = (int64_t)v.v[HD_ARG_LDD];
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_OK);
  v.v[HD_ARG_LDD]++;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_INVALID);
}

static hd_launch_plan streamed(int32_t m_pairs, uint32_t resident, uint64_t k) {
  hd_manifest m = sample_streamed();
  hd_values v = sample_values();
  hd_launch_plan plan;
  m.n_variants = 1;
  v.v[HD_ARG_M] = (uint64_t)m_pairs * 256; /* tiles of 128 x 64, in pairs; N = 64 */
  v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 64;
  v.v[HD_ARG_K] = v.v[HD_ARG_LDB] = k;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, (uint32_t[]){resident, 0, 0, 0}, &plan),
                   HEDDLE_OK);
  uint64_t bytes = 1;
  assert_int_equal(hd_manifest_workspace(NULL, &m, &v, (uint32_t[]){resident, 0, 0, 0}, &bytes),
                   HEDDLE_OK);
  assert_int_equal(bytes, plan.workspace_bytes);
  return plan;
}

/* workers: pairs of CTAs. slots: slots of the workspace, one for each worker and each shared
 * tile. */
static void shared_tiles_fill_the_grid(void **state) {
  (void)state;
  static const struct {
    int32_t tiles;
    uint32_t resident, k, workers, slots;
  } cases[] = {
      {6, 6, 64, 3, 0},     /* full waves */
      {7, 6, 64, 3, 3 + 4}, /* one wave, and 4 tiles shared */
      {8, 7, 64, 3, 3 + 5},  {4, 6, 64, 3, 3 + 4}, {2, 6, 64, 3, 3 + 2},
      {2, 60, 64, 8, 8 + 2}, /* 4 k-blocks per tile */
      {2, 60, 16, 2, 0},     {7, 0, 64, 7, 0},     {7, 1, 64, 1, 0},
  };
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    hd_launch_plan p = streamed(cases[i].tiles, cases[i].resident, cases[i].k);
    assert_int_equal(p.grid_x, cases[i].workers * 2);
    assert_int_equal(p.workspace_bytes, cases[i].slots * 2 * 65536);
  }
}

/* What a kernel counts for the tiles that the groups turn out to have (stage_units.c). */
static uint64_t slots_of(uint64_t tiles, uint64_t workers) {
  uint64_t whole = tiles < workers ? 0 : tiles / workers - 1; /* waves */
  return tiles % workers == 0 ? 0 : workers + tiles - whole * workers;
}

/* The slots suffice for every number of tiles up to the maximum, and some number needs all. */
static void shared_tiles_of_groups_fit_the_workspace(void **state) {
  (void)state;
  hd_manifest m = sample_streamed_groups();
  m.n_variants = 1;
  for (uint64_t n = 1; n < 700; n += 23)
    for (uint64_t g = 1; g < 40; g += 7)
      for (uint32_t resident = 2; resident < 30; resident += 6) {
        hd_values v = sample_values();
        hd_launch_plan plan;
        v.v[HD_ARG_N] = n;
        v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 704;
        v.v[HD_ARG_K] = v.v[HD_ARG_LDB] = 640;
        v.v[HD_ARG_G] = g;
        assert_int_equal(hd_manifest_plan(NULL, &m, &v, (uint32_t[]){resident, 0, 0, 0}, &plan),
                         HEDDLE_OK);
        uint64_t workers = plan.grid_x / 2, slots = plan.workspace_bytes / 65536 / 2, needed = 0;
        uint64_t most = (n + 63) / 64 + (g < n ? g : n) - 1; /* tiles: a pair of rows by these */
        for (uint64_t tiles = 1; tiles <= most; tiles++)
          needed = slots_of(tiles, workers) > needed ? slots_of(tiles, workers) : needed;
        assert_true(needed <= slots && (workers == 1 || slots <= needed + 1));
      }
}

/* Kernels count workers and the k-blocks of shared tiles in 31 bits. Here 16 tiles have 2^27 - 1
 * k-blocks each, 2^31 - 16 in total. */
static void shared_k_blocks_fit_31_bits(void **state) {
  (void)state;
  const uint64_t k = INT32_MAX - 15;
  hd_manifest m = sample_streamed();
  hd_values v = sample_values();
  hd_launch_plan plan;
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(streamed(16, 2 * 15, k).grid_x, 2 * 15);
  m.n_variants = 1;
  v.v[HD_ARG_M] = 16 * 256;
  v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = 64;
  v.v[HD_ARG_K] = v.v[HD_ARG_LDB] = k;
  assert_int_equal(hd_manifest_plan(ctx, &m, &v, (uint32_t[]){2 * 17, 0, 0, 0}, &plan),
                   HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "launch.grid");
  heddle_context_free(ctx);
}

static void the_workspace_must_be_there_when_needed(void **state) {
  (void)state;
  hd_values v = sample_values();
  hd_manifest m = sample_manifest();
  hd_launch_plan plan;
  uint64_t bytes = 0;
  v.v[HD_ARG_WORKSPACE] = 0;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_OK);
  v.v[HD_ARG_LDB] = 66;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_INVALID);
  for (hd_arg_kind i = HD_ARG_A; i < HD_N_ARG_KINDS; i++)
    if (hd_arg_class_of(i) == HEDDLE_CLASS_PTR)
      v.v[i] = 0;
  assert_int_equal(hd_manifest_workspace(NULL, &m, &v, NULL, &bytes), HEDDLE_OK);
  assert_int_equal(bytes, 12 * 4100);
  /* The maximum of all variants, in any order. */
  hd_variant first = m.variant[0];
  m.variant[0] = m.variant[1];
  m.variant[1] = first;
  assert_int_equal(hd_manifest_workspace(NULL, &m, &v, NULL, &bytes), HEDDLE_OK);
  assert_int_equal(bytes, 12 * 4100);
}

static void a_huge_workspace_is_refused(void **state) {
  (void)state;
  hd_values v = sample_values();
  hd_manifest m = sample_manifest();
  uint64_t bytes = 77;
  m.variant[1].workspace_bytes_per_tile.add = INT64_C(1) << 37; /* 12 tiles: more than 2^40 */
  assert_int_equal(hd_manifest_workspace(NULL, &m, &v, NULL, &bytes), HEDDLE_UNSUPPORTED);
  assert_int_equal(bytes, 77);
}

static void huge_grids_are_refused(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan plan;
  v.v[HD_ARG_M] = 100000;
  v.v[HD_ARG_N] = v.v[HD_ARG_LDC] = v.v[HD_ARG_LDD] = INT32_MAX;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_UNSUPPORTED);
}

static void maps_the_driver_would_refuse_are_refused_here(void **state) {
  (void)state;
  hd_manifest m = sample_manifest();
  hd_values v = sample_values();
  hd_launch_plan plan;
  m.variant[0].n_requirements = 0;
  v.v[HD_ARG_LDB] = 68;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_INVALID);
  v.v[HD_ARG_LDB] = 72;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_OK);
  v.v[HD_ARG_B] += 8;
  assert_int_equal(hd_manifest_plan(NULL, &m, &v, NULL, &plan), HEDDLE_INVALID);
}

static void expressions_round_up(void **state) {
  (void)state;
  hd_values v = {{0}};
  v.v[HD_ARG_K] = 65;
  for (int64_t div = 1; div <= 64; div++) {
    hd_expr e = {HD_ARG_K, 3, 1, div};
    assert_int_equal(hd_expr_eval(&e, &v), (196 + div - 1) / div);
  }
}

/* The index of the bounds selects the same variant as a linear search through the variants. */
static void buckets_are_found_by_their_borders(void **state) {
  (void)state;
  enum { STEP = 3 };
  static hd_manifest m, plain; /* large */
  /* Up to five buckets; a whole block of borders, and one more; all that there can be. */
  static const struct {
    int32_t n, each; /* variants, and of one bucket */
  } cases[] = {{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {9, 2}, {9, 1}, {10, 1},
               {HD_MAX_VARIANTS, 2}, {HD_MAX_VARIANTS - 1, 1}, {HD_MAX_VARIANTS, 1}};
  for (size_t c = 0; c < HD_COUNT(cases); c++) {
    int32_t n = cases[c].n, each = cases[c].each;
    m = sample_manifest();
    hd_variant own = m.variant[0];
    own.n_requirements = 0;
    m.n_variants = n;
    for (int32_t i = 0; i < n; i++) {
      m.variant[i] = own;
      if (i + 1 < n)
        m.variant[i].requirement[m.variant[i].n_requirements++] = (hd_requirement){
            {.arg = HD_ARG_N, .mul = 1, .div = 1}, 1, STEP * (i / each + 1)};
    }
    plain = m;
    hd_manifest_index(&m);
    assert_int_equal(m.bucket_size, n > 1 ? HD_ARG_N : HD_ARG_NONE);
    for (uint64_t size = 1; size <= (uint64_t)(n + 2) * STEP; size++) {
      hd_values x = sample_values(), y = sample_values();
      hd_launch_plan found, looked;
      x.v[HD_ARG_N] = y.v[HD_ARG_N] = size;
      x.v[HD_ARG_LDC] = y.v[HD_ARG_LDC] = x.v[HD_ARG_LDD] = y.v[HD_ARG_LDD] = 512;
      assert_int_equal(hd_manifest_plan(NULL, &m, &x, NULL, &found),
                       hd_manifest_plan(NULL, &plain, &y, NULL, &looked));
      assert_int_equal(found.variant - m.variant, looked.variant - plain.variant);
    }
  }
}

/* No index is built for bounds that decrease, for bounds of two sizes or of a pitch, for two bounds
 * of one variant, for a bound that demands a multiple, or if no variant accepts every size. */
static void other_bounds_have_no_index(void **state) {
  (void)state;
  static hd_manifest m;
  enum { PITCH = 1 << 20 };
  static const int64_t bounds[][3] = {{6, 3, 0}, {3, 6, 9}, {3, 6, -1}, {PITCH, PITCH, 0}};
  for (size_t i = 0; i < HD_COUNT(bounds); i++) {
    m = sample_manifest();
    m.n_variants = 3;
    for (int32_t v = 0; v < 3; v++) {
      int64_t to = bounds[i][v];
      m.variant[v].n_requirements = to != 0;
      m.variant[v].requirement[0] = (hd_requirement){
          {.arg = to < 0 ? HD_ARG_M : to == PITCH ? HD_ARG_LDB : HD_ARG_N, .mul = 1, .div = 1},
          1,
          to < 0 ? 12 : to};
    }
    hd_manifest_index(&m);
    assert_int_equal(m.bucket_size, HD_ARG_NONE);
  }
  /* A variant with two bounds: both hold at a launch. */
  m.variant[0].requirement[0] = (hd_requirement){{.arg = HD_ARG_N, .mul = 1, .div = 1}, 1, 6};
  m.variant[0].requirement[1] = (hd_requirement){{.arg = HD_ARG_M, .mul = 1, .div = 1}, 1, 12};
  m.variant[0].n_requirements = 2;
  m.variant[1].n_requirements = m.variant[2].n_requirements = 0;
  hd_manifest_index(&m);
  assert_int_equal(m.bucket_size, HD_ARG_NONE);
  /* A bound that demands a multiple, too. */
  m.variant[0].n_requirements = 1;
  hd_manifest_index(&m);
  assert_int_equal(m.bucket_size, HD_ARG_N);
  m.variant[0].requirement[0].modulo = 8;
  hd_manifest_index(&m);
  assert_int_equal(m.bucket_size, HD_ARG_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(aligned_values_take_the_first_variant),
      cmocka_unit_test(unaligned_values_fall_to_the_next_variant),
      cmocka_unit_test(a_bucket_ends_at_its_border),
      cmocka_unit_test(buckets_are_found_by_their_borders),
      cmocka_unit_test(other_bounds_have_no_index),
      cmocka_unit_test(persistent_grids_stay_resident_and_whole_clusters),
      cmocka_unit_test(spread_grids_are_whole_clusters),
      cmocka_unit_test(nothing_to_do_is_a_grid_of_zero),
      cmocka_unit_test(fixed_sizes_fill_themselves_in),
      cmocka_unit_test(bad_values_are_named),
      cmocka_unit_test(a_pitch_may_have_a_most),
      cmocka_unit_test(shared_tiles_fill_the_grid),
      cmocka_unit_test(shared_tiles_of_groups_fit_the_workspace),
      cmocka_unit_test(shared_k_blocks_fit_31_bits),
      cmocka_unit_test(the_workspace_must_be_there_when_needed),
      cmocka_unit_test(a_huge_workspace_is_refused),
      cmocka_unit_test(huge_grids_are_refused),
      cmocka_unit_test(maps_the_driver_would_refuse_are_refused_here),
      cmocka_unit_test(expressions_round_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
