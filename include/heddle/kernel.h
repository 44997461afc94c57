/* heddle/kernel.h: load a compiled kernel and launch it. Needs no CUDA header and links no libcuda:
 * the driver is opened at run time. Everything here works without the generator (and LLVM). */
#ifndef HEDDLE_KERNEL_H
#define HEDDLE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The opened CUDA driver. Any number of threads may use one. */
typedef struct heddle_runtime heddle_runtime;

typedef struct heddle_runtime_config {
  const char *driver_path; /* NULL: "libcuda.so.1", found as the dynamic linker finds libraries */
} heddle_runtime_config;

/* Opens the driver and initialises it (owned; config may be NULL). HEDDLE_ENVIRONMENT with a
 * diagnostic if there is no driver, an entry point is missing, or there is no device. */
HEDDLE_API heddle_status heddle_runtime_create(heddle_context *ctx,
                                               const heddle_runtime_config *config,
                                               heddle_runtime **runtime);
/* Accepts NULL. Free all kernels loaded with it first. */
HEDDLE_API void heddle_runtime_free(heddle_runtime *runtime);

/* A loaded kernel: its manifest and its code in one or more CUDA contexts. */
typedef struct heddle_kernel heddle_kernel;

/* The code of a kernel: a cubin, PTX text, or both (then a device that the cubin does not fit uses
 * the PTX, through the driver's JIT). Borrowed for the call; PTX needs no final NUL. */
typedef struct heddle_image {
  const void *cubin;
  size_t cubin_bytes;
  const char *ptx;
  size_t ptx_bytes;
} heddle_image;

/* Loads a kernel into the calling thread's current CUDA context (owned). manifest_json is the text
 * of NAME.json, which holds hashes of the code: HEDDLE_INVALID if the image is not the code of this
 * manifest, for a bad manifest, or if no context is current; HEDDLE_ENVIRONMENT with the driver's
 * error and log; HEDDLE_UNSUPPORTED when the code does not fit the device, or the driver's compiler
 * spilled registers or serialised wgmma. */
HEDDLE_API heddle_status heddle_kernel_load(heddle_context *ctx, const heddle_runtime *runtime,
                                            const char *manifest_json, size_t json_bytes,
                                            const heddle_image *image, heddle_kernel **kernel);

/* Also loads the kernel into the current context (another device), unless it is loaded there.
 * Errors are those of heddle_kernel_load. Do not call it while another thread launches this kernel.
 * A context is identified by its handle: free the kernel before you destroy a context in which it
 * is loaded. */
HEDDLE_API heddle_status heddle_kernel_attach(heddle_context *ctx, heddle_kernel *kernel);

/* Gives a kernel a second version of the same product, for launches that can overlap with the
 * kernel before them (programmatic dependent launch). Overlapping gains only if that kernel lets
 * its dependents start early; behind any other, an ordinary launch is faster. Each launch
 * decides: `overlapping` is launched in a stream that is being captured, if it accepts the
 * arguments, the launch depends on one kernel only, and that kernel is one of Heddle's with
 * `dependent` or is known by heddle_runtime_add_early; `kernel` is launched, ordinarily, in all
 * other cases. overlapping: the same problem with `dependent` and `weights_ready`, and with a
 * schedule that needs no workspace, loaded in the contexts of kernel. kernel: with `dependent`,
 * so that launches behind it can overlap in turn. On success kernel owns overlapping, which is
 * not used by itself any more; the queries describe kernel. NULL: there is none, and all
 * launches of kernel are ordinary ones. HEDDLE_INVALID, rule kernel.overlapping, if they do not
 * fit. Do not call it while another thread launches kernel. */
HEDDLE_API heddle_status heddle_kernel_set_overlapping(heddle_context *ctx, heddle_kernel *kernel,
                                                       heddle_kernel *overlapping);

/* Names a kernel of your own that lets its dependents start early: all its CTAs execute
 * griddepcontrol.launch_dependents (cudaTriggerProgrammaticLaunchCompletion) long before its end,
 * and, if it is a dependent itself, griddepcontrol.wait before that. function: a CUfunction or
 * cudaFunction_t, as captured graphs have it; add it again after its module is loaded anew.
 * HEDDLE_INVALID for NULL. Thread-safe. */
HEDDLE_API heddle_status heddle_runtime_add_early(heddle_context *ctx, heddle_runtime *runtime,
                                                  void *function);

/* Unloads it everywhere, and its overlapping kernel; accepts NULL. No launch may be in flight. */
HEDDLE_API void heddle_kernel_free(heddle_kernel *kernel);

/* The value of an argument: use the member of its class. Pointers are device addresses. */
typedef union heddle_arg {
  const void *ptr;
  int32_t i32;
  int64_t i64;
  float f32;
} heddle_arg;

typedef enum heddle_arg_class {
  HEDDLE_CLASS_PTR,
  HEDDLE_CLASS_I32,
  HEDDLE_CLASS_I64,
  HEDDLE_CLASS_F32
} heddle_arg_class;

