/* mma.sp of a warp, read from its spec row: by LLVM's intrinsic, or as inline asm. */
#include <string.h>

#include "Emit/emit_instruction.h"

/* What the instruction takes, in the order of its text: d, a, b, c, metadata, selector. */
typedef struct mma_call {
  const hd_spec_row *row;
  LLVMValueRef *a, *b, *c, meta;
  int64_t selector;
} mma_call;

/* Registers travel as f32 or i32; halves of other types are cast to what the intrinsic names. */
static void by_intrinsic(hd_emitter *e, const mma_call *m, LLVMValueRef *d) {
  const hd_operand *o = m->row->operand;
  LLVMValueRef args[64];
  int32_t n = 0;
  for (int i = 0; i < o[HD_OPERAND_A].n_regs; i++)
    args[n++] = m->a[i];
  for (int i = 0; i < o[HD_OPERAND_B].n_regs; i++)
    args[n++] = m->b[i];
  for (int i = 0; i < o[HD_OPERAND_C].n_regs; i++)
    args[n++] = m->c[i];
  args[n++] = m->meta;
  args[n++] = hd_emit_i32(e, m->selector);
  LLVMValueRef all = hd_emit_intrinsic(e, m->row->llvm_intrinsic, args, n);
  for (unsigned i = 0; i < o[HD_OPERAND_D].n_regs && !e->failed; i++)
    d[i] = LLVMBuildExtractValue(e->b, all, i, "");
}

static void by_asm(hd_emitter *e, const mma_call *m, LLVMValueRef *d) {
  const hd_operand *o = m->row->operand;
  const hd_emit_number selector = {"f", m->selector};
  LLVMValueRef inputs[64];
  int32_t n = 0;
  for (int i = 0; i < o[HD_OPERAND_A].n_regs; i++)
    inputs[n++] = m->a[i];
  for (int i = 0; i < o[HD_OPERAND_B].n_regs; i++)
    inputs[n++] = m->b[i];
  for (int i = 0; i < o[HD_OPERAND_C].n_regs; i++)
    inputs[n++] = m->c[i];
  inputs[n++] = m->meta;
  hd_emit_row_asm(e, m->row, inputs, &selector, 1, d);
}

/* Operands of the op: c, a, b, metadata. */
static heddle_status check_registers(hd_emitter *e, const hd_op *op, const hd_spec_row *row) {
  static const hd_operand_id order[] = {HD_OPERAND_C, HD_OPERAND_A, HD_OPERAND_B};
  for (size_t i = 0; i < HD_COUNT(order); i++) {
    int32_t n = hd_emit_type_count(op->operands[i]->type);
    if (n != row->operand[order[i]].n_regs)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.registers",
                      "operand %d of %s has %d registers; %s takes %d", (int)i,
                      hd_op_get_info(op->kind)->text, n, row->name,
                      row->operand[order[i]].n_regs);
  }
  return HEDDLE_OK;
}

heddle_status hd_emit_op_mma_sp(hd_emitter *e, const hd_op *op) {
  mma_call m = {.selector = hd_op_int(op, HD_ATTR_SELECTOR, 0)};
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_MMA_SP, m.selector, &m.row));
  HD_TRY(check_registers(e, op, m.row));
  m.c = hd_emit_get(e, op->operands[0], NULL);
  m.a = hd_emit_get(e, op->operands[1], NULL);
  m.b = hd_emit_get(e, op->operands[2], NULL);
  m.meta = hd_emit_get1(e, op->operands[3]);
  LLVMValueRef d[16] = {0};
  const char *name = m.row->llvm_intrinsic;
  if (name && LLVMLookupIntrinsicID(name, strlen(name)))
    by_intrinsic(e, &m, d);
  else
    by_asm(e, &m, d);
  int32_t n = hd_emit_type_count(op->results[0]->type);
  for (int32_t i = 0; i < n && !e->failed; i++)
    d[i] = hd_emit_bitcast(e, d[i], hd_emit_type_of(e, op->results[0]->type));
  if (!e->failed)
    hd_emit_set(e, op->results[0], d, n);
  return e->failed ? HEDDLE_INTERNAL : HEDDLE_OK;
}
