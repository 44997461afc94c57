/* emit_bare.h: spec rows alone, one kernel a row: what LLVM and ptxas make of each of them. */
#ifndef HD_EMIT_BARE_H
#define HD_EMIT_BARE_H

#include <stddef.h>

#include "Spec/spec.h"
#include "heddle/context.h"

/* One PTX text with an entry a row, named as the row: it takes what the instruction takes and a
 * pointer that its results are stored to. Immediates: selector 0, no negation, no transpose, no
 * scale-vector shift; a register count that setmaxnreg allows. The instruction is the row's LLVM
 * intrinsic or, where it has none, inline asm from its operand list. The rows must be legal on the
 * target at that version (90 for 9.0; one that LLVM 22 knows): HEDDLE_UNSUPPORTED otherwise. *ptx
 * is owned (hd_free). */
heddle_status hd_emit_bare_rows(heddle_context *ctx, const hd_target *target, unsigned ptx_version,
                                const hd_spec_row *const *rows, size_t n_rows, char **ptx,
                                size_t *n_bytes);

/* The least PTX version that LLVM 22 knows and the row is legal at on the target; 0: none. */
unsigned hd_emit_bare_version(const hd_spec_row *row, const hd_target *target);

#endif
