/* A case padded for a peer, on the test driver: the sizes, the position of the operands, the zeros
 * around them, and D without the padding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "Bench/peer_pad.h"
#include "Runtime/fake_cuda.h"

enum { M = 3, N = 5, K = 12, UNIT = 8, PADDED_M = 8, PADDED_N = 8, PADDED_K = 16, SETS = 2 };

typedef struct fixture {
  fake_cuda *fake;
  heddle_runtime *runtime;
  hd_device *device;
  hd_rotation a, b, d;
  hd_bench_case bench;
} fixture;

/* Element (i, j) of a matrix. No element is zero. */
static uint16_t element(int64_t i, int64_t j) { return (uint16_t)(1 + 100 * i + j); }

static void make(fixture *f, int64_t rows, int64_t cols, hd_rotation *rotation) {
  uint16_t data[PADDED_M * PADDED_K];
  for (int64_t i = 0; i < rows * cols; i++)
    data[i] = element(i / cols, i % cols);
  assert_int_equal(hd_rotation_create(NULL, f->device, data, (size_t)(rows * cols) * sizeof *data,
                                      SETS, rotation),
                   HEDDLE_OK);
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  heddle_runtime_create(NULL, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime);
  assert_int_equal(hd_device_open(NULL, f->runtime, 0, &f->device), HEDDLE_OK);
  make(f, M, K, &f->a);
  make(f, N, K, &f->b);
  make(f, M, N, &f->d);
  f->bench = (hd_bench_case){.m = M,
                             .n = N,
                             .k = K,
                             .elem = HEDDLE_BF16,
                             .d_elem = HEDDLE_F16,
                             .a_dense = &f->a,
                             .b = &f->b,
                             .d = &f->d,
                             .n_sets = SETS};
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  hd_rotation_free(f->device, &f->a);
  hd_rotation_free(f->device, &f->b);
  hd_rotation_free(f->device, &f->d);
  hd_device_close(f->device);
  heddle_runtime_free(f->runtime);
  int left = f->fake->n_live_allocations;
  free(f);
  return left;
}

/* Each set holds rows x cols elements of a matrix, with zeros to the right and below. */
static void expect_padded(const fixture *f, const hd_rotation *rotation, int64_t rows, int64_t cols,
                          int64_t all_rows, int64_t all_cols) {
  uint16_t data[PADDED_M * PADDED_K];
  assert_int_equal(rotation->n_sets, SETS);
  for (size_t set = 0; set < SETS; set++) {
    assert_int_equal(rotation->set[set].n_bytes, (size_t)(all_rows * all_cols) * sizeof *data);
    assert_int_equal(hd_buffer_download(NULL, f->device, &rotation->set[set], data), HEDDLE_OK);
    for (int64_t i = 0; i < all_rows; i++)
      for (int64_t j = 0; j < all_cols; j++)
        assert_int_equal(data[i * all_cols + j], i < rows && j < cols ? element(i, j) : 0);
  }
}

static void operands_lie_in_zeros(void **state) {
  const fixture *f = *state;
  hd_padded p;
  assert_int_equal(hd_padded_make(NULL, f->device, &f->bench, UNIT, &p), HEDDLE_OK);
  assert_int_equal(p.bench.m, PADDED_M);
  assert_int_equal(p.bench.n, PADDED_N);
  assert_int_equal(p.bench.k, PADDED_K);
  assert_ptr_equal(p.bench.a_dense, &p.a);
  assert_ptr_equal(p.bench.b, &p.b);
  assert_ptr_equal(p.bench.d, &p.d);
  expect_padded(f, &p.a, M, K, PADDED_M, PADDED_K);
  expect_padded(f, &p.b, N, K, PADDED_N, PADDED_K);
  assert_int_equal(p.d.set[0].n_bytes, PADDED_M * PADDED_N * sizeof(uint16_t));
  hd_padded_free(f->device, &p);
}

/* A size that is already a multiple does not change. */
static void whole_sizes_stay(void **state) {
  const fixture *f = *state;
  hd_padded p;
  assert_int_equal(hd_padded_make(NULL, f->device, &f->bench, 1, &p), HEDDLE_OK);
  assert_true(p.bench.m == M && p.bench.n == N && p.bench.k == K);
  expect_padded(f, &p.b, N, K, N, K);
  hd_padded_free(f->device, &p);
}

/* D of the padded sizes, row- or column-major, is copied back without the padding. */
static void d_is_cropped(void **state) {
  const fixture *f = *state;
  for (int row_major = 0; row_major < 2; row_major++) {
    int64_t rows = row_major ? M : N, cols = row_major ? N : M;
    uint16_t padded[PADDED_M * PADDED_N], d[M * N];
    hd_padded p;
    assert_int_equal(hd_padded_make(NULL, f->device, &f->bench, UNIT, &p), HEDDLE_OK);
    for (int64_t i = 0; i < PADDED_M * PADDED_N; i++)
      padded[i] = element(i / PADDED_N, i % PADDED_N);
    assert_int_equal(hd_buffer_upload(NULL, f->device, &p.d.set[0], padded), HEDDLE_OK);
    assert_int_equal(hd_padded_crop(NULL, f->device, &p, &f->bench, row_major), HEDDLE_OK);
    assert_int_equal(hd_buffer_download(NULL, f->device, &f->d.set[0], d), HEDDLE_OK);
    for (int64_t i = 0; i < rows * cols; i++)
      assert_int_equal(d[i], element(i / cols, i % cols));
    hd_padded_free(f->device, &p);
  }
}

/* Nothing stays allocated: teardown counts the allocations. */
static void a_full_device_is_told_of(void **state) {
  const fixture *f = *state;
  hd_padded p = {0};
  f->fake->fail = "cuMemAlloc_v2";
  f->fake->fail_result = 2; /* CUDA_ERROR_OUT_OF_MEMORY */
  assert_int_not_equal(hd_padded_make(NULL, f->device, &f->bench, UNIT, &p), HEDDLE_OK);
  f->fake->fail = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(operands_lie_in_zeros, setup, teardown),
      cmocka_unit_test_setup_teardown(whole_sizes_stay, setup, teardown),
      cmocka_unit_test_setup_teardown(d_is_cropped, setup, teardown),
      cmocka_unit_test_setup_teardown(a_full_device_is_told_of, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
