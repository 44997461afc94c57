/* Emit/emit_instruction.h: the inline asm of a spec row. Text, operands and constraints are
 * generated only from the row. */
#ifndef HD_EMIT_INSTRUCTION_H
#define HD_EMIT_INSTRUCTION_H

#include "Emit/emit_state.h"

/* An immediate in the text: the sparsity selector, a sign, a transpose flag. */
typedef struct hd_emit_number {
  const char *word; /* in the row's operand list, for example "sp-sel" */
  int64_t value;
} hd_emit_number;

/* The LLVM types of the inputs and results, one per register, in the order of the operand list.
 * Accumulators that are read and written are in both. Return their number, at most
 * HD_MAX_EMIT_ARGS. */
int32_t hd_emit_row_inputs(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types);
int32_t hd_emit_row_results(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types);

/* Emits the instruction with these inputs; fills in the results. Immediates that are not in
 * `numbers` are 0 (signs: 1). An operand that words[] does not have fails the compile. */
void hd_emit_row_asm(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                     const hd_emit_number *numbers, int32_t n_numbers, LLVMValueRef *results);
/* The same with the results, and the inputs tied to them, in pinned registers. */
void hd_emit_row_asm_pinned(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                            const hd_emit_number *numbers, int32_t n_numbers, int32_t pinned);

#endif
