/* Compares the product with a plain triple loop, and tests the comparison with injected faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference_compare.h"
#include "Support/arena.h"
#include "Support/convert.h"
#include "heddle/sparse.h"

typedef struct problem {
  hd_reference r;
  void *a, *b, *c, *bias, *values, *codes;
} problem;

static void *filled(uint64_t seed, heddle_elem elem, uint64_t rows, uint64_t cols,
                    uint64_t stride) {
  hd_fill fill = {.seed = seed, .limit = 3};
  void *data = hd_xmalloc(hd_elem_bytes(elem, (size_t)(rows * stride)));
  hd_fill_dense(&fill, elem, rows, cols, data, stride);
  return data;
}

static problem make(heddle_elem elem, uint64_t m, uint64_t n, uint64_t k, bool mn_major) {
  problem p = {.r = {.m = m, .n = n, .k = k, .alpha = 2, .beta = -1}};
  hd_fill fill = {.seed = 11 + elem, .limit = 3};
  heddle_sparse_info info;
  size_t row_bytes = hd_elem_bytes(elem, (size_t)k);
  uint64_t ldb = (mn_major ? n : k) + 6 + (mn_major ? n % 2 : 0);
  p.a = hd_xmalloc(m * row_bytes);
  hd_fill_sparse(&fill, elem, m, k, p.a, k);
  p.b = mn_major ? filled(3, elem, k, n, ldb) : filled(3, elem, n, k, ldb);
  p.c = filled(5, HEDDLE_F32, m, n, n + 1);
  p.bias = filled(7, HEDDLE_F16, 1, m + n, m + n);
  heddle_sparse_plan(NULL, HEDDLE_SPARSE_CANONICAL, elem, 0, m, k, &info);
  p.values = hd_xmalloc(info.values_bytes);
  p.codes = hd_xmalloc(info.codes_bytes);
  assert_int_equal(heddle_sparse_compress(NULL, elem, m, k, p.a, row_bytes, p.values, p.codes),
                   HEDDLE_OK);
  p.r.a = (hd_matrix){p.a, elem, k, 1};
  p.r.b = mn_major ? (hd_matrix){p.b, elem, ldb, 1} : (hd_matrix){p.b, elem, 1, ldb};
  p.r.c = (hd_matrix){p.c, HEDDLE_F32, n + 1, 1};
  p.r.bias = (hd_matrix){p.bias, HEDDLE_F16, 1, 1};
  return p;
}

static void release(problem *p) {
  free(p->a);
  free(p->b);
  free(p->c);
  free(p->bias);
  free(p->values);
  free(p->codes);
}

static double at(const hd_matrix *x, uint64_t i, uint64_t j) {
  return hd_elem_load(x->elem, x->data, (size_t)(i * x->row_stride + j * x->col_stride));
}

static double naive(const hd_reference *r, uint64_t i, uint64_t j) {
  double sum = 0;
  for (uint64_t k = 0; k < r->k; k++) {
    double a = r->block_a.data ? at(&r->block_a, i, k / r->block) : 1;
    double b = r->block_b.data ? at(&r->block_b, j, k / r->block) : 1;
    sum += at(&r->a, i, k) * a * at(&r->b, k, j) * b;
  }
  if (r->scale_a.data)
    sum *= at(&r->scale_a, i, 0);
  if (r->scale_b.data)
    sum *= at(&r->scale_b, j, 0);
  sum *= r->alpha;
  if (r->c.data)
    sum += r->beta * at(&r->c, i, j);
  if (r->bias.data)
    sum += at(&r->bias, r->bias_along_n ? j : i, 0);
  return hd_act_apply(r->act, sum);
}

static void compare_with_naive(const hd_reference *r) {
  double *out = hd_xmalloc(r->m * r->n * sizeof *out);
  assert_int_equal(hd_reference_rows(NULL, r, NULL, r->m, out), HEDDLE_OK);
  for (uint64_t i = 0; i < r->m; i++)
    for (uint64_t j = 0; j < r->n; j++)
      assert_true(out[i * r->n + j] == naive(r, i, j));
  uint64_t rows[3];
  size_t n_rows = hd_reference_sample_rows(1, r->m, 3, rows);
  double *some = hd_xmalloc(n_rows * r->n * sizeof *some);
  assert_int_equal(hd_reference_rows(NULL, r, rows, n_rows, some), HEDDLE_OK);
  for (size_t i = 0; i < n_rows; i++)
    assert_memory_equal(some + i * r->n, out + rows[i] * r->n, r->n * sizeof *some);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_reference_rows(ctx, r, &r->m, 1, some), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "reference.row");
  heddle_context_free(ctx);
  free(some);
  free(out);
}

/* A as values and codes gives the same bits as A as a dense matrix. */
static void compare_with_canonical(const problem *p) {
  hd_reference r = p->r;
  size_t n_bytes = r.m * r.n * sizeof(double);
  double *dense = hd_xmalloc(n_bytes), *canonical = hd_xmalloc(n_bytes);
  assert_int_equal(hd_reference_rows(NULL, &r, NULL, r.m, dense), HEDDLE_OK);
  r.a.data = NULL;
  r.values = p->values;
  r.codes = p->codes;
  assert_int_equal(hd_reference_rows(NULL, &r, NULL, r.m, canonical), HEDDLE_OK);
  assert_memory_equal(dense, canonical, n_bytes);
  free(canonical);
  free(dense);
}

