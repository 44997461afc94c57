/* The operand generator: exactness, range and reproducibility. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Support/arena.h"
#include "Support/convert.h"
#include "heddle/sparse.h"

enum { ROWS = 32, COLS = 64 };

static void exact_values_are_small_integers(void **state) {
  (void)state;
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    unsigned limit = (unsigned)fmin(8, hd_elem_exact_integers(elem));
    if (!limit)
      continue;
    uint8_t data[ROWS * COLS * 4];
    unsigned seen = 0, negative = 0;
    hd_fill fill = {.seed = 1, .limit = limit};
    hd_fill_dense(&fill, elem, ROWS, COLS, data, COLS);
    for (size_t i = 0; i < ROWS * COLS; i++) {
      double x = hd_elem_load(elem, data, i);
      assert_true(x == floor(x) && x != 0 && fabs(x) <= limit);
      seen |= 1u << (unsigned)fabs(x);
      negative += x < 0;
    }
    assert_int_equal(seen, (2u << limit) - 2);
    assert_true(!hd_elem_has_sign(elem) ||
                (negative > ROWS * COLS / 3 && negative < ROWS * COLS * 2 / 3));
  }
}

/* A seventh of the elements keep their value, the others are +0. */
static void a_thinned_operand_is_mostly_zeros(void **state) {
  (void)state;
  uint8_t all[ROWS * COLS], some[ROWS * COLS];
  hd_fill fill = {.seed = 1, .limit = 2};
  hd_fill_dense(&fill, HEDDLE_U8, ROWS, COLS, all, COLS);
  fill.one_in = 7;
  hd_fill_dense(&fill, HEDDLE_U8, ROWS, COLS, some, COLS);
  int kept = 0;
  for (size_t i = 0; i < ROWS * COLS; i++) {
    assert_true(some[i] == 0 || some[i] == all[i]);
    kept += some[i] != 0;
  }
  assert_true(kept > ROWS * COLS / 9 && kept < ROWS * COLS / 5);
}

static void random_values_have_mean_0_and_variance_1(void **state) {
  (void)state;
  enum { N = 1 << 16 };
  hd_fill fill = {.seed = 2};
  float *data = hd_xmalloc(N * sizeof *data);
  double sum = 0, squares = 0;
  hd_fill_dense(&fill, HEDDLE_F32, 1, N, data, N);
  for (int i = 0; i < N; i++) {
    sum += data[i];
    squares += data[i] * data[i];
  }
  assert_true(fabs(sum / N) < 0.02 && fabs(squares / N - 1) < 0.02);
  free(data);
}

/* All patterns occur, and groups with zero, one and two non-zeros. The matrix can be compressed. */
static void sparse_operands_reach_every_pattern(void **state) {
  (void)state;
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    if (!heddle_elem_get(elem)->group)
      continue;
    uint8_t dense[ROWS * COLS * 4], values[ROWS * COLS * 2], codes[ROWS * COLS / 4];
    hd_fill fill = {.seed = 3, .limit = 1};
    hd_fill_sparse(&fill, elem, ROWS, COLS, dense, COLS);
    assert_int_equal(heddle_sparse_compress(NULL, elem, ROWS, COLS, dense,
                                            hd_elem_bytes(elem, COLS), values, codes),
                     HEDDLE_OK);
    unsigned seen = 0, zeros = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLS / heddle_elem_get(elem)->group / 2; i++)
      seen |= 1u << (codes[i] & 15) | 1u << (codes[i] >> 4);
    for (size_t i = 0; i < ROWS * COLS / 2; i++)
      zeros += hd_elem_load(elem, values, i) == 0;
    assert_int_equal(seen, elem == HEDDLE_TF32 ? 0x4010 : 0x7310);
    assert_true(zeros > 0 && zeros < ROWS * COLS / 4);
  }
}

static void block_scales_are_numbers(void **state) {
  (void)state;
  enum { LINES = 40, BLOCKS = 9 };
  static const heddle_elem elems[] = {HEDDLE_UE8M0, HEDDLE_UE4M3, HEDDLE_F32};
  for (size_t e = 0; e < HD_COUNT(elems); e++)
    for (unsigned limit = 0; limit < 2; limit++) {
      size_t bytes = heddle_elem_get(elems[e])->container_bits / 8;
      float store[LINES * BLOCKS], some[4 * BLOCKS];
      uint8_t *scales = (uint8_t *)store, *part = (uint8_t *)some;
      hd_fill fill = {.seed = 3, .limit = limit},
              later = {.seed = 3, .limit = limit, .first_row = 7};
      double least = INFINITY, most = 0;
      hd_fill_scales(&fill, elems[e], LINES, BLOCKS, scales);
      hd_fill_scales(&later, elems[e], 4, BLOCKS, part);
      assert_memory_equal(part, scales + 7 * BLOCKS * bytes, 4 * BLOCKS * bytes);
      for (size_t i = 0; i < HD_COUNT(store); i++) {
        double x = hd_elem_load(elems[e], scales, i);
        least = fmin(least, x);
        most = fmax(most, x);
      }
      bool whole = elems[e] != HEDDLE_F32; /* f32: a fraction of 0 is too rare (1 in 2^23) */
      assert_true(limit ? least == 1 : whole ? least == 0.125 : least >= 0.125 && least < 0.2);
      assert_true(limit ? most == 2 : most >= 8 && most < 16);
    }
}

static void a_larger_matrix_begins_with_the_smaller(void **state) {
  (void)state;
  hd_fill fill = {.seed = 4};
  uint16_t small[4 * 8], large[6 * 16];
  hd_fill_sparse(&fill, HEDDLE_BF16, 4, 8, small, 8);
  hd_fill_sparse(&fill, HEDDLE_BF16, 6, 16, large, 16);
  for (int i = 0; i < 4; i++)
    assert_memory_equal(small + 8 * i, large + 16 * i, 16);
  fill.seed = 5;
  hd_fill_sparse(&fill, HEDDLE_BF16, 4, 8, small, 8);
  assert_memory_not_equal(small, large, 16);
}

static void limits_keep_every_sum_exact(void **state) {
  (void)state;
  unsigned a = 0, b = 0;
  for (uint64_t k = 4; k <= 3968; k += 4) {
    assert_int_equal(hd_exact_limits(NULL, HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, k, &a, &b),
                     HEDDLE_OK);
    assert_true(k / 2 * a * b + 64 <= 2048);
  }
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_exact_limits(ctx, HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, 3972, &a, &b),
                   HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "reference.exact");
  heddle_context_free(ctx);
  assert_int_equal(hd_exact_limits(NULL, HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32, 8192, &a, &b),
                   HEDDLE_OK);
  assert_true(a == 8 && b == 8);
  assert_int_equal(hd_exact_limits(NULL, HEDDLE_E2M1, HEDDLE_S4, HEDDLE_F32, 64, &a, &b),
                   HEDDLE_OK);
  assert_true(a == 4 && b == 7);
  assert_int_equal(hd_exact_limits(NULL, HEDDLE_S8, HEDDLE_S8, HEDDLE_S32, UINT64_MAX, &a, &b),
                   HEDDLE_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_values_are_small_integers),
      cmocka_unit_test(a_thinned_operand_is_mostly_zeros),
      cmocka_unit_test(random_values_have_mean_0_and_variance_1),
      cmocka_unit_test(sparse_operands_reach_every_pattern),
      cmocka_unit_test(block_scales_are_numbers),
      cmocka_unit_test(a_larger_matrix_begins_with_the_smaller),
      cmocka_unit_test(limits_keep_every_sum_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
