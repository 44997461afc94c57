/* Factors of columns in shared memory: of a finished store 1 / scale of D, else scale_b. */
#include "Emit/emit_strip.h"

enum { QUAD = 4, FLOAT_BYTES = 4 };

LLVMValueRef hd_emit_slot_at(hd_emitter *e, const hd_value *buffer, LLVMValueRef slot) {
  int64_t bytes = hd_op_int(hd_emit_def(buffer), HD_ATTR_BYTES, 0);
  return hd_emit_add(e, hd_emit_get1(e, buffer), hd_emit_muli(e, slot, bytes));
}

/* Address of the factor of this lane's first column: column run * (lane % 4) of the strip. */
LLVMValueRef hd_emit_factors(hd_emitter *e, const hd_strip *s) {
  const hd_op *store = s->op;
  int32_t at = hd_strip_factors_at(store);
  LLVMValueRef slot = hd_emit_get1(e, store->operands[at + 1]);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef lane = hd_emit_muli(e, hd_emit_remi(e, e->lane, QUAD), s->run * FLOAT_BYTES);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef from = hd_emit_addi(e, hd_emit_slot_at(e, store->operands[at], slot),
                                   hd_op_int(store, HD_ATTR_OFFSET, 0) * FLOAT_BYTES);
  return hd_emit_add(e, from, lane);
}

void hd_emit_read_factors(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef out[2]) {
  LLVMValueRef factors = s->factors;
  const char *text = hd_arena_printf(&e->arena, "ld.shared.v2.f32 {$0, $1}, [$2+%d];",
                                     (int)(hd_strip_column(s, b, 0) * FLOAT_BYTES));
  LLVMTypeRef two[] = {e->f32, e->f32};
  LLVMValueRef both = hd_emit_asm(e, LLVMStructTypeInContext(e->llvm, two, 2, false), text,
                                  "=f,=f,r", &factors, 1, HD_ASM_MEMORY);
  for (unsigned j = 0; j < 2; j++)
    out[j] = LLVMBuildExtractValue(e->b, both, j, "");
}