static void product_equals_a_plain_loop(void **state) {
  (void)state;
  static const uint64_t sizes[][3] = {{1, 1, 8}, {5, 17, 136}, {3, 130, 264}, {9, 257, 24}};
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    if (!heddle_elem_get(elem)->group)
      continue;
    for (size_t s = 0; s < HD_COUNT(sizes); s++)
      for (int form = 0; form < 4; form++) {
        problem p = make(elem, sizes[s][0], sizes[s][1], sizes[s][2], form & 1);
        p.r.bias_along_n = form >> 1;
        p.r.act = form == 3 ? HD_ACT_RELU : HD_ACT_NONE;
        compare_with_naive(&p.r);
        compare_with_canonical(&p);
        release(&p);
      }
  }
}

static void product_without_c_and_bias(void **state) {
  (void)state;
  problem p = make(HEDDLE_BF16, 4, 5, 16, false);
  p.r.c.data = NULL;
  p.r.bias.data = NULL;
  compare_with_naive(&p.r);
  release(&p);
}

static void scales_are_by_row_and_by_column(void **state) {
  (void)state;
  problem p = make(HEDDLE_BF16, 4, 5, 16, false);
  float rows[] = {1, -2, 0.5f, 4}, cols[] = {3, 1, -1, 2, 0.25f};
  for (int form = 0; form < 3; form++) {
    p.r.scale_a = form == 1 ? (hd_matrix){0} : (hd_matrix){rows, HEDDLE_F32, 1, 1};
    p.r.scale_b = (hd_matrix){cols, HEDDLE_F32, form == 2 ? 0 : 1, 1};
    compare_with_naive(&p.r);
  }
  release(&p);
}

/* The scales are powers of two, so the order of the multiplications does not matter. */
static void block_scales_are_by_row_column_and_block(void **state) {
  (void)state;
  static const uint64_t sizes[][3] = {{1, 1, 8}, {5, 17, 136}, {3, 130, 264}};
  for (size_t s = 0; s < HD_COUNT(sizes); s++)
    for (unsigned block = 32; block <= 64; block *= 2) {
      problem p = make(block == 32 ? HEDDLE_E2M1P : HEDDLE_E4M3, sizes[s][0], sizes[s][1],
                       sizes[s][2], false);
      uint64_t blocks = (p.r.k + block - 1) / block;
      void *scales[] = {hd_xmalloc(p.r.m * blocks), hd_xmalloc(p.r.n * blocks)};
      hd_fill_scales(&(hd_fill){.seed = 5}, HEDDLE_UE8M0, p.r.m, blocks, scales[0]);
      hd_fill_scales(&(hd_fill){.seed = 6}, HEDDLE_UE8M0, p.r.n, blocks, scales[1]);
      p.r.block = block;
      p.r.block_a = (hd_matrix){scales[0], HEDDLE_UE8M0, blocks, 1};
      compare_with_naive(&p.r);
      p.r.block_b = (hd_matrix){scales[1], HEDDLE_UE8M0, blocks, 1};
      compare_with_naive(&p.r);
      compare_with_canonical(&p);
      free(scales[0]);
      free(scales[1]);
      release(&p);
    }
}

