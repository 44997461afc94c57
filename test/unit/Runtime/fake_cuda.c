/* The fake driver's side: all entry points of driver.def and nvml.def. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Runtime/nvml.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT extern fake_cuda fake_state;
#ifdef FAKE_READY
fake_cuda fake_state = {.n_devices = 1, .resident = 1, .n_sms = 132, .fail_result = 719};
/* FAKE_FAIL names the entry point that fails. */
__attribute__((constructor)) static void read_fault(void) { fake_state.fail = getenv("FAKE_FAIL"); }
#else
fake_cuda fake_state;
#endif

#define S fake_state

/* Declares and defines an entry point that fails on request. */
#define ENTRY(name, params, ...)                                                                   \
  EXPORT int name params;                                                                          \
  int name params {                                                                                \
    if (S.broken && strncmp(#name, "cu", 2) == 0)                                                  \
      return S.broken;                                                                             \
    if (S.fail && strcmp(S.fail, #name) == 0)                                                      \
      return S.fail_result;                                                                        \
    __VA_ARGS__                                                                                    \
    return 0;                                                                                      \
  }

ENTRY(cuInit, (unsigned flags), {
  if (flags != 0)
    return 1;
  return S.init_result;
})
ENTRY(cuDriverGetVersion, (int *version), *version = 13000;)
EXPORT int cuGetErrorName(int result, const char **text);
int cuGetErrorName(int result, const char **text) {
  *text = result == 719   ? "CUDA_ERROR_LAUNCH_FAILED"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT int cuGetErrorString(int result, const char **text);
int cuGetErrorString(int result, const char **text) {
  (void)result;
  *text = "as asked";
  return 0;
}

ENTRY(cuDeviceGetCount, (int *count), *count = S.n_devices;)
ENTRY(cuDeviceGet, (int *device, int ordinal), *device = ordinal;)
ENTRY(cuDeviceGetName, (char *name, int n, int device),
      snprintf(name, (size_t)n, "Fake %d", device);)
ENTRY(cuDeviceGetPCIBusId, (char *id, int n, int device),
      snprintf(id, (size_t)n, "0000:0%d:00.0", device);)
ENTRY(cuDeviceGetAttribute, (int *value, int attribute, int device), (void)device;
      switch (attribute) {
        case 75: *value = 9; break;
        case 76: *value = 0; break;
        case 16: *value = S.n_sms; break;
        case 38: *value = 50 << 20; break;
        case 13: *value = 1980000; break;
        default: *value = attribute;
      })

static int contexts[8];
ENTRY(cuDevicePrimaryCtxRetain, (void **context, int device), *context = &contexts[device];
      S.n_retained++;)
ENTRY(cuDevicePrimaryCtxRelease_v2, (int device), (void)device; S.n_retained--;)
ENTRY(cuCtxGetCurrent, (void **context), *context = S.current;)
ENTRY(cuCtxSetCurrent, (void *context), S.current = context;)
ENTRY(cuCtxGetDevice, (int *device), *device = (int)((int *)S.current - contexts);)
ENTRY(cuCtxSynchronize, (void), S.n_syncs++;)

static void fill_log(int n, const int *options, void **values) {
  for (int i = 0; i + 1 < n; i++) {
    const char *text = options[i] == 3 ? S.info_log : options[i] == 5 ? S.error_log : NULL;
    if (text && options[i + 1] == options[i] + 1)
      snprintf(values[i], (size_t)(uintptr_t)values[i + 1], "%s", text);
  }
}
static int modules[64];
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
ENTRY(cuModuleLoadDataEx,
      (void **module, const void *image, unsigned n, int *options, void **values), {
        bool is_cubin = memcmp(image,
                               "\x7f"
                               "ELF",
                               4) == 0;
        int result = is_cubin ? S.cubin_result : S.ptx_result;
        if (!S.current)
          return 201;
        fill_log((int)n, options, values);
        pthread_mutex_lock(&loading);
        snprintf(S.last_image, sizeof S.last_image, "%s", (const char *)image);
        pthread_mutex_unlock(&loading);
        int index = ++S.n_loads;
        if (result != 0)
          return result;
        S.n_live_modules++;
        *module = &modules[index % 64];
      })
ENTRY(cuModuleUnload, (void *module), (void)module; S.n_live_modules--;)
ENTRY(cuModuleGetFunction, (void **function, void *module, const char *name), {
  (void)module;
  if (strstr(name, "missing"))
    return 500;
  *function = (void *)(uintptr_t)name;
})
ENTRY(cuFuncSetAttribute, (void *function, int attribute, int value), (void)function;
      if (attribute == 8) S.max_shared = value;
      if (attribute == 14) S.non_portable = value;)
ENTRY(cuFuncGetAttribute, (int *value, int attribute, void *function), (void)function;
      *value = attribute == 3   ? S.n_loads <= S.n_spilling ? 8 : S.local_bytes
               : attribute == 4 ? 168
                                : 1024;)
ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *n, void *function, int n_threads, size_t shared_bytes), (void)function;
      (void)n_threads; (void)shared_bytes; *n = S.resident;)
ENTRY(cuOccupancyMaxActiveClusters, (int *n, void *function, const hd_cu_config *config), {
  (void)function;
  if (config->n_attributes != 1 || config->attributes[0].id != 4 ||
      config->grid_x % config->attributes[0].value.cluster.x != 0)
    return 1;
  *n = S.resident * S.n_sms / (int)config->attributes[0].value.cluster.x;
})

static void record(const hd_cu_config *config, const char *function, void **params) {
  fake_launch *l = &S.launch[S.n_launches % FAKE_MAX_LAUNCHES];
  *l = (fake_launch){.function = function, .config = *config, .captured = S.capturing};
  for (unsigned i = 0; i < config->n_attributes && i < 4; i++)
    l->attribute[i] = config->attributes[i];
  for (int i = 0; i < S.n_params; i++)
    memcpy(&l->params[i], params[i], 8);
}
ENTRY(cuLaunchKernelEx, (const hd_cu_config *config, void *function, void **params, void **extra), {
  if (extra || config->grid_x == 0 || config->grid_y != 1 || config->grid_z != 1)
    return 1;
  if (strcmp(function, "hd_spin") != 0) {
    record(config, function, params);
    S.n_launches++;
    if (S.on_launch)
      S.on_launch(S.user);
  }
})
#ifndef FAKE_WITHOUT_TMAPS
ENTRY(cuTensorMapEncodeTiled,
      (hd_cu_tmap * map, int type, uint32_t rank, void *base, const uint64_t *dims,
       const uint64_t *strides, const uint32_t *box, const uint32_t *ones, int interleave,
       int swizzle, int promotion, int fill),
      {
        if ((uintptr_t)map % 64 != 0 || interleave != 0 || fill != 0 || promotion != 3)
          return 1;
        S.tmap_type = type;
        S.tmap_swizzle = swizzle;
        S.tmap_rank = rank;
        S.tmap_base = (uint64_t)(uintptr_t)base;
        for (uint32_t i = 0; i < rank; i++) {
          S.tmap_dim[i] = dims[i];
          S.tmap_box[i] = box[i];
          S.tmap_stride[i] = i > 0 ? strides[i - 1] : 0;
          if (ones[i] != 1)
            return 1;
        }
        memset(map, 0xab, sizeof *map);
      })
#endif

ENTRY(cuMemAlloc_v2, (uint64_t *pointer, size_t n_bytes), {
  void *memory = aligned_alloc(256, (n_bytes + 255) / 256 * 256);
  S.n_live_allocations++;
  *pointer = (uint64_t)(uintptr_t)memory;
})
ENTRY(cuMemFree_v2, (uint64_t pointer), free((void *)(uintptr_t)pointer); S.n_live_allocations--;)
ENTRY(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t n_bytes),
      memcpy((void *)(uintptr_t)to, from, n_bytes);)
ENTRY(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t n_bytes),
      memcpy(to, (void *)(uintptr_t)from, n_bytes);)
ENTRY(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t n_bytes, void *stream),
      (void)stream; memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n_bytes);)
