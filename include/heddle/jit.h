/* heddle/jit.h: a problem whose sizes are known at launch, compiled and loaded by ranges of its
 * size, ahead of the launches or when they come. heddle/compile.h makes one kernel of all
 * ranges, to be loaded by whoever wants; this makes and loads a kernel for each. */
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
  /* As for heddle_compile. schedule NULL: schedules are chosen for ranges of n (or m, of a fixed
   * n), by `tuned` and the model; or words of your own, or a plan of ranges ("n<=16: tile=64x16;
   * tile=128x256"), which may be a choice (schedule_is_choice). A problem that says its schedule
   * itself has one range. cache: each range is an entry. `tuned` is borrowed for the lifetime of
   * the heddle_jit; all else for the call. */
  heddle_compile_options compile;
  bool lazy;         /* a range is compiled when a launch or heddle_jit_prepare asks for it; false:
                        all of them by heddle_jit_create */
  int32_t n_threads; /* not lazy: that compile at once; 0: one */
} heddle_jit_options;

/* Chooses the ranges and, unless lazy, compiles and loads them, into the calling thread's
 * current CUDA context; *jit is owned. The module stays as it is. Where a schedule that Heddle
 * chose does not fit into registers, by ptxas or by the driver's compiler, the next best is
 * taken, as heddle_compile does. Not lazy: the first range that fails fails the call. The errors
 * of heddle_compile_module and heddle_kernel_load. */
HEDDLE_API heddle_status heddle_jit_create(heddle_context *ctx, const heddle_runtime *runtime,
                                           const heddle_module *module,
                                           const heddle_jit_options *options, heddle_jit **jit);
/* Unloads all; accepts NULL. No launch may be in flight, and no other call on it under way. */
HEDDLE_API void heddle_jit_free(heddle_jit *jit);

/* The arguments of a launch, as heddle_kernel_arg_count and its like; they hold before anything
 * is compiled. The workspace is always one of them: NULL where heddle_jit_workspace says 0. */
HEDDLE_API size_t heddle_jit_arg_count(const heddle_jit *jit);
HEDDLE_API const char *heddle_jit_arg_name(const heddle_jit *jit, size_t i);
HEDDLE_API heddle_arg_class heddle_jit_arg_class(const heddle_jit *jit, size_t i);
/* How A must be packed, for every range: "mma" or "wgmma". */
HEDDLE_API const char *heddle_jit_family(const heddle_jit *jit);

/* Compiles and loads the range of these sizes (0: of those that are fixed); done already:
 * nothing happens. Of several threads that ask for one range, one compiles and the others wait
 * for it. A range that failed for what was asked (HEDDLE_INVALID, HEDDLE_UNSUPPORTED,
 * HEDDLE_INTERNAL) keeps its error, and is not tried again; after HEDDLE_ENVIRONMENT and
 * HEDDLE_NO_MEMORY it is, by the next call. HEDDLE_INVALID when another CUDA context is current
 * than at heddle_jit_create. Thread-safe with a ctx a thread. Not while a stream of this context
 * is being captured in another mode than relaxed: loading ends that capture. */
HEDDLE_API heddle_status heddle_jit_prepare(heddle_context *ctx, heddle_jit *jit,
                                            const int64_t size_mnk[3]);

/* Bytes of workspace that a launch with these arguments needs (heddle_kernel_workspace), of the
 * range that they are in, which is prepared for that; a smaller size may need more than a larger
 * one of another range. One that was zeroed once serves launches of all ranges, one after the
 * other. Thread-safe with a ctx a thread. */
HEDDLE_API heddle_status heddle_jit_workspace(heddle_context *ctx, heddle_jit *jit,
                                              const heddle_arg *args, size_t n_args,
                                              uint64_t *n_bytes);

/* Launches the kernel of the range that the sizes are in (heddle_kernel_launch). One that is not
 * compiled yet is prepared first, and the call takes as long; while the stream is being captured
 * that is HEDDLE_INVALID, rule jit.capture: heddle_jit_prepare before. Of a range that is there
 * nothing is allocated, loaded or waited for. Thread-safe with a ctx a thread. */
HEDDLE_API heddle_status heddle_jit_launch(heddle_context *ctx, heddle_jit *jit,
                                           const heddle_arg *args, size_t n_args, void *stream);

/* A range of the size that is known at launch. */
typedef struct heddle_jit_range {
  int64_t to;           /* its largest size; 0: the last, all larger ones */
  bool is_ready;        /* compiled and loaded */
  const char *schedule; /* of a ready one what was taken, as long as the heddle_jit; else NULL */
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