/* Rows of A may share a scale. The result is the same as with one scale for each row. */
static void block_scales_may_be_shared_by_rows(void **state) {
  (void)state;
  enum { M = 300, N = 5, K = 264, ROWS = 128, BLOCKS = 3, SHARES = 3 };
  problem p = make(HEDDLE_E4M3, M, N, K, false);
  float shared[SHARES * BLOCKS], each[M * BLOCKS];
  double *expected = hd_xmalloc(sizeof *expected * M * N), *got = hd_xmalloc(sizeof *got * M * N);
  hd_fill_scales(&(hd_fill){.seed = 5}, HEDDLE_F32, SHARES, BLOCKS, shared);
  for (int i = 0; i < M * BLOCKS; i++)
    each[i] = shared[i / BLOCKS / ROWS * BLOCKS + i % BLOCKS];
  p.r.block = 128;
  p.r.block_a = (hd_matrix){each, HEDDLE_F32, BLOCKS, 1};
  assert_int_equal(hd_reference_rows(NULL, &p.r, NULL, M, expected), HEDDLE_OK);
  p.r.block_a.data = shared;
  p.r.block_rows = ROWS;
  assert_int_equal(hd_reference_rows(NULL, &p.r, NULL, M, got), HEDDLE_OK);
  assert_memory_equal(got, expected, sizeof *got * M * N);
  free(expected);
  free(got);
  release(&p);
}

/* The bound is tighter than without promotion, and the difference grows with k. */
static void promotion_tightens_the_bound(void **state) {
  (void)state;
  for (uint64_t k = 128; k <= 16384; k *= 2) {
    double promoted = hd_promoted_bound(HEDDLE_F32, k);
    double plain = hd_error_bound(HEDDLE_F32, HEDDLE_E4M3, HEDDLE_F32, k);
    assert_true(k == 128 ? promoted < 1.01 * plain : promoted < 0.75 * plain);
    assert_true(promoted > plain / (double)k * 64);
  }
}

static void row_past_the_end_is_refused(void **state) {
  (void)state;
  problem p = make(HEDDLE_BF16, 4, 5, 16, false);
  uint64_t row = 4;
  double out[5];
  assert_int_equal(hd_reference_rows(NULL, &p.r, &row, 1, out), HEDDLE_INVALID);
  release(&p);
}

static void sampled_rows_are_distinct(void **state) {
  (void)state;
  uint64_t rows[64];
  for (uint64_t m = 1; m < 200; m += 3)
    for (size_t wanted = 1; wanted <= 64; wanted *= 2) {
      size_t n = hd_reference_sample_rows(m, m, wanted, rows);
      assert_int_equal(n, wanted < m ? wanted : m);
      assert_int_equal(rows[0], 0);
      if (n > 1)
        assert_int_equal(rows[n - 1], m - 1);
      for (size_t i = 1; i < n; i++)
        assert_true(rows[i] > rows[i - 1]);
    }
}

static void near(double got, double expected) {
  assert_true(fabs(got - expected) <= 1e-12 * (1 + fabs(expected)));
}

