/* Compares pruning with a direct implementation of the rule, for all groups of a small alphabet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "sparse_random.h"

static double size_of(heddle_elem elem, uint32_t bits) {
  double v = fabs(hd_elem_to_double(elem, bits));
  return isnan(v) ? HUGE_VAL : isinf(v) ? 1e300 : v; /* NaN is above Inf, Inf above all others */
}

/* The magnitude of unit u of a group. */
static double unit_size(heddle_elem elem, const uint8_t *group, unsigned u) {
  if (heddle_elem_get(elem)->container_bits == 4)
    return size_of(elem, group[u] & 15) + size_of(elem, group[u] >> 4);
  return size_of(elem, hd_elem_get_bits(elem, group, u));
}

/* Selects the largest unit `kept` times; of equal units the first one. */
static unsigned expected_places(heddle_elem elem, const uint8_t *group) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
  unsigned places = 0;
  for (unsigned n = 0; n < rule->kept; n++) {
    int best = -1;
    for (unsigned u = 0; u < rule->n_units; u++)
      if (!(places >> u & 1) &&
          (best < 0 || unit_size(elem, group, u) > unit_size(elem, group, (unsigned)best)))
        best = (int)u;
    places |= 1u << best;
  }
  return places;
}

static void check_group(heddle_elem elem, const uint8_t *group) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
  uint8_t pruned[16], expected[16] = {0}, values[8], code;
  unsigned n_bytes = (unsigned)rule->unit_bytes * rule->n_units;
  unsigned places = expected_places(elem, group);
  memcpy(pruned, group, n_bytes);
  for (unsigned u = 0; u < rule->n_units; u++)
    if (places >> u & 1)
      memcpy(expected + u * rule->unit_bytes, group + u * rule->unit_bytes, rule->unit_bytes);
  uint64_t k = heddle_elem_get(elem)->group;
  assert_int_equal(heddle_sparse_prune(NULL, elem, 1, k, pruned, n_bytes), HEDDLE_OK);
  assert_memory_equal(pruned, expected, n_bytes);
  assert_int_equal(heddle_sparse_compress(NULL, elem, 1, k, pruned, n_bytes, values, &code),
                   HEDDLE_OK);
}

/* Zeros of both signs, equal magnitudes of both signs, subnormals, the largest values, Inf and
 * NaNs. */
static const double alphabet[] = {0, -0.0, 1, -1, 2, -7, 1e-7, 1e9, -INFINITY, INFINITY, NAN};

static void groups_of_a_small_alphabet(void **state) {
  (void)state;
  enum { N = HD_COUNT(alphabet) };
  FOR_SPARSE_ELEMS(elem) {
    const heddle_elem_info *info = heddle_elem_get(elem);
    unsigned n_units = hd_sparse_rule_get(elem)->n_units, per_unit = info->group / n_units;
    unsigned n_cases = n_units == 2 ? N * N : N * N * N * N;
    for (unsigned c = 0; c < n_cases; c++) {
      uint8_t group[16] = {0};
      for (unsigned u = 0, rest = c; u < n_units; u++, rest /= N)
        for (unsigned e = 0; e < per_unit; e++)
          hd_elem_store(elem, group, u * per_unit + e, e ? (double)(c % 3) : alphabet[rest % N]);
      check_group(elem, group);
    }
  }
}

static void random_groups_of_raw_bits(void **state) {
  (void)state;
  uint64_t seed = 17;
  FOR_SPARSE_ELEMS(elem) {
    for (int i = 0; i < 20000; i++) {
      uint8_t group[16];
      fill_random(&seed, group, sizeof group);
      check_group(elem, group);
    }
  }
}

static void nan_payloads_tie(void **state) {
  (void)state;
  uint16_t row[4] = {0x7c01, 0x7fff, 0x7c02, 0x7c00};
  const uint16_t expected[4] = {0x7c01, 0x7fff, 0, 0};
  assert_int_equal(heddle_sparse_prune(NULL, HEDDLE_F16, 1, 4, row, 8), HEDDLE_OK);
  assert_memory_equal(row, expected, 8);
  uint8_t narrow[4] = {0x7d, 0xfe, 0x7f, 0x7c};
  const uint8_t narrow_expected[4] = {0x7d, 0xfe, 0, 0};
  assert_int_equal(heddle_sparse_prune(NULL, HEDDLE_E5M2, 1, 4, narrow, 4), HEDDLE_OK);
  assert_memory_equal(narrow, narrow_expected, 4);
}

static void what_is_sparse_stays(void **state) {
  (void)state;
  uint64_t seed = 5;
  FOR_SPARSE_ELEMS(elem) {
    enum { ROWS = 16, BYTES = 256 };
    uint8_t matrix[ROWS * BYTES], pruned[ROWS * BYTES];
    fill_sparse(&seed, elem, matrix, sizeof matrix);
    memcpy(pruned, matrix, sizeof matrix);
    uint64_t k = BYTES * 8 / heddle_elem_get(elem)->container_bits;
    assert_int_equal(heddle_sparse_prune(NULL, elem, ROWS, k, pruned, BYTES), HEDDLE_OK);
    assert_memory_equal(pruned, matrix, sizeof matrix);
  }
}

/* ---- prune and pack in one pass ---- */

