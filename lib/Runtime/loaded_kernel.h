/* Runtime/loaded_kernel.h: the fields of a loaded kernel, and the internal functions that Jit and
 * the tools call in addition to heddle/kernel.h. */
#ifndef HD_LOADED_KERNEL_H
#define HD_LOADED_KERNEL_H

#include "Kernel/manifest.h"
#include "Runtime/driver.h"
#include "heddle/kernel.h"

enum { HD_MAX_LOADED = 16 };

/* The kernel in one CUDA context. */
typedef struct hd_loaded {
  void *context, *module;
  void *function[HD_MAX_VARIANTS];
  uint32_t resident[HD_MAX_VARIANTS]; /* CTAs that the device holds at once */
  heddle_kernel_info info[HD_MAX_VARIANTS];
} hd_loaded;

struct heddle_kernel {
  const heddle_runtime *runtime;
  hd_arena arena; /* manifest strings, image, prototype */
  hd_manifest manifest;
  heddle_image image; /* copies, for heddle_kernel_attach; the PTX ends with a NUL */
  bool gate;
  heddle_kernel *overlapping; /* owned: heddle_kernel_set_overlapping; NULL: there is none */
  bool ordinary;              /* its own launches are ordinary, although it is `dependent` */
  int32_t n_passed;
  hd_arg_kind passed[HD_MAX_ARGS]; /* the arguments of a launch, in order */
  int32_t n_loaded;
  hd_loaded loaded[HD_MAX_LOADED];
  const char *prototype;
  struct hd_closure *closure; /* kernel_function.c; NULL until first requested */
};

/* heddle_kernel_load from a manifest. gate: refuse spills, stack frames and serialised wgmma; false
 * only for kernels that are broken on purpose. */
heddle_status hd_kernel_load(heddle_context *ctx, const heddle_runtime *runtime,
                             const hd_manifest *manifest, const heddle_image *image, bool gate,
                             heddle_kernel **kernel);

/* The launch of a kernel that runs before or after the product (copied B, combine). */
typedef struct hd_serving {
  hd_cu_config config;
  hd_cu_attribute attributes[2];
  void *params[HD_MAX_PARAMS];
  void *function; /* NULL: there is none */
} hd_serving;

/* The driver's parameters of one launch. It contains pointers into itself and into the values, so
 * neither may move. */
typedef struct hd_prepared {
  hd_cu_config config;
  hd_cu_attribute attributes[2];
  hd_cu_tmap maps[HD_MAX_TMAPS];
  void *params[HD_MAX_PARAMS];
  void *function; /* NULL: nothing to launch */
  hd_serving ahead, behind;
} hd_prepared;
heddle_status hd_kernel_prepare(heddle_context *ctx, const heddle_kernel *kernel,
                                hd_values *values, void *stream, hd_prepared *prepared);

/* Launches the prepared kernel, and those that run before and after it. */
heddle_status hd_kernel_submit(heddle_context *ctx, const heddle_kernel *kernel,
                               hd_prepared *prepared);

/* heddle_kernel_launch with values by kind. Writes the fixed sizes into values. */
heddle_status hd_kernel_launch_values(heddle_context *ctx, const heddle_kernel *kernel,
                                      hd_values *values, void *stream);
/* heddle_kernel_workspace with values by kind. */
heddle_status hd_kernel_workspace_values(heddle_context *ctx, const heddle_kernel *kernel,
                                         hd_values *values, uint64_t *n_bytes);

/* kernel_function.c: frees a closure. Accepts NULL. */
void hd_closure_free(struct hd_closure *closure);

#endif