/* Expected values were computed from the definitions, with 30 digits, by another program. */
static void activations(void **state) {
  (void)state;
  hd_act act;
  near(hd_act_apply(HD_ACT_GELU, 1), 0.841344746068542948585);
  near(hd_act_apply(HD_ACT_GELU, -3), -0.00404969409489031);
  near(hd_act_apply(HD_ACT_GELU_TANH, 1), 0.841191990607477);
  near(hd_act_apply(HD_ACT_SILU, 2), 1.76159415595576488812);
  near(hd_act_apply(HD_ACT_SILU, -800), 0);
  assert_true(hd_act_apply(HD_ACT_RELU, -2) == 0 && hd_act_apply(HD_ACT_RELU, 2) == 2);
  for (act = HD_ACT_NONE; act <= HD_ACT_SILU; act++)
    assert_true(isnan(hd_act_apply(act, NAN)));
  assert_int_equal(hd_act_parse("gelu_tanh", &act), HEDDLE_OK);
  assert_int_equal(act, HD_ACT_GELU_TANH);
  assert_int_equal(hd_act_parse("swish", &act), HEDDLE_NOT_FOUND);
}

/* ---- comparison ---- */

enum { M = 6, N = 40 };

static void round_all(const double *expected, heddle_elem elem, void *d) {
  for (size_t i = 0; i < M * N; i++)
    hd_elem_store(elem, d, i, expected[i]);
}

static void exact_sees_one_bit(void **state) {
  (void)state;
  double expected[M * N];
  uint16_t d[M * N];
  hd_matrix dm = {d, HEDDLE_BF16, N, 1};
  for (int i = 0; i < M * N; i++)
    expected[i] = 1000.25 * (i - 100);
  expected[9] = NAN;
  expected[10] = 1e300;
  round_all(expected, HEDDLE_BF16, d);
  d[9] = 0xffc1; /* another NaN */
  assert_true(hd_compare_exact(&dm, N, NULL, M, expected, NULL).ok);
  d[3 * N + 7] ^= 1;
  d[4 * N] ^= 1;
  hd_comparison c = hd_compare_exact(&dm, N, NULL, M, expected, NULL);
  assert_false(c.ok);
  assert_int_equal(c.n_wrong, 2);
  assert_int_equal(c.row, 3);
  assert_int_equal(c.col, 7);
  assert_true(c.max_error > 0);
}

static void exact_tells_zeros_apart(void **state) {
  (void)state;
  double expected[1] = {0.0};
  uint16_t d[1] = {0x8000};
  hd_matrix dm = {d, HEDDLE_F16, 1, 1};
  assert_false(hd_compare_exact(&dm, 1, NULL, 1, expected, NULL).ok);
}

static void exact_reads_rows_and_strides(void **state) {
  (void)state;
  const uint64_t rows[2] = {1, 4};
  double expected[2 * 3] = {11, 12, 13, 41, 42, 43};
  float d[3][8] = {{0}};
  hd_matrix dm = {d, HEDDLE_F32, 1, 8}; /* column-major */
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      d[j][rows[i]] = (float)expected[i * 3 + j];
  assert_true(hd_compare_exact(&dm, 3, rows, 2, expected, NULL).ok);
  d[2][4] = 0;
  hd_comparison c = hd_compare_exact(&dm, 3, rows, 2, expected, NULL);
  assert_false(c.ok);
  assert_int_equal(c.row, 4);
  assert_int_equal(c.col, 2);
}

static void random_expected(double *expected) {
  hd_fill fill = {.seed = 9};
  float values[M * N];
  hd_fill_dense(&fill, HEDDLE_F32, M, N, values, N);
  for (int i = 0; i < M * N; i++)
    expected[i] = 30.0 * values[i];
}

