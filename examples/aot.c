/* Ahead of time: a kernel from the files of `heddle gen`, without Heddle, CUDA's headers or libcuda
 * at link time. The packed weights are read from a file. All tokens are ones, so each column of D
 * has the sums of the weights' rows.
 *
 *   heddle gen examples/dynamic_tokens.heddle -o out      # M = K = 1024
 *   heddle prune w.npy --type bf16 -o w24.npy             # 1024 x 1024, bits of bf16 as u2
 *   heddle pack w24.npy --type bf16 --family wgmma -o w.hdl
 *   cc -I out examples/aot.c out/dynamic_tokens.c -o aot && ./aot w.hdl                        */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dynamic_tokens.h"

enum { M = 1024, N = 33, K = 1024 };
enum { HEADER = 128, BLOCK = 4608, PACKED = M / 64 * (K / 64) * BLOCK }; /* bytes; docs/format.md */
static unsigned char packed[HEADER + PACKED + 1];
static uint16_t b[N][K], d[M][N]; /* bf16 */
static void *libcuda;

/* Returns whether this is a complete packed file of bf16 for wgmma, M x K. */
static int is_ours(const unsigned char *file, size_t n_bytes) {
  uint64_t size[2];
  memcpy(size, file + 24, sizeof size);
  return n_bytes == HEADER + PACKED && memcmp(file, "\x89HDL", 4) == 0 &&
         memcmp(file + 16, "\2\1\2", 3) == 0 && size[0] == M && size[1] == K;
}

static float value(uint16_t bf16) {
  uint32_t bits = (uint32_t)bf16 << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The sum of a row's values in its slab: two k-steps per block, 32 bytes per row and step. */
static double row_sum(int row, double *magnitudes) {
  double sum = 0;
  const unsigned char *slab = packed + HEADER + row / 64 * (K / 64) * BLOCK;
  for (int i = 0; i < K / 64 * 2 * 16; i++) {
    int step = i / 16, byte = i % 16 * 2, r = row % 64;
    uint16_t bits;
    memcpy(&bits, slab + step / 2 * BLOCK + step % 2 * 2048 + r / 8 * 256 + byte / 16 * 128 +
                      r % 8 * 16 + byte % 16, sizeof bits);
    sum += value(bits);
    *magnitudes += fabsf(value(bits));
  }
  return sum;
}

/* D has 8 significant bits, and its accumulators have 24. */
static int count_wrong(int row) {
  double magnitudes = 0, sum = row_sum(row, &magnitudes);
  double bound = fabs(sum) / 256 + magnitudes * 1e-5;
  int wrong = 0;
  for (int n = 0; n < N; n++)
    wrong += !(fabs(value(d[row][n]) - sum) <= bound);
  return wrong;
}

static heddle_driver_fn entry(const char *name) {
  heddle_driver_fn found = NULL;
  void *symbol = dlsym(libcuda, name);
  if (!symbol) {
    printf("the CUDA driver lacks %s\n", name);
    exit(4);
  }
  memcpy(&found, &symbol, sizeof found); /* ISO C cannot convert object to function pointers */
  return found;
}

static void must(const char *what, int code) {
  if (code == 0) return;
  printf("%s: %s (%d)\n", what, dynamic_tokens_error(code), code);
  exit(4);
}

typedef int alloc_fn(uint64_t *at, size_t n_bytes);
typedef int copy_fn(uint64_t to, const void *from, size_t n_bytes);

static void *on_gpu(const void *data, size_t n_bytes) {
  uint64_t at = 0;
  must("alloc", ((alloc_fn *)entry("cuMemAlloc_v2"))(&at, n_bytes));
  must("copy", ((copy_fn *)entry("cuMemcpyHtoD_v2"))(at, data, n_bytes));
  return (void *)(uintptr_t)at;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  int wrong = 0;
  size_t n_bytes = file ? fread(packed, 1, sizeof packed, file) : 0;
  if (!is_ours(packed, n_bytes))
    return printf("usage: aot W, where W is 1024 x 1024 bf16, packed for wgmma\n"), 2;
  fclose(file);
  libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (!libcuda)
    return printf("no CUDA driver: %s\n", dlerror()), 4;
  heddle_launcher_driver driver = {
      entry("cuModuleLoadDataEx"), entry("cuModuleUnload"), entry("cuModuleGetFunction"),
      entry("cuFuncSetAttribute"), entry("cuOccupancyMaxActiveBlocksPerMultiprocessor"),
      entry("cuOccupancyMaxActiveClusters"), entry("cuCtxGetDevice"), entry("cuDeviceGetAttribute"),
      entry("cuLaunchKernelEx"), entry("cuTensorMapEncodeTiled")};
  void *context = NULL;
  must("init", ((int (*)(unsigned))entry("cuInit"))(0));
  must("context", ((int (*)(void **, int))entry("cuDevicePrimaryCtxRetain"))(&context, 0));
  must("context", ((int (*)(void *))entry("cuCtxSetCurrent"))(context));
  dynamic_tokens_kernel kernel;
  must("load", dynamic_tokens_load(&driver, &kernel));
  for (int i = 0; i < N * K; i++)
    b[i / K][i % K] = 0x3f80; /* 1 */
  void *a_gpu = on_gpu(packed + HEADER, PACKED);
  void *b_gpu = on_gpu(b, sizeof b), *d_gpu = on_gpu(d, sizeof d);
  must("launch", dynamic_tokens(&kernel, a_gpu, b_gpu, d_gpu, N, K, N, NULL));
  must("copy", ((int (*)(void *, uint64_t, size_t))entry("cuMemcpyDtoH_v2"))(
                   d, (uint64_t)(uintptr_t)d_gpu, sizeof d));
  for (int row = 0; row < M; row++)
    wrong += count_wrong(row);
  printf("%d of %d wrong\n", wrong, M * N);
  dynamic_tokens_unload(&kernel);
  return wrong != 0;
}
