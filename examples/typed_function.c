/* Calls a kernel as a plain C function, made by libffi; the runtime alone, no LLVM:
 *   heddle gen examples/ampere_f16.heddle -o out
 *   cc -std=c11 typed_function.c $(pkg-config --cflags --libs heddle-runtime) && ./a.out out */
#include <heddle/memory.h>
#include <heddle/sparse.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 1024, N = 512, K = 1024 };
/* What heddle_kernel_prototype prints for this kernel. */
typedef int product(const void *a, const void *b, void *d, int64_t ldb, int64_t ldd, void *stream);

static heddle_context *ctx;
static void must(heddle_status status) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++)
    fprintf(stderr, "%s\n", heddle_context_get(ctx, i)->text);
  if (status != HEDDLE_OK)
    exit(heddle_status_exit_code(status));
}

static char *read_file(const char *dir, const char *name, size_t *n_bytes) {
  char path[4096], *text = malloc(1 << 20);
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "rb");
  *n_bytes = file && text ? fread(text, 1, 1 << 20, file) : 0;
  return text;
}

int main(int argc, char **argv) {
  static uint16_t a[M * K], b[N * K], d[M * N]; /* f16: 0x3c00 is 1.0, 0x6000 is 512 */
  for (int i = 0; i < M * K; i++)
    a[i] = i % 4 < 2 ? 0x3c00 : 0; /* two of each four */
  for (int i = 0; i < N * K; i++)
    b[i] = 0x3c00;
  ctx = heddle_context_create();
  heddle_runtime *runtime;
  heddle_kernel *kernel;
  heddle_image image = {0};
  image.ptx = read_file(argc > 1 ? argv[1] : "out", "ampere_f16.ptx", &image.ptx_bytes);
  size_t json_bytes;
  char *json = read_file(argc > 1 ? argv[1] : "out", "ampere_f16.json", &json_bytes);
  must(heddle_runtime_create(ctx, NULL, &runtime));
  must(heddle_device_use(ctx, runtime, 0));
  must(heddle_kernel_load(ctx, runtime, json, json_bytes, &image, &kernel));
  size_t bytes[3] = {0, sizeof b, sizeof d};
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, M, K, &bytes[0]));
  void *packed = malloc(bytes[0]), *at[3], *from[3] = {packed, b, d};
  must(heddle_sparse_pack_dense(ctx, HEDDLE_F16, HEDDLE_FAMILY_MMA, M, K, a, K * 2, packed));
  for (int i = 0; i < 3; i++) {
    must(heddle_device_alloc(ctx, runtime, bytes[i], &at[i]));
    must(heddle_device_upload(ctx, runtime, at[i], from[i], bytes[i]));
  }
  heddle_function function;
  must(heddle_kernel_function(ctx, kernel, &function));
  must((heddle_status)((product *)function)(at[0], at[1], at[2], K, N, NULL));
  must(heddle_device_download(ctx, runtime, d, at[2], sizeof d));
  printf("%s\nD[0][0] = 0x%04x, expected 0x6000\n", heddle_kernel_prototype(kernel), d[0]);
  return d[0] != 0x6000;
}