static void bounded_accepts_rounding_and_sees_one_wrong_element(void **state) {
  (void)state;
  double expected[M * N], bound = hd_error_bound(HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32, 4096);
  uint16_t d[M * N];
  hd_matrix dm = {d, HEDDLE_BF16, N, 1};
  random_expected(expected);
  round_all(expected, HEDDLE_BF16, d);
  hd_comparison c = hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound);
  assert_true(c.ok && c.error > 0 && c.error <= bound);
  uint16_t saved = d[50];
  d[50] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, expected[50] + 30);
  c = hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound);
  assert_false(c.ok);
  assert_int_equal(c.row * N + c.col, 50);
  d[50] = 0x7fc0;
  assert_false(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound).ok);
  d[50] = 0x7f80;
  assert_false(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound).ok);
  d[50] = saved;
  for (int i = 0; i < M * N; i++) /* every value 1 % too large */
    d[i] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, expected[i] * 1.01);
  assert_false(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound).ok);
}

/* A value must be the rounding of a number within the bound. */
static void bounded_compares_a_byte_by_its_rounding(void **state) {
  (void)state;
  static const heddle_elem elems[] = {HEDDLE_S8, HEDDLE_U8, HEDDLE_E4M3, HEDDLE_E5M2};
  double expected[M * N];
  uint8_t d[M * N];
  random_expected(expected);
  expected[3] = 600;
  expected[4] = -600;
  expected[50] = 26.4;
  for (size_t i = 0; i < HD_COUNT(elems); i++) {
    hd_matrix dm = {d, elems[i], N, 1};
    double bound = hd_error_bound(elems[i], HEDDLE_BF16, HEDDLE_F32, 4096);
    round_all(expected, elems[i], d);
    assert_true(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound).ok);
    uint8_t saved = d[50];
    d[50] = (uint8_t)(saved - 1);
    hd_comparison c = hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound);
    assert_false(c.ok);
    assert_int_equal(c.row * N + c.col, 50);
    d[50] = saved;
    d[3] = (uint8_t)(d[3] - 1); /* the next smaller value */
    assert_false(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, bound).ok);
  }
}

/* With few elements, all of them can lie almost half a unit from the reference. A larger error is
 * not accepted. */
static void bounded_lets_few_elements_round(void **state) {
  (void)state;
  double expected[4], bound = hd_error_bound(HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32, 64) + 1e-6;
  uint16_t d[4];
  hd_matrix dm = {d, HEDDLE_BF16, 1, 1};
  for (size_t n = 1; n <= 4; n++) {
    for (size_t i = 0; i < n; i++)
      expected[i] = 1 + 0.98 * 0x1p-8;
    for (size_t i = 0; i < n; i++)
      d[i] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, 1);
    hd_comparison c = hd_compare_bounded(&dm, 1, NULL, n, expected, NULL, bound);
    assert_true(c.ok && c.error > bound && c.error <= c.bound && c.bound <= 0x1p-8);
    d[n - 1]++; /* the neighbour on the other side is farther away */
    assert_false(hd_compare_bounded(&dm, 1, NULL, n, expected, NULL, bound).ok);
    d[n - 1] -= 2; /* the neighbour below 1 is half a unit farther */
    assert_false(hd_compare_bounded(&dm, 1, NULL, n, expected, NULL, bound).ok);
  }
  expected[1] = 1e-3; /* one large element, and a wrong small one */
  d[0] = d[2] = d[3] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, 1);
  d[1] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, 0.1);
  assert_false(hd_compare_bounded(&dm, 1, NULL, 4, expected, NULL, bound).ok);
}

/* For a reference below D's smallest unit, the closest values of D are 0 and that unit. */
static void bounded_lets_small_results_vanish(void **state) {
  (void)state;
  static const heddle_elem elems[] = {HEDDLE_F16, HEDDLE_BF16, HEDDLE_E4M3, HEDDLE_E5M2};
  for (size_t i = 0; i < HD_COUNT(elems); i++) {
    uint16_t d[1] = {0};
    hd_matrix dm = {d, elems[i], 1, 1};
    double bound = hd_error_bound(elems[i], HEDDLE_F16, HEDDLE_F32, 64) + 1e-6;
    double unit = hd_elem_to_double(elems[i], 1);
    const double vanishing[] = {-1.62e-79, unit / 3}, half = 1.4 * unit;
    for (size_t j = 0; j < HD_COUNT(vanishing); j++)
      assert_true(hd_compare_bounded(&dm, 1, NULL, 1, &vanishing[j], NULL, bound).ok);
    d[0] = 1;
    assert_true(hd_compare_bounded(&dm, 1, NULL, 1, &half, NULL, bound).ok);
    d[0] = 2;
    assert_false(hd_compare_bounded(&dm, 1, NULL, 1, &half, NULL, bound).ok);
    assert_false(hd_compare_bounded(&dm, 1, NULL, 1, &vanishing[0], NULL, bound).ok);
  }
}

