/* Embeds the generator: compiles a problem's text, runs the kernel on the GPU, and checks it. */
#include <stdio.h>
#include <stdlib.h>
#include "heddle/compile.h"
#include "heddle/memory.h"
#include "heddle/sparse.h"

enum { M = 256, N = 96, K = 512 };
static const char text[] =
  "module version=1 level=problem sync=none\n"
  "kernel {name = \"jit\", target = \"sm_80\"} {\n"
  "  %m: i32 = size {dim = m, value = 256}\n  %n: i32 = size {dim = n, max = 65536}\n"
  "  %k: i32 = size {dim = k, value = 512}\n  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
  "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
  "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n  store %x {type = f32, order = row_major}\n}\n";
static const uint16_t bits[] = {0xbf80, 0, 0x3f80}; /* bf16: -1, 0, 1 */
static float value(uint16_t x) { return x == bits[0] ? -1 : x == bits[2]; }
static uint16_t a[M][K], b[N][K];
static float d[M][N];
static heddle_context *ctx;
static void must(heddle_status status) {
  char line[1024];
  for (size_t i = 0; status && heddle_context_get(ctx, i); i++, puts(line))
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
  if (status) exit(heddle_status_exit_code(status));
}

int main(void) {
  heddle_runtime *cuda; heddle_compiled *code; heddle_kernel *kernel; heddle_family family;
  heddle_image image = {0}; void *a_gpu, *b_gpu, *d_gpu; char target[16]; size_t n, wrong = 0;
  for (int i = 0; i < M * K; i++)
    a[i / K][i % K] = bits[rand() % 3], b[i / K % N][i % K] = bits[rand() % 3];
  must(heddle_runtime_create(ctx = heddle_context_create(), NULL, &cuda));
  must(heddle_device_use(ctx, cuda, 0));
  must(heddle_device_target(ctx, cuda, target));
  heddle_compile_options options = {.target = target};
  must(heddle_compile(ctx, "jit", text, sizeof text - 1, &options, &code));
  image.ptx = heddle_compiled_ptx(code, &image.ptx_bytes);
  const char *manifest = heddle_compiled_manifest(code, &n);
  must(heddle_kernel_load(ctx, cuda, manifest, n, &image, &kernel));
  must(heddle_family_parse(heddle_kernel_family(kernel), &family));
  must(heddle_sparse_prune(ctx, HEDDLE_BF16, M, K, a, sizeof a[0])); /* prunes A to 2:4 */
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_BF16, family, M, K, &n));
  void *packed = malloc(n);
  must(heddle_sparse_pack_dense(ctx, HEDDLE_BF16, family, M, K, a, sizeof a[0], packed));
  must(heddle_device_alloc(ctx, cuda, n, &a_gpu));
  must(heddle_device_alloc(ctx, cuda, sizeof b, &b_gpu));
  must(heddle_device_alloc(ctx, cuda, sizeof d, &d_gpu));
  must(heddle_device_upload(ctx, cuda, a_gpu, packed, n));
  must(heddle_device_upload(ctx, cuda, b_gpu, b, sizeof b));
  heddle_arg args[] = {{a_gpu}, {b_gpu}, {d_gpu}, {.i32 = N}, {.i64 = K}, {.i64 = N}};
  must(heddle_kernel_launch(ctx, kernel, args, 6, NULL)); /* a, b, d, n, ldb, ldd */
  must(heddle_device_download(ctx, cuda, d, d_gpu, sizeof d));
  for (int i = 0; i < M * N; i++) {
    float sum = 0; /* small integers: exact in any order */
    for (int k = 0; k < K; k++) sum += value(a[i / N][k]) * value(b[i % N][k]);
    wrong += sum != d[i / N][i % N];
  }
  return printf("%s: %zu of %d wrong\n", heddle_kernel_prototype(kernel), wrong, M * N), wrong > 0;
}