/* The number of arguments of a launch (fixed sizes are not passed), and the name ("a", "m", "ldb",
 * …) and class of the i-th. NULL, and HEDDLE_CLASS_I64, when i is out of range. Strings live as
 * long as the kernel. */
HEDDLE_API size_t heddle_kernel_arg_count(const heddle_kernel *kernel);
HEDDLE_API const char *heddle_kernel_arg_name(const heddle_kernel *kernel, size_t i);
HEDDLE_API heddle_arg_class heddle_kernel_arg_class(const heddle_kernel *kernel, size_t i);

/* Bytes of workspace that a launch with these sizes and strides needs, in any context in which the
 * kernel is loaded (pointers are ignored); 0: none, pass NULL. The caller owns the workspace,
 * zeroes it once and gives each concurrent launch its own. A launch leaves its counters at zero, so
 * the workspace serves all later launches of the same kernel for which it is large enough. Zero it
 * again before another kernel uses it. */
HEDDLE_API heddle_status heddle_kernel_workspace(heddle_context *ctx, const heddle_kernel *kernel,
                                                 const heddle_arg *args, size_t n_args,
                                                 uint64_t *n_bytes);

/* Launches into a stream (a CUstream or cudaStream_t; NULL: the default stream) of the current
 * context. args in the order of heddle_kernel_arg_name. Does not allocate, load or wait, so it
 * works during stream capture. HEDDLE_INVALID for values that break a rule or a context without
 * this kernel, HEDDLE_UNSUPPORTED if no variant accepts them, HEDDLE_ENVIRONMENT if the driver
 * refuses. ctx gets the diagnostic; it may be NULL. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_kernel_launch(heddle_context *ctx, const heddle_kernel *kernel,
                                              const heddle_arg *args, size_t n_args, void *stream);

/* An argument by its name. */
typedef struct heddle_named_arg {
  const char *name; /* of heddle_kernel_arg_name; borrowed for the call */
  heddle_arg value;
} heddle_named_arg;

/* Converts arguments given by name, in any order, to the array that heddle_kernel_launch and
 * heddle_kernel_workspace take. args has room for heddle_kernel_arg_count values, and is untouched
 * on failure. HEDDLE_INVALID if a name is unknown (the diagnostic has the nearest one), given
 * twice, or missing. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_kernel_args_by_name(heddle_context *ctx,
                                                    const heddle_kernel *kernel,
                                                    const heddle_named_arg *named, size_t n_named,
                                                    heddle_arg *args);
/* heddle_kernel_launch with the arguments by name: about 10 ns slower for each argument. */
HEDDLE_API heddle_status heddle_kernel_launch_named(heddle_context *ctx,
                                                    const heddle_kernel *kernel,
                                                    const heddle_named_arg *named, size_t n_named,
                                                    void *stream);

/* A plain C function for this kernel: cast it to the type that heddle_kernel_prototype shows. Its
 * parameters are the arguments, then the stream (void *); it returns a heddle_status. Made once;
 * lives as long as the kernel. Calls are as thread-safe as heddle_kernel_launch; making it is
 * not. */
typedef void (*heddle_function)(void);
HEDDLE_API heddle_status heddle_kernel_function(heddle_context *ctx, heddle_kernel *kernel,
                                                heddle_function *function);
/* "int NAME(const void *a, …, void *stream)". Lives as long as the kernel. */
HEDDLE_API const char *heddle_kernel_prototype(const heddle_kernel *kernel);

/* The driver's data about one entry point, in the first context in which the kernel was loaded.
 * Strings live as long as the kernel. */
typedef struct heddle_kernel_info {
  const char *entry;
  const char *path; /* how B is loaded, and how D is stored if that differs: "tma", "tma_permuted",
                       "tma_staged", "copied", "copied_staged", "gather16", "gather8", "gather4",
                       "gather", "cp_async16", "cp_async4", "ld_st"; "copy_b" for the kernel that a
                       launch of "copied" runs first */
  int32_t n_threads, cluster;
  int32_t n_registers;  /* a thread */
  int32_t shared_bytes; /* static and dynamic, a CTA */
  int32_t local_bytes;  /* a thread; 0 in a kernel that passed the gate */
  uint32_t n_resident;  /* CTAs that run on the device at the same time */
} heddle_kernel_info;

HEDDLE_API const char *heddle_kernel_name(const heddle_kernel *kernel);
/* How A must be packed: "mma" or "wgmma" (heddle_family_parse, heddle/sparse.h). */
HEDDLE_API const char *heddle_kernel_family(const heddle_kernel *kernel);
/* Whether A has interleaved rows of gate and up (heddle_sparse_pair_rows) and D half as many
 * rows. */
HEDDLE_API bool heddle_kernel_takes_pairs(const heddle_kernel *kernel);
HEDDLE_API size_t heddle_kernel_variant_count(const heddle_kernel *kernel);
/* HEDDLE_INVALID when index is out of range. */
HEDDLE_API heddle_status heddle_kernel_get_info(const heddle_kernel *kernel, size_t index,
                                                heddle_kernel_info *info);

#ifdef __cplusplus
}
#endif
#endif