ENTRY(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t n_bytes, void *stream),
      (void)stream; memset((void *)(uintptr_t)to, value, n_bytes);)
ENTRY(cuMemsetD32Async, (uint64_t to, unsigned value, size_t n_words, void *stream), (void)stream;
      for (size_t i = 0; i < n_words; i++) ((unsigned *)(uintptr_t)to)[i] = value;)

static int handle;
ENTRY(cuStreamCreate, (void **stream, unsigned flags), (void)flags; *stream = &handle;
      S.n_live_streams++;)
ENTRY(cuStreamDestroy_v2, (void *stream), (void)stream; S.n_live_streams--;)
ENTRY(cuStreamSynchronize, (void *stream), (void)stream; S.n_syncs++;)
ENTRY(cuStreamBeginCapture_v2, (void *stream, int mode), (void)stream; (void)mode;
      S.capturing = true;)
ENTRY(cuStreamEndCapture, (void *stream, void **graph), (void)stream; S.capturing = false;
      *graph = &handle; S.n_live_graphs++;)
ENTRY(cuStreamIsCapturing, (void *stream, int *status), (void)stream; *status = S.capturing;)
/* Nodes are the launches. Without a capture the driver defines only the status. */
static void *node;
ENTRY(cuStreamGetCaptureInfo_v2,
      (void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *n), {
        (void)stream; (void)id; (void)graph;
        node = S.n_launches ? &S.launch[(S.n_launches - 1) % FAKE_MAX_LAUNCHES] : NULL;
        *status = S.capturing;
        *nodes = &node;
        *n = node ? S.n_nodes : 0;
      })