/* Half a unit of D's type plus the slack is accepted, and not one unit more. A norm would not
 * detect this. */
static void exact_lets_slack_choose_the_neighbour(void **state) {
  (void)state;
  const double expected[3] = {1 + 0x1p-8 + 1e-7, 229, -0.0}, slack[3] = {1.1e-7, 1e-4, 1e-30};
  uint16_t d[3];
  hd_matrix dm = {d, HEDDLE_BF16, 3, 1};
  for (int i = 0; i < 3; i++)
    d[i] = (uint16_t)hd_elem_from_double(HEDDLE_BF16, expected[i]);
  assert_true(hd_compare_exact(&dm, 3, NULL, 1, expected, slack).ok);
  d[0]--; /* 1, the other side of the tie */
  d[2] = 0;
  assert_true(hd_compare_exact(&dm, 3, NULL, 1, expected, slack).ok);
  assert_int_equal(hd_compare_exact(&dm, 3, NULL, 1, expected, NULL).n_wrong, 2);
  d[1]++;
  hd_comparison c = hd_compare_exact(&dm, 3, NULL, 1, expected, slack);
  assert_int_equal(c.n_wrong, 1);
  assert_int_equal(c.col, 1);
}

/* One f32 element far in the tail of the activation. Its error may be that of the activation itself
 * and of the propagated error of its sum, but not forty times that. */
static void a_lone_tail_is_off_by_its_activation(void **state) {
  (void)state;
  static const double at[] = {-0.5, -3, -6, -9, -13, -50, -86, -300};
  for (int act = HD_ACT_GELU; act <= HD_ACT_SILU; act++)
    for (size_t i = 0; i < HD_COUNT(at); i++)
      for (int sign = -1; sign <= 1; sign += 2) {
        const double bound = 8 * 0x1p-22, tie = 0x1p-24;
        double right = at[i], slack;
        hd_act_apply_all((hd_act)act, HEDDLE_F32, 0, 1, &right, &slack);
        float d = (float)(right + sign * 0.9 * slack);
        hd_matrix dm = {&d, HEDDLE_F32, 1, 1};
        assert_true(hd_compare_exact(&dm, 1, NULL, 1, &right, &slack).ok);
        d = (float)(right + sign * (1.1 * slack + 2 * tie * fabs(right) + 0x1p-149));
        assert_false(hd_compare_exact(&dm, 1, NULL, 1, &right, &slack).ok);
        right = at[i];
        hd_act_apply_all((hd_act)act, HEDDLE_F32, bound, 1, &right, &slack);
        d = (float)hd_act_apply((hd_act)act, at[i] * (1 + sign * bound));
        assert_true(hd_compare_bounded(&dm, 1, NULL, 1, &right, &slack, bound).ok);
        d = (float)(right + 40 * (slack + bound * fabs(right)) + 0x1p-149);
        assert_false(hd_compare_bounded(&dm, 1, NULL, 1, &right, &slack, bound).ok);
      }
}

/* silu(1) * 3 and silu(-2) * -0.5, computed by hand. A correct kernel has rounding errors only. A
 * kernel is wrong if `up` is off by twenty times the error of its sums, or if it swaps `up` and the
 * gate. */