/* The two separate passes, which the tests of the formats verify. */
static uint8_t *two_passes(heddle_elem elem, heddle_family family, uint64_t m, uint64_t k,
                           const uint8_t *dense, size_t row_bytes, size_t n_bytes) {
  uint8_t *copy = hd_xmalloc(m * row_bytes), *payload = hd_xmalloc(n_bytes);
  memcpy(copy, dense, m * row_bytes);
  assert_int_equal(heddle_sparse_prune(NULL, elem, m, k, copy, row_bytes), HEDDLE_OK);
  assert_int_equal(heddle_sparse_pack_dense(NULL, elem, family, m, k, copy, row_bytes, payload),
                   HEDDLE_OK);
  free(copy);
  return payload;
}

static void check_one_pass(heddle_elem elem, heddle_family family, uint64_t m, uint64_t k,
                           const uint8_t *dense, size_t row_bytes) {
  size_t n_bytes;
  heddle_prune_pack_options options = {.n_threads = 3};
  assert_int_equal(heddle_sparse_packed_bytes(NULL, elem, family, m, k, &n_bytes), HEDDLE_OK);
  uint8_t *want = two_passes(elem, family, m, k, dense, row_bytes, n_bytes);
  uint8_t *got = hd_xmalloc(n_bytes);
  for (int threaded = 0; threaded < 2; threaded++) {
    memset(got, 0xee, n_bytes);
    assert_int_equal(heddle_sparse_prune_pack(NULL, elem, family, m, k, dense, row_bytes,
                                              threaded ? &options : NULL, got),
                     HEDDLE_OK);
    assert_memory_equal(got, want, n_bytes);
  }
  free(got);
  free(want);
}

static void one_pass_is_two(void **state) {
  (void)state;
  static const uint64_t sizes[][2] = {{1, 1}, {64, 8}, {65, 33}, {130, 70}, {3, 129}};
  uint64_t seed = 5;
  FOR_SPARSE_ELEMS(elem)
    for (size_t i = 0; i < HD_COUNT(sizes); i++) {
      size_t row_bytes;
      uint64_t m = sizes[i][0], k = sizes[i][1] * heddle_elem_get(elem)->group;
      assert_int_equal(heddle_sparse_dense_row_bytes(NULL, elem, k, &row_bytes), HEDDLE_OK);
      row_bytes += 3 * (i % 2); /* a pitch, and misaligned rows */
      uint8_t *dense = hd_xmalloc(m * row_bytes);
      fill_random(&seed, dense, m * row_bytes);
      check_one_pass(elem, HEDDLE_FAMILY_MMA, m, k, dense, row_bytes);
      free(dense);
    }
}

/* Every group of a small alphabet: ties, zeros of both signs and NaNs. */
static void one_pass_of_a_small_alphabet(void **state) {
  (void)state;
  enum { N = HD_COUNT(alphabet), GROUPS = N * N * N * N };
  static const heddle_elem elems[] = {HEDDLE_F16, HEDDLE_BF16, HEDDLE_E4M3, HEDDLE_E5M2, HEDDLE_S8};
  for (size_t e = 0; e < HD_COUNT(elems); e++) {
    unsigned bytes = heddle_elem_get(elems[e])->container_bits / 8u;
    uint8_t *dense = hd_xmalloc((size_t)GROUPS * 4 * bytes);
    for (unsigned g = 0; g < GROUPS; g++)
      for (unsigned u = 0, left = g; u < 4; u++, left /= N)
        hd_elem_store(elems[e], dense, 4 * (size_t)g + u, alphabet[left % N]);
    check_one_pass(elems[e], HEDDLE_FAMILY_WGMMA, 1, 4 * (uint64_t)GROUPS, dense,
                   (size_t)GROUPS * 4 * bytes);
    free(dense);
  }
}

static bool stop_behind(void *user, uint64_t rows_done) {
  uint64_t *most = user;
  *most = rows_done > *most ? rows_done : *most;
  return rows_done < 128;
}

static void progress_is_told_and_stops(void **state) {
  (void)state;
  enum { M = 500, K = 64 };
  static uint16_t dense[M][K];
  uint64_t most = 0;
  size_t n_bytes;
  heddle_context *ctx = heddle_context_create();
  heddle_prune_pack_options options = {.progress = stop_behind, .user = &most};
  assert_int_equal(heddle_sparse_packed_bytes(NULL, HEDDLE_BF16, HEDDLE_FAMILY_WGMMA, M, K,
                                              &n_bytes),
                   HEDDLE_OK);
  uint8_t *payload = hd_xmalloc(n_bytes);
  assert_int_equal(heddle_sparse_prune_pack(ctx, HEDDLE_BF16, HEDDLE_FAMILY_WGMMA, M, K, dense,
                                            sizeof dense[0], &options, payload),
                   HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "sparse.stopped");
  assert_int_equal(most, 128);
  assert_int_equal(heddle_sparse_prune_pack(ctx, HEDDLE_BF16, HEDDLE_FAMILY_WGMMA, 1ull << 38, 4,
                                            dense, 8, NULL, payload),
                   HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 1)->rule, "sparse.rows");
  free(payload);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_of_a_small_alphabet),
      cmocka_unit_test(random_groups_of_raw_bits),
      cmocka_unit_test(nan_payloads_tie),
      cmocka_unit_test(what_is_sparse_stays),
      cmocka_unit_test(one_pass_is_two),
      cmocka_unit_test(one_pass_of_a_small_alphabet),
      cmocka_unit_test(progress_is_told_and_stops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
