/* emit_bare.h: emits each spec row alone in a kernel of its own, to test what LLVM and ptxas make
 * of it. */
#ifndef HD_EMIT_BARE_H
#define HD_EMIT_BARE_H

#include <stddef.h>

#include "Spec/spec.h"
#include "heddle/context.h"

/* Emits one PTX text with an entry for each row, named as the row. The parameters of an entry are
 * the instruction's operands and a pointer to which its results are stored. Immediates: selector 0,
 * no negation, no transpose, no scale-vector shift; a register count that setmaxnreg allows. The
 * instruction is the row's LLVM intrinsic or, if it has none, inline asm from its operand list. The
 * rows must be legal on the target at that version (90 for 9.0; one that LLVM 22 supports);
 * otherwise HEDDLE_UNSUPPORTED. *ptx is owned (hd_free). */
heddle_status hd_emit_bare_rows(heddle_context *ctx, const hd_target *target, unsigned ptx_version,
                                const hd_spec_row *const *rows, size_t n_rows, char **ptx,
                                size_t *n_bytes);

/* The minimum PTX version that LLVM 22 supports and at which the row is legal on the target; 0:
 * none. */
unsigned hd_emit_bare_version(const hd_spec_row *row, const hd_target *target);

#endif