static void pairs_are_off_by_gate_and_up(void **state) {
  (void)state;
  const double bound = 8 * 0x1p-22, up[] = {3, -0.5};
  double right[] = {1, -2}, slack[2], swapped[] = {3, -0.5}, gate[] = {1, -2}, unused[2];
  hd_act_apply_pairs(HD_ACT_SILU, HEDDLE_F32, 0, 2, right, up, slack);
  assert_true(fabs(right[0] - 2.19317573589) < 1e-10);
  assert_true(fabs(right[1] - 0.11920292202) < 1e-10);
  hd_act_apply_pairs(HD_ACT_SILU, HEDDLE_F32, 0, 2, swapped, gate, unused);
  float d[] = {(float)right[0], (float)right[1]};
  hd_matrix dm = {d, HEDDLE_F32, 2, 1};
  assert_true(hd_compare_exact(&dm, 2, NULL, 1, right, slack).ok);
  for (int i = 0; i < 2; i++)
    d[i] = (float)swapped[i];
  assert_false(hd_compare_exact(&dm, 2, NULL, 1, right, slack).ok);
  double sums[] = {1, -2};
  hd_act_apply_pairs(HD_ACT_SILU, HEDDLE_F32, bound, 2, sums, up, slack);
  for (int i = 0; i < 2; i++)
    d[i] = (float)(right[i] * (1 + bound));
  assert_true(hd_compare_bounded(&dm, 2, NULL, 1, right, slack, bound).ok);
  d[0] = (float)(right[0] + 20 * (slack[0] + bound * 2 * right[0]));
  assert_false(hd_compare_bounded(&dm, 2, NULL, 1, right, slack, bound).ok);
}

static void bounded_never_trusts_zeros(void **state) {
  (void)state;
  double expected[M * N] = {0};
  float d[M * N] = {0};
  hd_matrix dm = {d, HEDDLE_F32, N, 1};
  assert_true(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, 1e-6).ok);
  d[3] = 1e-30f;
  assert_false(hd_compare_bounded(&dm, N, NULL, M, expected, NULL, 1e-6).ok);
}

static void bounds_are_those_of_the_contract(void **state) {
  (void)state;
  near(hd_error_bound(HEDDLE_F32, HEDDLE_BF16, HEDDLE_F32, 64), 2 * 0x1p-22);
  near(hd_error_bound(HEDDLE_F16, HEDDLE_F16, HEDDLE_F32, 64), 4e-4 + 2 * 0x1p-22);
  near(hd_error_bound(HEDDLE_BF16, HEDDLE_BF16, HEDDLE_F32, 36), 3e-3 + 2 * 0x1p-22);
  near(hd_error_bound(HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, 64), 4e-4 + 2 * 0x1p-11);
  near(hd_error_bound(HEDDLE_S32, HEDDLE_S8, HEDDLE_S32, 64), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(product_equals_a_plain_loop),
      cmocka_unit_test(product_without_c_and_bias),
      cmocka_unit_test(scales_are_by_row_and_by_column),
      cmocka_unit_test(block_scales_are_by_row_column_and_block),
      cmocka_unit_test(block_scales_may_be_shared_by_rows),
      cmocka_unit_test(promotion_tightens_the_bound),
      cmocka_unit_test(row_past_the_end_is_refused),
      cmocka_unit_test(sampled_rows_are_distinct),
      cmocka_unit_test(activations),
      cmocka_unit_test(exact_sees_one_bit),
      cmocka_unit_test(exact_tells_zeros_apart),
      cmocka_unit_test(exact_lets_slack_choose_the_neighbour),
      cmocka_unit_test(a_lone_tail_is_off_by_its_activation),
      cmocka_unit_test(exact_reads_rows_and_strides),
      cmocka_unit_test(bounded_accepts_rounding_and_sees_one_wrong_element),
      cmocka_unit_test(bounded_compares_a_byte_by_its_rounding),
      cmocka_unit_test(bounded_lets_few_elements_round),
      cmocka_unit_test(bounded_lets_small_results_vanish),
      cmocka_unit_test(pairs_are_off_by_gate_and_up),
      cmocka_unit_test(bounded_never_trusts_zeros),
      cmocka_unit_test(bounds_are_those_of_the_contract),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
