/* mma.sp, generated from its spec row: as LLVM's intrinsic, or as inline asm. */
#include <string.h>

#include "Emit/emit_instruction.h"

/* The inputs. The order in the text is d, a, b, c, metadata, selector, and if the row has block
 * scales A's data, byte-id and thread-id, then B's. */
typedef struct mma_call {
  const hd_spec_row *row;
  LLVMValueRef *a, *b, *c, meta, scales[2]; /* NULL: none */
  int64_t selector;
  const int64_t *ids;
} mma_call;

enum { MAX_INPUTS = 64 };

/* Collects the registers of a, b, c and metadata. Returns their number. */
static int32_t gather(const mma_call *m, LLVMValueRef *inputs) {
  static const hd_operand_id order[] = {HD_OPERAND_A, HD_OPERAND_B, HD_OPERAND_C};
  LLVMValueRef *const from[] = {m->a, m->b, m->c};
  int32_t n = 0;
  for (size_t i = 0; i < HD_COUNT(order); i++)
    for (int32_t j = 0; j < m->row->operand[order[i]].n_regs; j++)
      inputs[n++] = from[i][j];
  inputs[n++] = m->meta;
  return n;
}

/* Registers are f32 or i32 values; hd_emit_intrinsic casts them to the intrinsic's types. */
static void by_intrinsic(hd_emitter *e, const mma_call *m, LLVMValueRef *d) {
  LLVMValueRef args[MAX_INPUTS];
  int32_t n = gather(m, args);
  args[n++] = hd_emit_i32(e, m->selector);
  LLVMValueRef all = hd_emit_intrinsic(e, m->row->llvm_intrinsic, args, n);
  for (unsigned i = 0; i < m->row->operand[HD_OPERAND_D].n_regs && !e->failed; i++)
    d[i] = LLVMBuildExtractValue(e->b, all, i, "");
}

static void by_asm(hd_emitter *e, const mma_call *m, LLVMValueRef *d) {
  static const int64_t no_ids[4] = {0};
  const int64_t *ids = m->ids ? m->ids : no_ids;
  const hd_emit_number numbers[] = {{"f", m->selector},
                                    {"byte-id-a", ids[0]},
                                    {"thread-id-a", ids[1]},
                                    {"byte-id-b", ids[2]},
                                    {"thread-id-b", ids[3]}};
  LLVMValueRef inputs[MAX_INPUTS];
  int32_t n = gather(m, inputs);
  for (int i = 0; i < 2 && m->scales[i]; i++)
    inputs[n++] = m->scales[i];
  hd_emit_row_asm(e, m->row, inputs, numbers, HD_COUNT(numbers), d);
}

static heddle_status begin(hd_emitter *e, const hd_op *op, mma_call *m) {
  static const hd_operand_id order[] = {HD_OPERAND_C, HD_OPERAND_A, HD_OPERAND_B};
  *m = (mma_call){.selector = hd_op_int(op, HD_ATTR_SELECTOR, 0)};
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_MMA_SP, m->selector, &m->row));
  for (size_t i = 0; i < HD_COUNT(order); i++) {
    int32_t n = hd_emit_type_count(op->operands[i]->type);
    if (n != m->row->operand[order[i]].n_regs)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.registers",
                      "operand %d of %s has %d registers; legal: %d, as %s takes", (int)i,
                      hd_op_get_info(op->kind)->text, n, m->row->operand[order[i]].n_regs,
                      m->row->name);
  }
  m->c = hd_emit_get(e, hd_mma_acc(op), NULL);
  m->a = hd_emit_get(e, hd_mma_a(op), NULL);
  m->b = hd_emit_get(e, hd_mma_b(op), NULL);
  m->meta = hd_emit_get1(e, hd_mma_metadata(op));
  return HEDDLE_OK;
}

static heddle_status end(hd_emitter *e, const hd_op *op, LLVMValueRef *d) {
  int32_t n = hd_emit_type_count(op->results[0]->type);
  for (int32_t i = 0; i < n && !e->failed; i++)
    d[i] = hd_emit_bitcast(e, d[i], hd_emit_type_of(e, op->results[0]->type));
  if (!e->failed)
    hd_emit_set(e, op->results[0], d, n);
  return e->failed ? HEDDLE_INTERNAL : HEDDLE_OK;
}

heddle_status hd_emit_op_mma_sp(hd_emitter *e, const hd_op *op) {
  mma_call m;
  LLVMValueRef d[16] = {0};
  HD_TRY(begin(e, op, &m));
  const char *name = m.row->llvm_intrinsic;
  if (name && LLVMLookupIntrinsicID(name, strlen(name)))
    by_intrinsic(e, &m, d);
  else
    by_asm(e, &m, d);
  return end(e, op, d);
}

/* As inline asm, because the intrinsics take byte-ids and thread-ids in registers. */
heddle_status hd_emit_op_mma_sp_scaled(hd_emitter *e, const hd_op *op) {
  mma_call m;
  LLVMValueRef d[16] = {0};
  HD_TRY(begin(e, op, &m));
  for (int i = 0; i < 2; i++)
    m.scales[i] = hd_emit_get1(e, op->operands[HD_AT_mma_scaled_scale_a + i]);
  m.ids = hd_op_attr(op, HD_ATTR_SCALE_IDS)->ints;
  by_asm(e, &m, d);
  return end(e, op, d);
}
