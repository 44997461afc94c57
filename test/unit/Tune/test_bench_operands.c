/* Operands that several threads generate in parts equal those generated at once. A is kept for
 * every N. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "Reference/operands.h"
#include "Reference/reference.h"
#include "Tune/bench_operands.h"
#include "heddle/sparse.h"

enum { M = 200, N = 130, K = 192, SEED = 9 };

typedef struct whole {
  float a[M * K], b[N * K];
  void *packed;
  size_t packed_bytes;
  double expected[HD_BENCH_CHECKED_ROWS * N];
} whole;

static void make_whole(whole *w) {
  hd_fill fill = {.seed = SEED + 1};
  uint64_t rows[HD_BENCH_CHECKED_ROWS];
  size_t n = hd_reference_sample_rows(SEED, M, HD_BENCH_CHECKED_ROWS, rows);
  hd_fill_dense(&fill, HEDDLE_TF32, M, K, w->a, K);
  assert_int_equal(heddle_sparse_prune(NULL, HEDDLE_TF32, M, K, w->a, K * 4), HEDDLE_OK);
  fill.seed++;
  hd_fill_dense(&fill, HEDDLE_TF32, N, K, w->b, K);
  assert_int_equal(heddle_sparse_packed_bytes(NULL, HEDDLE_TF32, HEDDLE_FAMILY_WGMMA, M, K,
                                              &w->packed_bytes), HEDDLE_OK);
  w->packed = malloc(w->packed_bytes);
  assert_int_equal(heddle_sparse_pack_dense(NULL, HEDDLE_TF32, HEDDLE_FAMILY_WGMMA, M, K, w->a,
                                            K * 4, w->packed), HEDDLE_OK);
  hd_reference r = {.m = M, .n = N, .k = K, .alpha = 1};
  r.a = (hd_matrix){w->a, HEDDLE_TF32, K, 1};
  r.b = (hd_matrix){w->b, HEDDLE_TF32, 1, K};
  assert_int_equal(hd_reference_rows(NULL, &r, rows, n, w->expected), HEDDLE_OK);
}

static void test_pieces(void **state) {
  (void)state;
  whole *w = calloc(1, sizeof *w);
  make_whole(w);
  hd_product p = {.a = HEDDLE_TF32, .b = HEDDLE_TF32, .m = M, .n = N, .k = K};
  hd_bench_host *h = hd_bench_host_create();
  assert_int_equal(hd_bench_host_make(NULL, &p, SEED, 3, h), HEDDLE_OK);
  assert_int_equal(h->packed_bytes, w->packed_bytes);
  assert_memory_equal(h->a, w->a, sizeof w->a);
  assert_memory_equal(h->b, w->b, sizeof w->b);
  assert_memory_equal(h->packed, w->packed, w->packed_bytes);
  assert_memory_equal(h->expected, w->expected, sizeof *w->expected * h->n_checked * N);
  const void *a = h->a;
  p.n = 16;
  assert_int_equal(hd_bench_host_make(NULL, &p, SEED, 2, h), HEDDLE_OK);
  assert_ptr_equal(h->a, a);
  assert_memory_equal(h->b, w->b, 16 * K * sizeof *w->b);
  assert_memory_equal(h->expected + 16, w->expected + N, 16 * sizeof *w->expected);
  hd_bench_host_free(h);
  free(w->packed);
  free(w);
}

/* B stored k x n, with another type. The expected rows of D are computed from that order. */
static void test_other_orders(void **state) {
  (void)state;
  hd_product p = {.a = HEDDLE_E4M3, .b = HEDDLE_E5M2, .m = 64, .n = N, .k = K, .b_mn_major = true};
  uint8_t *b = malloc(K * N);
  hd_fill fill = {.seed = SEED + 2};
  hd_bench_host *h = hd_bench_host_create();
  assert_int_equal(hd_bench_host_make(NULL, &p, SEED, 3, h), HEDDLE_OK);
  hd_fill_dense(&fill, HEDDLE_E5M2, K, N, b, N);
  assert_int_equal(h->b_bytes, K * N);
  assert_memory_equal(h->b, b, K * N);
  double *expected = malloc(sizeof *expected * h->n_checked * N);
  hd_reference r = {.m = 64, .n = N, .k = K, .alpha = 1};
  r.a = (hd_matrix){h->a, HEDDLE_E4M3, K, 1};
  r.b = (hd_matrix){b, HEDDLE_E5M2, N, 1};
  assert_int_equal(hd_reference_rows(NULL, &r, h->checked, h->n_checked, expected), HEDDLE_OK);
  assert_memory_equal(h->expected, expected, sizeof *expected * h->n_checked * N);
  hd_bench_host_free(h);
  free(expected);
  free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
                                     cmocka_unit_test(test_other_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
