/* gpu.h: the few CUDA driver calls that heddle-onehot needs, loaded from libcuda.so.1 at run
 * time. */
#ifndef ONEHOT_GPU_H
#define ONEHOT_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu gpu;
typedef struct gpu_kernel {
  void *module, *function;
} gpu_kernel;

/* NULL, after an error on standard error, if there is no driver or device. */
gpu *gpu_open(void);
void gpu_close(gpu *g);
int gpu_capability(const gpu *g); /* e.g. 90 */

/* Compiles PTX text; false after printing the driver's log. */
bool gpu_load(gpu *g, const char *ptx, unsigned shared_bytes, gpu_kernel *kernel);
void gpu_unload(gpu *g, gpu_kernel *kernel);

/* Copies `in` to the device, poisons the output, runs one block per case, copies the output. */
typedef struct gpu_job {
  const void *in;
  void *out;
  size_t in_bytes, out_bytes; /* of all cases */
  unsigned n_cases, n_threads, shared_bytes;
  uint32_t in_stride, out_stride, image_bytes; /* per case */
  uint64_t a_descriptor, b_descriptor;
} gpu_job;
bool gpu_run(gpu *g, const gpu_kernel *kernel, const gpu_job *job);

#endif
