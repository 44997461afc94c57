/* Emit/emit.h: translates the role level (with synchronisation, checked) to an LLVM module and to
 * PTX. The only user of LLVM-C; exposes no LLVM type. Adds no memory access and no synchronisation
 * to those of the kernel. */
#ifndef HD_EMIT_H
#define HD_EMIT_H

#include "Emit/user_ir.h"
#include "IR/ir.h"
#include "Support/arena.h"

/* Zero-initialise; every field may stay 0. All borrowed for the call. */
typedef struct hd_emit_options {
  int32_t ptx_version;       /* 86 is PTX 8.6; 0: the target's, from its spec row */
  const char *header;        /* text of the comment above the PTX; lines are split at \n */
  hd_user_source user;       /* LLVM IR that defines the user's epilogue */
  int32_t n_threads;         /* that emit kernels in parallel; 0: only the caller's */
} hd_emit_options;

/* A kernel. Kernels whose code is the same share an entry point: the last one's. */
typedef struct hd_emit_kernel {
  const char *entry;
  int32_t n_threads;    /* of a CTA */
  int32_t cluster;      /* CTAs along x; 1 = none */
  int32_t shared_bytes; /* dynamic */
  int32_t n_params;
  const hd_op *
      *param; /* the `arg` and `tmap` ops of the kernel, in program order: the parameters */
} hd_emit_kernel;

typedef struct hd_emit_result {
  char *ptx; /* owned, NUL-terminated */
  size_t n_bytes;
  int32_t n_kernels;
  hd_emit_kernel *kernel; /* in the order of the module */
  hd_arena arena;         /* holds the kernels; param points into the module */
} hd_emit_result;

/* Lowers all kernels of a module (one target) into one PTX text. The same module and options give
 * the same bytes, whatever n_threads is. HEDDLE_INVALID or HEDDLE_UNSUPPORTED if the kernel or the
 * user's function cannot be lowered; HEDDLE_INTERNAL if LLVM rejects the module that we built.
 * Thread-safe: each kernel has its own LLVM context. *result is owned: hd_emit_result_free. */
heddle_status hd_emit_ptx(heddle_context *ctx, const hd_module *module,
                          const hd_emit_options *options, hd_emit_result *result);
void hd_emit_result_free(hd_emit_result *result); /* accepts NULL */

/* The parameters of a kernel, without emitting it: its `arg` and `tmap` ops in program order. The
 * array is allocated in the arena. */
const hd_op **hd_emit_params(const hd_op *kernel, hd_arena *arena, int32_t *n);

#endif
