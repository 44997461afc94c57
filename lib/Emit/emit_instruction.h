/* Emit/emit_instruction.h: the inline asm of a spec row: its text, its operands and their
 * constraints come from the row alone. */
#ifndef HD_EMIT_INSTRUCTION_H
#define HD_EMIT_INSTRUCTION_H

#include "Emit/emit_state.h"

/* A number that stands in the text: of the sparsity selector, a sign, a transpose. */
typedef struct hd_emit_number {
  const char *word; /* of the row's operand list: "sp-sel" */
  int64_t value;
} hd_emit_number;

/* The LLVM types of what the instruction takes and gives, a register each, in the order of its
 * operand list; an accumulator that it reads and writes stands in both. HD_MAX_EMIT_ARGS at most;
 * how many. */
int32_t hd_emit_row_inputs(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types);
int32_t hd_emit_row_results(hd_emitter *e, const hd_spec_row *row, LLVMTypeRef *types);

/* The instruction with those inputs; fills in the results. Numbers that are not named are 0 (signs:
 * 1). A row with an operand that has no word here fails the compile. */
void hd_emit_row_asm(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                     const hd_emit_number *numbers, int32_t n_numbers, LLVMValueRef *results);
/* The same with its results (and the inputs tied to them) pinned. */
void hd_emit_row_asm_pinned(hd_emitter *e, const hd_spec_row *row, LLVMValueRef const *inputs,
                            const hd_emit_number *numbers, int32_t n_numbers, int32_t pinned);

#endif
