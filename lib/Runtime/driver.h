/* Runtime/driver.h: the CUDA driver as a table of functions, opened at run time. The types are
 * Heddle's own declarations of the driver's ABI (source: CUDA Driver API reference; test_driver_abi
 * compares them with cuda.h if that is installed). Handles are void *. */
#ifndef HD_DRIVER_H
#define HD_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/memory.h"

typedef struct hd_cu_attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int number;
  } value;
} hd_cu_attribute;

typedef struct hd_cu_config {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void *stream;
  hd_cu_attribute *attributes;
  unsigned n_attributes;
} hd_cu_config;

typedef struct hd_cu_tmap {
  _Alignas(128) uint64_t words[16];
} hd_cu_tmap;

/* CUDA_KERNEL_NODE_PARAMS_v2: a kernel in a graph. */
typedef struct hd_cu_kernel_node {
  void *function;
  unsigned shape[7]; /* grid, block, bytes of shared memory */
  void *rest[4];     /* parameters, extra, kernel, context */
} hd_cu_kernel_node;

enum { /* CUresult */
  HD_CU_SUCCESS = 0,
  HD_CU_NO_DEVICE = 100,
  HD_CU_INVALID_IMAGE = 200,
  HD_CU_NO_BINARY = 209,
  HD_CU_UNSUPPORTED_PTX = 222
};

enum { /* CUlaunchAttributeID */
  HD_CU_CLUSTER_DIMENSION = 4,
  HD_CU_PROGRAMMATIC_SERIALIZATION = 6
};

enum { /* CUfunction_attribute */
  HD_CU_FUNC_SHARED_BYTES = 1,
  HD_CU_FUNC_LOCAL_BYTES = 3,
  HD_CU_FUNC_REGISTERS = 4,
  HD_CU_FUNC_MAX_DYNAMIC_SHARED = 8,
  HD_CU_FUNC_NON_PORTABLE_CLUSTER = 14
};

enum { /* CUjit_option */
  HD_CU_JIT_INFO_LOG = 3,
  HD_CU_JIT_INFO_LOG_BYTES = 4,
  HD_CU_JIT_ERROR_LOG = 5,
  HD_CU_JIT_ERROR_LOG_BYTES = 6,
  HD_CU_JIT_LOG_VERBOSE = 12
};

enum { /* CUdevice_attribute */
  HD_CU_DEV_SMS = 16,
  HD_CU_DEV_L2_BYTES = 38,
  HD_CU_DEV_CC_MAJOR = 75,
  HD_CU_DEV_CC_MINOR = 76
};

enum { HD_CU_STREAM_NON_BLOCKING = 1, HD_CU_CAPTURE_THREAD_LOCAL = 1 };
enum { HD_CU_CAPTURE_ACTIVE = 1 }; /* CUstreamCaptureStatus */
enum { HD_CU_KERNEL_NODE = 0 };    /* CUgraphNodeType */

/* cuTensorMapEncodeTiled: no interleave, zero fill out of bounds, L2 promotion to 256 bytes. */
enum { HD_CU_TMAP_INTERLEAVE = 0, HD_CU_TMAP_FILL = 0, HD_CU_TMAP_PROMOTION = 3 };

typedef struct hd_driver {
#define HD_CU(member, symbol, params) int(*member) params;
#include "Runtime/driver.def"
#undef HD_CU
} hd_driver;

enum { HD_MAX_DEVICES = 64 };

struct heddle_runtime {
  void *library; /* dlopen handle */
  hd_driver cu;
  int version; /* 12080 = 12.8 */
  unsigned char used[HD_MAX_DEVICES]; /* by ordinal: the primary context is retained */
  struct hd_early *early;             /* owned (overlap.h) */
};

/* HEDDLE_OK for success, else HEDDLE_ENVIRONMENT (or NO_MEMORY). The diagnostic has the call and
 * the driver's message. */
heddle_status hd_driver_check(heddle_context *ctx, const hd_driver *cu, int result,
                              const char *call);

/* HD_CU_TRY(ctx, runtime, member, args…): calls the driver. If that fails, returns the status. */
#define HD_CU_TRY(ctx, runtime, member, ...)                                                       \
  HD_TRY(hd_driver_check((ctx), &(runtime)->cu, (runtime)->cu.member(__VA_ARGS__), #member))

#endif
