/* Pruning against a plain statement of the rule, over all groups of a small alphabet. */
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
  return isnan(v) ? HUGE_VAL : isinf(v) ? 1e300 : v; /* NaN above Inf above the rest */
}

/* The magnitude of unit u of a group. */
static double unit_size(heddle_elem elem, const uint8_t *group, unsigned u) {
  if (heddle_elem_get(elem)->container_bits == 4)
    return size_of(elem, group[u] & 15) + size_of(elem, group[u] >> 4);
  return size_of(elem, hd_elem_get_bits(elem, group, u));
}

/* Takes the largest, first one first, `kept` times. */
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

/* Zeros of both signs, equal magnitudes of both signs, subnormals, the largest, Inf, NaNs. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_of_a_small_alphabet),
      cmocka_unit_test(random_groups_of_raw_bits),
      cmocka_unit_test(nan_payloads_tie),
      cmocka_unit_test(what_is_sparse_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
