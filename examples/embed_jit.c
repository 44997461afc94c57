/* Embeds the JIT: a problem's text in, a product on the device out. With an installed Heddle:
 *   cc -std=c11 embed_jit.c $(pkg-config --cflags --libs heddle) && ./a.out */
#include <heddle/compile.h>
#include <heddle/memory.h>
#include <heddle/sparse.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 256, N = 128, K = 512 };
static const char problem[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"embedded\", target = \"sm_80\"} {\n"
    "  %m: i32 = size {dim = m, value = 256}  %n: i32 = size {dim = n, value = 128}\n"
    "  %k: i32 = size {dim = k, value = 512}\n"
    "  %a: matrix<f16> = sparse %m, %k {type = f16}\n"
    "  %b: matrix<f16> = dense %k, %n {type = f16, operand = b, order = k_major}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = f32, order = row_major}\n}\n";

static heddle_context *ctx;
static void must(heddle_status status) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++)
    fprintf(stderr, "%s\n", heddle_context_get(ctx, i)->text);
  if (status != HEDDLE_OK)
    exit(heddle_status_exit_code(status));
}

int main(void) {
  static uint16_t a[M * K], b[N * K]; /* f16: 0x3c00 is 1.0 */
  static float d[M * N];
  for (int i = 0; i < M * K; i++)
    a[i] = i % 4 < 2 ? 0x3c00 : 0; /* two of each four */
  for (int i = 0; i < N * K; i++)
    b[i] = 0x3c00;
  ctx = heddle_context_create();
  heddle_compiled *code;
  must(heddle_compile(ctx, "embedded", problem, sizeof problem - 1, NULL, &code));
  heddle_runtime *runtime;
  heddle_kernel *kernel;
  heddle_image image = {0};
  image.ptx = heddle_compiled_ptx(code, &image.ptx_bytes);
  size_t json_bytes, packed_bytes;
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  must(heddle_runtime_create(ctx, NULL, &runtime));
  must(heddle_device_use(ctx, runtime, 0));
  must(heddle_kernel_load(ctx, runtime, json, json_bytes, &image, &kernel));
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, M, K, &packed_bytes));
  void *packed = malloc(packed_bytes), *at[3]; /* at: A, B and D on the device */
  must(heddle_sparse_pack_dense(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, M, K, a, K * 2, packed));
  const size_t bytes[3] = {packed_bytes, sizeof b, sizeof d};
  for (int i = 0; i < 3; i++)
    must(heddle_device_alloc(ctx, runtime, bytes[i], &at[i]));
  must(heddle_device_upload(ctx, runtime, at[0], packed, packed_bytes));
  must(heddle_device_upload(ctx, runtime, at[1], b, sizeof b));
  heddle_arg args[] = {{at[0]}, {at[1]}, {at[2]}, {.i64 = K}, {.i64 = N}}; /* a b d ldb ldd */
  must(heddle_kernel_launch(ctx, kernel, args, 5, NULL));
  must(heddle_device_download(ctx, runtime, d, at[2], sizeof d));
  printf("D[0][0] = %g, expected %d\n", d[0], K / 2);
  return d[0] != K / 2;
}
