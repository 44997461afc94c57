/* Calls a kernel as a plain C function (libffi), from the files of `heddle gen
 * examples/dynamic_tokens.heddle -o DIR`. Links the runtime and the packer, but not the generator
 * or LLVM.
 *
 *   typed_function DIR/dynamic_tokens.json DIR/dynamic_tokens.ptx                              */
#include <stdio.h>
#include <stdlib.h>

#include "heddle/memory.h"
#include "heddle/sparse.h"

enum { M = 1024, N = 33, K = 1024 }; /* M and K are the problem's; N is arbitrary */

/* As in heddle_kernel_prototype. */
typedef int tokens_fn(const void *a, const void *b, void *d, int32_t n, int64_t ldb, int64_t ldd,
                      void *stream);

static heddle_context *ctx;
static heddle_runtime *cuda;

static void must(heddle_status status) {
  char line[1024];
  for (size_t i = 0; status && heddle_context_get(ctx, i); i++, puts(line))
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
  if (status)
    exit(heddle_status_exit_code(status));
}

static char *read_file(const char *path, size_t *n_bytes) {
  char *text = calloc(1, 16 << 20);
  FILE *file = fopen(path, "rb");
  if (!text || !file) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(4);
  }
  *n_bytes = fread(text, 1, (16 << 20) - 1, file);
  fclose(file);
  return text;
}

static tokens_fn *load(const char *json_path, const char *ptx_path, heddle_kernel **kernel) {
  heddle_image image = {0};
  heddle_function function;
  size_t json_bytes;
  char *json = read_file(json_path, &json_bytes);
  char *ptx = read_file(ptx_path, &image.ptx_bytes);
  image.ptx = ptx;
  must(heddle_kernel_load(ctx, cuda, json, json_bytes, &image, kernel));
  must(heddle_kernel_function(ctx, *kernel, &function));
  printf("%s\n", heddle_kernel_prototype(*kernel));
  free(json);
  free(ptx);
  return (tokens_fn *)function;
}

static void *on_gpu(const void *data, size_t n_bytes) {
  void *pointer;
  must(heddle_device_alloc(ctx, cuda, n_bytes, &pointer));
  must(heddle_device_upload(ctx, cuda, pointer, data, n_bytes));
  return pointer;
}

/* A: one 1 in each group of four. With B all ones, every element of D is K / 4. */
static void *packed_ones(const heddle_kernel *kernel) {
  static uint16_t a[M][K];
  heddle_family family;
  size_t n_bytes;
  for (int i = 0; i < M; i++)
    for (int k = 0; k < K; k += 4)
      a[i][k + i % 4] = 0x3f80; /* 1 in bf16 */
  must(heddle_family_parse(heddle_kernel_family(kernel), &family));
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_BF16, family, M, K, &n_bytes));
  void *packed = malloc(n_bytes);
  must(heddle_sparse_pack_dense(ctx, HEDDLE_BF16, family, M, K, a, sizeof a[0], packed));
  void *pointer = on_gpu(packed, n_bytes);
  free(packed);
  return pointer;
}

int main(int argc, char **argv) {
  static uint16_t b[N][K], d[M][N];
  heddle_kernel *kernel;
  int wrong = 0;
  if (argc != 3)
    return fprintf(stderr, "usage: typed_function NAME.json NAME.ptx\n"), 2;
  ctx = heddle_context_create();
  must(heddle_runtime_create(ctx, NULL, &cuda));
  must(heddle_device_use(ctx, cuda, 0));
  tokens_fn *tokens = load(argv[1], argv[2], &kernel);
  for (int i = 0; i < N * K; i++)
    b[i / K][i % K] = 0x3f80;
  void *a_gpu = packed_ones(kernel), *b_gpu = on_gpu(b, sizeof b), *d_gpu = on_gpu(d, sizeof d);
  must((heddle_status)tokens(a_gpu, b_gpu, d_gpu, N, K, N, NULL));
  must(heddle_device_download(ctx, cuda, d, d_gpu, sizeof d));
  for (int i = 0; i < M * N; i++)
    wrong += d[i / N][i % N] != 0x4380; /* 256 in bf16 */
  printf("%d of %d wrong\n", wrong, M * N);
  heddle_device_free(cuda, a_gpu);
  heddle_device_free(cuda, b_gpu);
  heddle_device_free(cuda, d_gpu);
  heddle_kernel_free(kernel);
  heddle_runtime_free(cuda);
  heddle_context_free(ctx);
  return wrong != 0;
}
