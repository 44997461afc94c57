/* heddle/compile.h: compiles a problem, as text or built from C. Needs no GPU and no driver. */
#ifndef HEDDLE_COMPILE_H
#define HEDDLE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/ir.h"
#include "heddle/tuned.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All strings are borrowed for the call. Zero-initialise; every field may stay 0. */
typedef struct heddle_compile_options {
  const char *target;   /* "sm_90a"; NULL: the text's target */
  const char *schedule; /* overrides the default: "tile=128x256x64 stages=4"; NULL: the default */
  const char *user_epilogue; /* LLVM IR text or bitcode that defines the epilogue's user function */
  size_t user_epilogue_bytes;
  const char *ptxas; /* path of ptxas: assembles to a cubin and applies the gate; NULL: PTX only */
  const char *cache; /* folder of compiled kernels; NULL: no cache. It must be yours and not
                        writable by others (otherwise it is not used, with a note). Not used if
                        ptxas is a name without a path, because PATH may change */
  const char *epilogue_worker; /* path of heddle-epilogue, the process in which LLVM reads
                                  user_epilogue, within a second and 1 GiB; NULL: no process is
                                  started, and only the text form of docs/embedding.md is
                                  accepted */
  bool schedule_is_choice; /* schedule is the result of heddle_tuned_pick or
                              heddle_tuned_buckets, not your own: if it spills, the next best is
                              used, as for the default */
  const heddle_tuned *tuned; /* the choices in which a next best schedule is looked up first; NULL:
                                the model chooses it */
  int32_t n_threads; /* number of threads that check and emit kernels (variants, buckets); 0: only
                        the calling thread. The result does not depend on it */
} heddle_compile_options;

typedef struct heddle_compiled heddle_compiled;

/* Compiles the kernel of a problem-level text. file names the text in diagnostics (may be NULL).
 * Findings of ptxas (spills, stack, serialised wgmma) are an error for your own schedule. A
 * schedule that Heddle chose is replaced by the next best one, up to four times, then by a small
 * tile; a note (schedule.spilled) and the manifest (instead_of) say so. *compiled is owned by the
 * caller. HEDDLE_INVALID, HEDDLE_UNSUPPORTED, HEDDLE_ENVIRONMENT (ptxas cannot run),
 * HEDDLE_INTERNAL, HEDDLE_NO_MEMORY. If LLVM itself runs out of memory, it aborts the process. LLVM
 * is used only after the passes and the check, and not if the kernel is in the cache. Any number of
 * threads may compile at once, each with its own context. */
HEDDLE_API heddle_status heddle_compile(heddle_context *ctx, const char *file, const char *text,
                                        size_t text_bytes, const heddle_compile_options *options,
                                        heddle_compiled **compiled);
/* The same for a module of problem level with one kernel (heddle/ir.h), which is unchanged. */
HEDDLE_API heddle_status heddle_compile_module(heddle_context *ctx, const heddle_module *module,
                                               const heddle_compile_options *options,
                                               heddle_compiled **compiled);
/* Accepts NULL. */
HEDDLE_API void heddle_compiled_free(heddle_compiled *compiled);

/* The results. All borrowed: valid until heddle_compiled_free; n_bytes may be NULL. Thread-safe. */
HEDDLE_API const char *heddle_compiled_name(const heddle_compiled *compiled); /* the kernel's */
/* PTX text; a NUL follows its n_bytes. */
HEDDLE_API const char *heddle_compiled_ptx(const heddle_compiled *compiled, size_t *n_bytes);
/* The cubin; NULL and 0 without ptxas. */
HEDDLE_API const void *heddle_compiled_cubin(const heddle_compiled *compiled, size_t *n_bytes);
/* JSON, for heddle_kernel_load (heddle/kernel.h); a NUL follows its n_bytes. */
HEDDLE_API const char *heddle_compiled_manifest(const heddle_compiled *compiled, size_t *n_bytes);
/* The complete schedule: given as heddle_compile_options.schedule it makes the same kernel
 * again. */
HEDDLE_API const char *heddle_compiled_schedule(const heddle_compiled *compiled);

#ifdef __cplusplus
}
#endif
#endif
