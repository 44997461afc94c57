/* heddle/jit.h: compiles and loads one kernel for each range of a size that is known only at
 * launch, in advance or when a launch needs it. (heddle/compile.h makes one artefact with the
 * kernels of all ranges, and does not load it.) */
#ifndef HEDDLE_JIT_H
#define HEDDLE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/compile.h"
#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels of one problem in one CUDA context, all over the same packed A. */
typedef struct heddle_jit heddle_jit;

/* Zero-initialise. */
typedef struct heddle_jit_options {
  /* As for heddle_compile. schedule: NULL: `tuned` and the model choose schedules for ranges of n
   * (or of m, if n is fixed); or your own words; or a plan of ranges ("n<=16: tile=64x16;
   * tile=128x256"), which may be a choice (schedule_is_choice). A problem with its own schedule has
   * one range. cache: each range is an entry. `tuned` is borrowed for the lifetime of the
   * heddle_jit, the rest for the call. */
  heddle_compile_options compile;
  bool lazy;         /* compile a range when a launch or heddle_jit_prepare needs it; false:
                        heddle_jit_create compiles all */
  int32_t n_threads; /* not lazy: number of threads that compile; 0: one */
} heddle_jit_options;

/* Chooses the ranges and, unless lazy, compiles and loads them, into the calling thread's current
 * CUDA context; *jit is owned. The module is unchanged. If a schedule that Heddle chose does not
 * fit into registers, according to ptxas or the driver's compiler, the next best is used, as in
 * heddle_compile. If not lazy, the call fails with the first range that fails. Errors are those of
 * heddle_compile_module and heddle_kernel_load.
 *
 * Of a problem with weights_ready each range has two kernels, and a launch takes the one with
 * weights_ready where it can overlap with the kernel before it (heddle_kernel_set_overlapping). */
HEDDLE_API heddle_status heddle_jit_create(heddle_context *ctx, const heddle_runtime *runtime,
                                           const heddle_module *module,
                                           const heddle_jit_options *options, heddle_jit **jit);
/* Unloads all; accepts NULL. No launch may be in flight, and no other call may use it. */
HEDDLE_API void heddle_jit_free(heddle_jit *jit);

/* The arguments of a launch, like heddle_kernel_arg_count etc.; available before anything is
 * compiled. The workspace is always one of them: NULL if heddle_jit_workspace says 0. */
HEDDLE_API size_t heddle_jit_arg_count(const heddle_jit *jit);
HEDDLE_API const char *heddle_jit_arg_name(const heddle_jit *jit, size_t i);
HEDDLE_API heddle_arg_class heddle_jit_arg_class(const heddle_jit *jit, size_t i);
/* How A must be packed, for every range: "mma" or "wgmma". */
HEDDLE_API const char *heddle_jit_family(const heddle_jit *jit);

/* Compiles and loads the range of these sizes (0 for fixed sizes), unless it is ready. If several
 * threads need one range, one compiles and the others wait. A range that failed with
 * HEDDLE_INVALID, HEDDLE_UNSUPPORTED or HEDDLE_INTERNAL keeps its error and is not tried again;
 * after HEDDLE_ENVIRONMENT and HEDDLE_NO_MEMORY the next call tries again. HEDDLE_INVALID if the
 * current CUDA context is not that of heddle_jit_create. Thread-safe with one ctx per thread. Do
 * not call it while a stream of this context is captured in a mode other than relaxed: loading
 * would end that capture. */
HEDDLE_API heddle_status heddle_jit_prepare(heddle_context *ctx, heddle_jit *jit,
                                            const int64_t size_mnk[3]);

/* Bytes of workspace that a launch with these arguments needs (heddle_kernel_workspace). It
 * prepares the range of the sizes. A smaller size may need more than a larger one of another range.
 * A workspace that was zeroed once serves launches of all ranges, one after the other. Thread-safe
 * with one ctx per thread. */
HEDDLE_API heddle_status heddle_jit_workspace(heddle_context *ctx, heddle_jit *jit,
                                              const heddle_arg *args, size_t n_args,
                                              uint64_t *n_bytes);

/* Launches the kernel of the range of the sizes (heddle_kernel_launch). If the range is not ready,
 * the call prepares it first; during stream capture this is HEDDLE_INVALID, rule jit.capture: call
 * heddle_jit_prepare before the capture. If the range is ready, the call does not allocate, load or
 * wait. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_jit_launch(heddle_context *ctx, heddle_jit *jit,
                                           const heddle_arg *args, size_t n_args, void *stream);

/* A range of the size that is known only at launch. */
typedef struct heddle_jit_range {
  int64_t to;           /* its largest size; 0: the last, all larger ones */
  bool is_ready;        /* compiled and loaded */
  const char *schedule; /* of a ready range, valid as long as the heddle_jit; else NULL */
} heddle_jit_range;

/* At least 1; ascending. */
HEDDLE_API size_t heddle_jit_range_count(const heddle_jit *jit);
/* HEDDLE_INVALID when index is out of range. Thread-safe. */
HEDDLE_API heddle_status heddle_jit_get_range(const heddle_jit *jit, size_t index,
                                              heddle_jit_range *range);

#ifdef __cplusplus
}
#endif
#endif
