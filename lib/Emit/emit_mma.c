/* mma.sp of a warp, read from its spec row: by LLVM's intrinsic, or as inline asm. */
#include <stdio.h>
#include <string.h>

#include "Emit/emit_state.h"

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

static void add_list(hd_strbuf *text, int *next, int n) {
  hd_strbuf_add(text, "{");
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(text, "%s$%d", i ? ", " : "", (*next)++);
  hd_strbuf_add(text, "}, ");
}

static void by_asm(hd_emitter *e, const mma_call *m, LLVMValueRef *d) {
  static const hd_operand_id order[] = {HD_OPERAND_D, HD_OPERAND_A, HD_OPERAND_B, HD_OPERAND_C};
  LLVMValueRef *const values[] = {NULL, m->a, m->b, m->c};
  hd_strbuf text = {0}, constraints = {0};
  LLVMValueRef args[64];
  LLVMTypeRef results[16];
  int next = 0, n = 0;
  hd_strbuf_printf(&text, "%s ", m->row->ptx);
  for (size_t k = 0; k < HD_COUNT(order); k++) {
    const hd_operand *o = &m->row->operand[order[k]];
    add_list(&text, &next, o->n_regs);
    for (int i = 0; i < o->n_regs; i++) {
      hd_strbuf_printf(&constraints, "%s%s%c", constraints.len ? "," : "", k ? "" : "=", o->reg);
      if (k)
        args[n++] = values[k][i];
      else
        results[i] = o->reg == 'f' ? e->f32 : e->i32;
    }
  }
  args[n++] = m->meta;
  hd_strbuf_printf(&text, "$%d, %d;", next, (int)m->selector);
  hd_strbuf_add(&constraints, ",r");
  LLVMTypeRef type =
      LLVMStructTypeInContext(e->llvm, results, m->row->operand[HD_OPERAND_D].n_regs, false);
  LLVMValueRef all = hd_emit_asm(e, type, hd_strbuf_text(&text), hd_strbuf_text(&constraints), args,
                                 n, HD_ASM_PURE);
  for (unsigned i = 0; i < m->row->operand[HD_OPERAND_D].n_regs; i++)
    d[i] = LLVMBuildExtractValue(e->b, all, i, "");
  hd_strbuf_free(&text);
  hd_strbuf_free(&constraints);
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
