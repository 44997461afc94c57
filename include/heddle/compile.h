/* heddle/compile.h: a problem, as text or built from C, to a compiled kernel. Needs no GPU and no
 * driver. */
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
  const char *target;   /* "sm_90a"; NULL: what the text says */
  const char *schedule; /* over the default one: "tile=128x256x64 stages=4"; NULL: the default */
  const char *user_epilogue; /* LLVM IR text or bitcode that defines the epilogue's user function */
  size_t user_epilogue_bytes;
  const char *ptxas; /* path of ptxas: assembles to a cubin and applies the gate; NULL: PTX only */
  const char *cache; /* folder of compiled kernels, your own, which nobody else may write (else it
                        is not used, with a note); NULL: no cache. Not used with a ptxas that is
                        named alone, to be found on PATH: it may be another one tomorrow */
  const char *epilogue_worker; /* path of heddle-epilogue, the process in which LLVM reads
                                  user_epilogue, within a second and 1 GiB; NULL: no process is
                                  started, and only the text of docs/embedding.md is taken */
  bool schedule_is_choice; /* schedule is what heddle_tuned_pick or heddle_tuned_buckets gave, not
                              your own: as of the default, where it spills the next best is taken */
  const heddle_tuned *tuned; /* the choices that a next best is looked up in first; NULL: it is
                                the model's */
  int32_t n_threads; /* that check and emit kernels (variants, buckets) at once; 0: the caller's
                        alone. What comes out does not depend on it */
} heddle_compile_options;

typedef struct heddle_compiled heddle_compiled;

/* Compiles the kernel of a problem-level text. file names the text in diagnostics (may be NULL).
 * ptxas' findings (spills, stack, serialised wgmma) fail the compile of a schedule that you named.
 * In place of one that Heddle chose the next best is taken, up to four times, then a modest one; a
 * note (schedule.spilled) and the manifest (instead_of) say so. *compiled is owned by the caller.
 * HEDDLE_INVALID, HEDDLE_UNSUPPORTED, HEDDLE_ENVIRONMENT (ptxas cannot run), HEDDLE_INTERNAL,
 * HEDDLE_NO_MEMORY. Where LLVM itself runs out of memory, it aborts the process:
 * behind the passes and the check, from the first instruction that is built for it to the PTX;
 * never when the kernel comes from the cache. Any number of threads may compile at once, each with
 * its own context. */
HEDDLE_API heddle_status heddle_compile(heddle_context *ctx, const char *file, const char *text,
                                        size_t text_bytes, const heddle_compile_options *options,
                                        heddle_compiled **compiled);
/* The same for a module of problem level with one kernel (heddle/ir.h), which stays as it is. */
HEDDLE_API heddle_status heddle_compile_module(heddle_context *ctx, const heddle_module *module,
                                               const heddle_compile_options *options,
                                               heddle_compiled **compiled);
/* Accepts NULL. */
HEDDLE_API void heddle_compiled_free(heddle_compiled *compiled);

/* What came out. All borrowed: valid until heddle_compiled_free; n_bytes may be NULL.
 * Thread-safe. */
HEDDLE_API const char *heddle_compiled_name(const heddle_compiled *compiled); /* the kernel's */
/* PTX text; a NUL follows its n_bytes. */
HEDDLE_API const char *heddle_compiled_ptx(const heddle_compiled *compiled, size_t *n_bytes);
/* What ptxas made of it; NULL and 0 without ptxas. */
HEDDLE_API const void *heddle_compiled_cubin(const heddle_compiled *compiled, size_t *n_bytes);
/* JSON: what heddle_kernel_load (heddle/kernel.h) takes; a NUL follows its n_bytes. */
HEDDLE_API const char *heddle_compiled_manifest(const heddle_compiled *compiled, size_t *n_bytes);
/* The whole schedule: as heddle_compile_options.schedule it makes the same kernel again. */
HEDDLE_API const char *heddle_compiled_schedule(const heddle_compiled *compiled);

#ifdef __cplusplus
}
#endif
#endif