ENTRY(cuGraphNodeGetType, (void *which, int *type), (void)which; *type = S.node_type;)
ENTRY(cuGraphKernelNodeGetParams_v2, (void *which, hd_cu_kernel_node *params),
      params->function = (void *)(uintptr_t)((fake_launch *)which)->function;)
ENTRY(cuEventCreate, (void **event, unsigned flags), (void)flags; *event = &handle;
      S.n_live_events++;)
ENTRY(cuEventDestroy_v2, (void *event), (void)event; S.n_live_events--;)
ENTRY(cuEventRecord, (void *event, void *stream), (void)event; (void)stream;)
ENTRY(cuEventSynchronize, (void *event), (void)event;)
ENTRY(cuEventElapsedTime, (float *milliseconds, void *from, void *to), (void)from; (void)to;
      *milliseconds = 3.0f;)
ENTRY(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags),
      (void)graph; (void)flags; *exec = &handle; S.n_live_graphs++;)
ENTRY(cuGraphLaunch, (void *exec, void *stream), (void)exec; (void)stream; S.n_launches++;)
ENTRY(cuGraphExecDestroy, (void *exec), (void)exec; S.n_live_graphs--;)
ENTRY(cuGraphDestroy, (void *graph), (void)graph; S.n_live_graphs--;)

ENTRY(nvmlInit_v2, (void), )
ENTRY(nvmlShutdown, (void), )
ENTRY(nvmlDeviceGetHandleByPciBusId_v2, (const char *pci, void **device),
      *device = (void *)(uintptr_t)pci;)
ENTRY(nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatts), (void)device;
      *milliwatts = 650500;)
ENTRY(nvmlDeviceGetEnforcedPowerLimit, (void *device, unsigned *milliwatts), (void)device;
      *milliwatts = 700000;)
ENTRY(nvmlDeviceGetClockInfo, (void *device, int type, unsigned *mhz), (void)device;
      *mhz = type == 1 ? 1410 : 3201;)
ENTRY(nvmlDeviceGetTemperature, (void *device, int sensor, unsigned *celsius), (void)device;
      *celsius = 61 + (unsigned)sensor;)
ENTRY(nvmlDeviceGetCurrentClocksThrottleReasons, (void *device, unsigned long long *reasons),
      (void)device; *reasons = 0x4;)
ENTRY(nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **device), (void)index;
      *device = &handle;)
ENTRY(nvmlDeviceGetUUID, (void *device, char *text, unsigned n), (void)device;
      snprintf(text, n, "GPU-fake");)
ENTRY(nvmlDeviceGetName, (void *device, char *text, unsigned n), (void)device;
      snprintf(text, n, "Fake 0");)
ENTRY(nvmlSystemGetDriverVersion, (char *text, unsigned n), snprintf(text, n, "580.1");)
ENTRY(nvmlDeviceGetEccMode, (void *device, int *current, int *pending), (void)device;
      *current = *pending = 1;)
ENTRY(nvmlDeviceGetMigMode, (void *device, unsigned *current, unsigned *pending), (void)device;
      *current = *pending = 0;)
ENTRY(nvmlDeviceGetComputeRunningProcesses_v3,
      (void *device, unsigned *n, hd_nvml_process *list), (void)device;
      list[0] = (hd_nvml_process){.pid = 4711, .used_bytes = 1, .gpu_instance = ~0u,
                                  .compute_instance = ~0u};
      list[1] = (hd_nvml_process){.pid = 4712};
      *n = S.n_processes;)
