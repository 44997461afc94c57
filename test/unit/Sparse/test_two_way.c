/* Compares the choice of a two-way mask with all patterns of a 4 x 4 tile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "sparse_random.h"

enum { SIDE = 4, TILE = SIDE * SIDE, COLUMN = 0x1111, ROW = 0xf };

static const heddle_elem elems[] = {HEDDLE_BF16, HEDDLE_F16, HEDDLE_E4M3, HEDDLE_E5M2, HEDDLE_S8};

static double magnitude(heddle_elem elem, const uint8_t *matrix, size_t at) {
  double v = fabs(hd_elem_to_double(elem, hd_elem_get_bits(elem, matrix, at)));
  return isnan(v) ? HUGE_VAL : v;
}

/* Bit 4r + c of a pattern: the element in row r, column c. */
static bool is_two_way(unsigned pattern) {
  bool two = true;
  for (unsigned i = 0; i < SIDE; i++)
    two = two && __builtin_popcount(pattern & (unsigned)ROW << SIDE * i) == 2 &&
          __builtin_popcount(pattern & (unsigned)COLUMN << i) == 2;
  return two;
}

static double sum_of(const double size[TILE], unsigned pattern) {
  double sum = 0;
  for (unsigned i = 0; i < TILE; i++)
    if (pattern >> i & 1)
      sum += size[i];
  return sum;
}

static double largest_sum(const double size[TILE]) {
  double most = 0;
  for (unsigned pattern = 0; pattern < 1u << TILE; pattern++)
    if (is_two_way(pattern))
      most = fmax(most, sum_of(size, pattern));
  return most;
}

/* The pattern of the tile in a mask with k columns. */
static unsigned pattern_of(const uint8_t *mask, uint64_t k) {
  unsigned pattern = 0;
  for (unsigned i = 0; i < TILE; i++) {
    assert_true(mask[i / SIDE * k + i % SIDE] <= 1);
    pattern |= (unsigned)mask[i / SIDE * k + i % SIDE] << i;
  }
  return pattern;
}

typedef struct matrix {
  heddle_elem elem;
  uint64_t m, k;
  size_t row_bytes;
  uint8_t *before, *after, *mask;
} matrix;

/* Sums of f32 may choose another pattern than sums of double, if the two differ by a rounding. */
static void check_tile(const matrix *x, uint64_t row, uint64_t column) {
  const double rounding = 4 * ldexp(1, -24);
  double size[TILE];
  unsigned pattern = pattern_of(x->mask + row * x->k + column, x->k);
  for (unsigned i = 0; i < TILE; i++) {
    const uint8_t *from = x->before + (row + i / SIDE) * x->row_bytes,
                  *to = x->after + (row + i / SIDE) * x->row_bytes;
    size_t at = column + i % SIDE;
    size[i] = magnitude(x->elem, from, at);
    uint32_t bits = hd_elem_get_bits(x->elem, from, at);
    assert_int_equal(hd_elem_get_bits(x->elem, to, at), pattern >> i & 1 ? bits : 0);
  }
  assert_true(is_two_way(pattern));
  double most = largest_sum(size);
  if (isinf(most))
    assert_true(isinf(sum_of(size, pattern)));
  else
    assert_true(sum_of(size, pattern) >= most * (1 - rounding));
}

static void check_matrix(matrix *x) {
  size_t n_bytes = x->m * x->row_bytes;
  x->after = hd_xmalloc(n_bytes);
  x->mask = hd_xmalloc(x->m * x->k);
  memcpy(x->after, x->before, n_bytes);
  memset(x->mask, 0xee, x->m * x->k);
  assert_int_equal(heddle_sparse_prune_two_way(NULL, x->elem, x->m, x->k, x->after, x->row_bytes,
                                               x->mask),
                   HEDDLE_OK);
  for (uint64_t i = 0; i < x->m; i += SIDE)
    for (uint64_t j = 0; j < x->k; j += SIDE)
      check_tile(x, i, j);
  free(x->after);
  free(x->mask);
}

static void random_bits_keep_the_most(void **state) {
  (void)state;
  uint64_t seed = 41;
  for (size_t e = 0; e < HD_COUNT(elems); e++) {
    matrix x = {.elem = elems[e], .m = 8, .k = 20};
    x.row_bytes = x.k * heddle_elem_get(x.elem)->container_bits / 8 + 3;
    x.before = hd_xmalloc(x.m * x.row_bytes);
    fill_random(&seed, x.before, x.m * x.row_bytes);
    check_matrix(&x);
    free(x.before);
  }
}

/* Few different magnitudes: many equal sums, and the sums are exact. */
static void equal_sums_keep_the_most(void **state) {
  (void)state;
  static const double alphabet[] = {0, -0.0, 1, -1, 2, 3, INFINITY, NAN};
  uint64_t seed = 43;
  for (unsigned n = 3; n <= HD_COUNT(alphabet); n++) {
    enum { M = 8, K = 32 };
    uint16_t dense[M * K];
    matrix x = {.elem = HEDDLE_BF16, .m = M, .k = K, .row_bytes = K * 2};
    x.before = (uint8_t *)dense;
    uint8_t dice[M * K];
    fill_random(&seed, dice, sizeof dice);
    for (size_t i = 0; i < M * K; i++)
      hd_elem_store(x.elem, dense, i, alphabet[dice[i] % n]);
    check_matrix(&x);
  }
}

/* What is 2:4 both ways stays, with its zeros. */
static void a_two_way_matrix_stays(void **state) {
  (void)state;
  for (unsigned pattern = 0; pattern < 1u << TILE; pattern++) {
    uint8_t before[TILE], after[TILE], mask[TILE];
    if (!is_two_way(pattern))
      continue;
    for (unsigned i = 0; i < TILE; i++)
      after[i] = before[i] = pattern >> i & 1 ? (uint8_t)(1 + i) : 0;
    assert_int_equal(heddle_sparse_prune_two_way(NULL, HEDDLE_S8, SIDE, SIDE, after, SIDE, mask),
                     HEDDLE_OK);
    assert_memory_equal(after, before, TILE);
    assert_int_equal(pattern_of(mask, SIDE), pattern);
  }
}

static void refuse(heddle_elem elem, uint64_t m, uint64_t k, heddle_status status,
                   const char *rule, const char *words) {
  uint64_t dense[64] = {0};
  heddle_context *ctx = heddle_context_create();
  size_t row_bytes = k * heddle_elem_get(elem)->container_bits / 8;
  assert_int_equal(heddle_sparse_prune_two_way(ctx, elem, m, k, dense, row_bytes, NULL), status);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, words));
  heddle_context_free(ctx);
}

static void others_are_refused(void **state) {
  (void)state;
  refuse(HEDDLE_BF16, 6, 4, HEDDLE_INVALID, "sparse.two-way", "nearest: 8");
  refuse(HEDDLE_BF16, 4, 6, HEDDLE_INVALID, "sparse.k-group", "nearest: 8");
  refuse(HEDDLE_TF32, 4, 4, HEDDLE_UNSUPPORTED, "sparse.two-way", "nearest: bf16");
  refuse(HEDDLE_S4, 4, 8, HEDDLE_UNSUPPORTED, "sparse.two-way", "got s4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_bits_keep_the_most), cmocka_unit_test(equal_sums_keep_the_most),
      cmocka_unit_test(a_two_way_matrix_stays), cmocka_unit_test(others_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
