#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6, CC_MAJOR = 75, CC_MINOR = 76,
       MAX_DYNAMIC_SHARED = 8, POISON = 0xA5 };

struct gpu {
  void *library, *context;
  uint64_t in, out; /* device buffers, grown on demand */
  size_t in_cap, out_cap;
  int capability;
  int (*init)(unsigned);
  int (*device_get)(int *, int);
  int (*attribute)(int *, int, int);
  int (*retain)(void **, int);
  int (*set_current)(void *);
  int (*load)(void **, const void *, unsigned, int *, void **);
  int (*unload)(void *);
  int (*function)(void **, void *, const char *);
  int (*set_function)(void *, int, int);
  int (*alloc)(uint64_t *, size_t);
  int (*release)(uint64_t);
  int (*up)(uint64_t, const void *, size_t);
  int (*down)(void *, uint64_t, size_t);
  int (*fill)(uint64_t, unsigned char, size_t);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  int (*synchronize)(void);
};

static bool failed(const char *what, int code) {
  if (code)
    fprintf(stderr, "cuda: %s failed with %d\n", what, code);
  return code != 0;
}

static bool find_symbols(gpu *g) {
  const struct {
    const char *name;
    void **slot;
  } symbols[] = {{"cuInit", (void **)&g->init},
                 {"cuDeviceGet", (void **)&g->device_get},
                 {"cuDeviceGetAttribute", (void **)&g->attribute},
                 {"cuDevicePrimaryCtxRetain", (void **)&g->retain},
                 {"cuCtxSetCurrent", (void **)&g->set_current},
                 {"cuModuleLoadDataEx", (void **)&g->load},
                 {"cuModuleUnload", (void **)&g->unload},
                 {"cuModuleGetFunction", (void **)&g->function},
                 {"cuFuncSetAttribute", (void **)&g->set_function},
                 {"cuMemAlloc_v2", (void **)&g->alloc},
                 {"cuMemFree_v2", (void **)&g->release},
                 {"cuMemcpyHtoD_v2", (void **)&g->up},
                 {"cuMemcpyDtoH_v2", (void **)&g->down},
                 {"cuMemsetD8_v2", (void **)&g->fill},
                 {"cuLaunchKernel", (void **)&g->launch},
                 {"cuCtxSynchronize", (void **)&g->synchronize}};
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (!(*symbols[i].slot = dlsym(g->library, symbols[i].name))) {
      fprintf(stderr, "cuda: no %s\n", symbols[i].name);
      return false;
    }
  return true;
}

static bool open_device(gpu *g) {
  int device, major = 0, minor = 0;
  if (failed("cuInit", g->init(0)) || failed("cuDeviceGet", g->device_get(&device, 0)) ||
      failed("cuDevicePrimaryCtxRetain", g->retain(&g->context, device)) ||
      failed("cuCtxSetCurrent", g->set_current(g->context)))
    return false;
  g->attribute(&major, CC_MAJOR, device);
  g->attribute(&minor, CC_MINOR, device);
  g->capability = major * 10 + minor;
  return true;
}

gpu *gpu_open(void) {
  gpu *g = calloc(1, sizeof *g);
  if (!g)
    return NULL;
  g->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!g->library)
    fprintf(stderr, "cuda: %s\n", dlerror());
  if (!g->library || !find_symbols(g) || !open_device(g)) {
    gpu_close(g);
    return NULL;
  }
  return g;
}

void gpu_close(gpu *g) {
  if (g && g->in)
    g->release(g->in);
  if (g && g->out)
    g->release(g->out);
  free(g);
}

int gpu_capability(const gpu *g) {
  return g->capability;
}

bool gpu_load(gpu *g, const char *ptx, unsigned shared_bytes, gpu_kernel *kernel) {
  char log[4096];
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  log[0] = 0;
  int code = g->load(&kernel->module, ptx, 2, options, values);
  if (code) {
    fprintf(stderr, "cuda: module load failed with %d: %s\n", code, log);
    return false;
  }
  return !failed("cuModuleGetFunction", g->function(&kernel->function, kernel->module, "onehot")) &&
         !failed("cuFuncSetAttribute",
                 g->set_function(kernel->function, MAX_DYNAMIC_SHARED, (int)shared_bytes));
}

void gpu_unload(gpu *g, gpu_kernel *kernel) {
  g->unload(kernel->module);
  kernel->module = kernel->function = NULL;
}

static bool grow(gpu *g, uint64_t *buffer, size_t *cap, size_t n_bytes) {
  if (*cap >= n_bytes)
    return true;
  if (*buffer)
    g->release(*buffer);
  *buffer = 0;
  *cap = 0;
  if (failed("cuMemAlloc", g->alloc(buffer, n_bytes)))
    return false;
  *cap = n_bytes;
  return true;
}

bool gpu_run(gpu *g, const gpu_kernel *kernel, const gpu_job *job) {
  if (!grow(g, &g->in, &g->in_cap, job->in_bytes) || !grow(g, &g->out, &g->out_cap, job->out_bytes))
    return false;
  gpu_job j = *job;
  void *parameters[] = {&g->in,         &g->out,         &j.in_stride,    &j.out_stride,
                        &j.image_bytes, &j.a_descriptor, &j.b_descriptor};
  return !failed("cuMemcpyHtoD", g->up(g->in, j.in, j.in_bytes)) &&
         !failed("cuMemsetD8", g->fill(g->out, POISON, j.out_bytes)) &&
         !failed("cuLaunchKernel", g->launch(kernel->function, j.n_cases, 1, 1, j.n_threads, 1, 1,
                                             j.shared_bytes, NULL, parameters, NULL)) &&
         !failed("cuCtxSynchronize", g->synchronize()) &&
         !failed("cuMemcpyDtoH", g->down(j.out, g->out, j.out_bytes));
}
