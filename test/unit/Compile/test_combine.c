/* combine_d: a column of D is the sum of the columns that its indices name, added in the order of
 * the indices. In f32, 2^24 + 1 is 2^24, so the result shows the order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/compile.h"
#include "heddle/convert.h"
#include "heddle/manifest.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { M = 70, N = 4, K = 64, T = 4, SLOTS = 3 };

static const char text[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"sum\", target = \"sm_90a\", schedule = \"tile=64x8\"} {\n"
    "  %g: i32 = size {dim = g, value = 1}\n"
    "  %m: i32 = size {dim = m, value = 70}\n"
    "  %n: i32 = size {dim = n, value = 4}\n"
    "  %k: i32 = size {dim = k, value = 64}\n"
    "  %t: i32 = size {dim = t, value = 4}\n"
    "  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
    "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
    "  %o: matrix<s32> = vector {type = s32, operand = offsets}\n"
    "  %of: matrix<s32> = vector %t {type = s32, operand = combine_d, slots = 3}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = f32, order = col_major}\n"
    "}\n";

typedef struct operand {
  const char *name;
  const void *data;
  size_t bytes;
  int64_t number;
} operand;

/* Passes the operands by the names of the manifest's arguments. */
static void run(heddle_context *ctx, heddle_compiled *code, const operand *named, size_t n_named) {
  heddle_arg args[32] = {{0}};
  size_t bytes[32] = {0};
  heddle_simulation s = {.args = args, .arg_bytes = bytes};
  heddle_manifest *manifest;
  s.manifest = heddle_compiled_manifest(code, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(code, &s.ptx_bytes);
  assert_int_equal(heddle_manifest_read(ctx, s.manifest, s.manifest_bytes, &manifest), HEDDLE_OK);
  s.n_args = heddle_manifest_arg_count(manifest);
  for (size_t i = 0; i < s.n_args; i++) {
    heddle_manifest_arg arg;
    assert_int_equal(heddle_manifest_get_arg(manifest, i, &arg), HEDDLE_OK);
    for (size_t j = 0; j < n_named; j++)
      if (!strcmp(named[j].name, arg.name)) {
        bytes[i] = named[j].bytes;
        if (named[j].data)
          args[i].ptr = named[j].data;
        else
          args[i].i64 = named[j].number;
      }
  }
  if (heddle_simulate(ctx, &s) != HEDDLE_OK)
    fail_msg("%s", heddle_context_get(ctx, 0)->text);
  heddle_manifest_free(manifest);
}

static void indices_are_added_in_their_order(void **state) {
  (void)state;
  static const float columns[N] = {0x1p24f, 1, -0x1p24f, 5};
  static const int32_t index[T * SLOTS] = {0, 1, 2, 0, 2, 1, 3, -1, 3, N, INT32_MIN, 1};
  static const float expected[T] = {0, 1, 10, 1};
  static const int32_t offsets[] = {0, N};
  float dense[M * K] = {0}, of_b[N * K] = {0}, d[T * M];
  uint16_t a[M * K], b[N * K];
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *code;
  size_t n_bytes;
  for (int i = 0; i < M; i++)
    dense[i * K] = 1;
  for (int j = 0; j < N; j++)
    of_b[j * K] = columns[j];
  assert_int_equal(heddle_elem_from_f32(HEDDLE_BF16, M * K, dense, a), HEDDLE_OK);
  assert_int_equal(heddle_elem_from_f32(HEDDLE_BF16, N * K, of_b, b), HEDDLE_OK);
  assert_int_equal(heddle_sparse_packed_bytes(ctx, HEDDLE_BF16, HEDDLE_FAMILY_WGMMA, M, K,
                                              &n_bytes),
                   HEDDLE_OK);
  void *packed = malloc(n_bytes);
  assert_int_equal(heddle_sparse_pack_dense(ctx, HEDDLE_BF16, HEDDLE_FAMILY_WGMMA, M, K, a, 2 * K,
                                            packed),
                   HEDDLE_OK);
  assert_int_equal(heddle_compile(ctx, NULL, text, sizeof text - 1, NULL, &code), HEDDLE_OK);
  const operand named[] = {{"a", packed, n_bytes, 0},
                           {"b", b, sizeof b, 0},
                           {"d", d, sizeof d, 0},
                           {"offsets", offsets, sizeof offsets, 0},
                           {"combine_d", index, sizeof index, 0},
                           {"stride_a", NULL, 0, (int64_t)n_bytes},
                           {"ldb", NULL, 0, K},
                           {"ldd", NULL, 0, M}};
  run(ctx, code, named, sizeof named / sizeof *named);
  for (int t = 0; t < T; t++)
    for (int i = 0; i < M; i++)
      assert_true(d[t * M + i] == expected[t]);
  free(packed);
  heddle_compiled_free(code);
  heddle_context_free(ctx);
}

/* No token has an expert: every sum is empty, and the launch has no A, B or workspace. */
static void a_launch_without_a_product_writes_zeros(void **state) {
  static const int32_t index[T * SLOTS] = {0, 1, 2, -1, 0, 0, 5, 5, 5, 0, 0, 0}, none[1] = {0};
  static const int32_t sizes[][2] = {{1, 0}, {0, 0}}; /* g, n */
  char *dynamic = strdup(text);
  (void)state;
  memcpy(strstr(dynamic, "dim = g, value = 1"), "dim = g,   max = 1", 18);
  memcpy(strstr(dynamic, "dim = n, value = 4"), "dim = n,   max = 4", 18);
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *code;
  assert_int_equal(heddle_compile(ctx, NULL, dynamic, strlen(dynamic), NULL, &code), HEDDLE_OK);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    float d[T * M];
    memset(d, 0xff, sizeof d);
    const operand named[] = {{"a", none, 4, 0},          {"b", none, 4, 0},
                             {"d", d, sizeof d, 0},      {"offsets", none, sizeof none, 0},
                             {"combine_d", index, sizeof index, 0},
                             {"g", NULL, 0, sizes[i][0]}, {"n", NULL, 0, sizes[i][1]},
                             {"stride_a", NULL, 0, 1 << 20},
                             {"ldb", NULL, 0, K},        {"ldd", NULL, 0, M}};
    run(ctx, code, named, sizeof named / sizeof *named);
    for (int j = 0; j < T * M; j++)
      assert_true(d[j] == 0);
  }
  heddle_compiled_free(code);
  heddle_context_free(ctx);
  free(dynamic);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(indices_are_added_in_their_order),
                                     cmocka_unit_test(a_launch_without_a_product_writes_zeros)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
