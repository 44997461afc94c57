/* wgmma.mma_async.sp, as inline asm, since LLVM has no intrinsic. Accumulators are pinned or tied
 * operands, so that they stay in the same registers over the whole loop. */
#include "Emit/emit_pinned.h"
#include "Emit/emit_descriptor.h"
#include "Emit/emit_instruction.h"
#include "Layout/packed_format.h"

/* Packed A is a canonical K-major layout without swizzle: 8-row groups are 256 bytes apart (SBO),
 * 16-byte halves 128 bytes (LBO), k-steps 2048 bytes (docs/format.md). */
enum { UNIT = 16 /* bytes of an address in a descriptor */ };

/* Operands of SS: accumulators, A's buffer, cursor, slab, B's buffer, metadata, scale-d. */
static heddle_status descriptor_a(hd_emitter *e, const hd_op *op, LLVMValueRef *result) {
  const hd_op *def = hd_emit_def(hd_wgmma_ss_a(op));
  int64_t slab_bytes = hd_op_int(def, HD_ATTR_SLAB_BYTES, 0);
  if (!hd_op_is(def, HD_ATTR_LAYOUT, "packed_a") || slab_bytes <= 0 || slab_bytes % UNIT ||
      hd_op_has(def, HD_ATTR_BY_STEP))
    return hd_error(
        e->ctx, HEDDLE_INVALID, op->loc, "emit.layout",
        "A by descriptor of a buffer of another layout; legal: packed_a with slab_bytes");
  LLVMValueRef slab = hd_emit_muli(e, hd_emit_get1(e, hd_wgmma_ss_slab(op)), slab_bytes);
  hd_operand_place at = {hd_emit_add(e, hd_emit_get1(e, hd_wgmma_ss_a(op)), slab),
                         hd_emit_get(e, hd_wgmma_ss_cursor(op), NULL)[0],
                         hd_op_int(def, HD_ATTR_BYTES, 0),
                         hd_op_int(op, HD_ATTR_STEP, 0) * HD_STEP_VALUE_BYTES};
  *result = hd_emit_descriptor(e, &at, hd_wgmma_descriptor(&hd_packed_a_form));
  return HEDDLE_OK;
}

/* The inputs of one instruction. */
typedef struct wgmma_call {
  const hd_spec_row *row;
  LLVMValueRef *acc, *a_regs; /* a_regs NULL: by descriptor */
  LLVMValueRef a_desc, b_desc, meta, scale_d;
  int32_t n_acc, pinned;
  int64_t selector;
  bool trans_b;
} wgmma_call;

static void call_wgmma(hd_emitter *e, const wgmma_call *w, LLVMValueRef *result) {
  const hd_emit_number numbers[] = {{"sp-sel", w->selector}, {"imm-trans-b", w->trans_b}};
  int n_a = w->a_regs ? w->row->operand[HD_OPERAND_A].n_regs : 1, n = 0;
  LLVMValueRef inputs[HD_MAX_EMIT_ARGS];
  for (int i = 0; w->pinned == HD_NOT_PINNED && i < w->n_acc; i++)
    inputs[n++] = w->acc[i];
  for (int i = 0; i < n_a; i++)
    inputs[n++] = w->a_regs ? w->a_regs[i] : w->a_desc;
  inputs[n++] = w->b_desc;
  inputs[n++] = w->meta;
  inputs[n++] = w->scale_d;
  if (w->pinned != HD_NOT_PINNED)
    hd_emit_row_asm_pinned(e, w->row, inputs, numbers, HD_COUNT(numbers), w->pinned);
  else
    hd_emit_row_asm(e, w->row, inputs, numbers, HD_COUNT(numbers), result);
}

static heddle_status check_call(hd_emitter *e, const hd_op *op, const wgmma_call *w, bool ss) {
  if (w->row->a_in_registers == ss)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.row",
                    "row %s with A in %s; legal: in %s", w->row->name,
                    ss ? "shared memory" : "registers", ss ? "registers" : "shared memory");
  if (w->n_acc < w->row->operand[HD_OPERAND_D].n_regs || w->n_acc > 256)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.registers",
                    "the accumulators have %d registers; legal: %d and more, as %s takes", w->n_acc,
                    w->row->operand[HD_OPERAND_D].n_regs, w->row->name);
  if (w->trans_b && !(w->row->modifiers & HD_MOD_TRANS_B))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.trans",
                    "row %s with trans; legal: B K-major", w->row->name);
  return HEDDLE_OK;
}

/* SS: acc, A buffer, cursor, slab, B buffer, metadata, scale-d. RS: acc, a, B buffer, cursor,
 * metadata, scale-d. */
heddle_status hd_emit_op_wgmma(hd_emitter *e, const hd_op *op) {
  bool ss = op->kind == HD_OP_WGMMA_SS;
  wgmma_call w = {.selector = hd_op_int(op, HD_ATTR_SELECTOR, 0),
                  .trans_b = hd_op_has(op, HD_ATTR_TRANS)};
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_WGMMA_SP, w.selector, &w.row));
  w.pinned = hd_emit_pinned_of(e, hd_wgmma_ss_acc(op));
  w.acc = hd_emit_get(e, hd_wgmma_ss_acc(op), &w.n_acc);
  if (w.pinned != HD_NOT_PINNED)
    w.n_acc = hd_emit_type_count(hd_wgmma_ss_acc(op)->type);
  HD_TRY(check_call(e, op, &w, ss));
  if (ss)
    HD_TRY(descriptor_a(e, op, &w.a_desc));
  else
    w.a_regs = hd_emit_get(e, hd_wgmma_rs_a(op), NULL);
  HD_TRY(hd_emit_descriptor_b(e, op, op->operands[ss ? 4 : 2], op->operands[ss ? 2 : 3],
                              hd_wgmma_descriptor, &w.b_desc));
  w.meta = hd_emit_get1(e, op->operands[ss ? 5 : 4]);
  w.scale_d = hd_emit_get1(e, op->operands[ss ? 6 : 5]);
  LLVMValueRef *d = HD_NEW_ARRAY(&e->arena, LLVMValueRef, w.n_acc);
  int32_t n_acc = w.n_acc;
  w.n_acc = w.row->operand[HD_OPERAND_D].n_regs;
  for (int32_t i = w.n_acc; w.pinned == HD_NOT_PINNED && i < n_acc; i++)
    d[i] = w.acc[i]; /* the instruction leaves them as they are */
  call_wgmma(e, &w, d);
  if (w.pinned == HD_NOT_PINNED)
    hd_emit_set(e, op->results[0], d, n_acc);
  return HEDDLE_OK;
}

/* ---- fence and wait ---- */

/* Values that the fence orders pass through asm before it. Otherwise LLVM could place a definition
 * or a copy of them after the fence. Pinned registers need no tie: only asm writes them. */
heddle_status hd_emit_op_wgmma_fence(hd_emitter *e, const hd_op *op) {
  hd_emit_promote_ahead(e, op);
  for (int32_t i = 0; i < op->n_operands; i++)
    if (hd_emit_pinned_of(e, op->operands[i]) == HD_NOT_PINNED)
      hd_emit_tie(e, "", op->operands[i], op->results[i]);
  hd_emit_asm(e, e->none, "wgmma.fence.sync.aligned;", "", NULL, 0, HD_ASM_MEMORY);
  return HEDDLE_OK;
}

/* Whether the group that makes a fragment has finished after the wait: more groups were committed
 * since than may be pending. */
static bool is_finished(const hd_op *wait, const hd_value *value) {
  int64_t committed = 0;
  for (const hd_op *op = wait; op && op != value->op; op = op->prev)
    committed += op->kind == HD_OP_WGMMA_COMMIT;
  return committed > hd_op_int(wait, HD_ATTR_PENDING, 0);
}

heddle_status hd_emit_op_wgmma_wait(hd_emitter *e, const hd_op *op) {
  int64_t pending = hd_op_int(op, HD_ATTR_PENDING, 0);
  const char *wait =
      hd_arena_printf(&e->arena, "wgmma.wait_group.sync.aligned %d;", (int)pending);
  hd_emit_asm(e, e->none, wait, "", NULL, 0, HD_ASM_MEMORY);
  /* Ordinary code reads finished accumulators next. LLVM would move it above the wait, on which it
   * does not depend, so they pass through asm after the wait, or are read there (pinned). */
  for (int32_t i = 0; i < op->n_operands; i++) {
    const hd_value *from = op->operands[i], *to = op->results[i];
    int32_t n;
    LLVMValueRef *v = hd_emit_get(e, from, &n);
    if (hd_emit_pinned_of(e, to) != HD_NOT_PINNED)
      continue;
    if (hd_emit_pinned_of(e, from) != HD_NOT_PINNED)
      hd_emit_pinned_read(e, from, to);
    else if (pending > 0 && !is_finished(op, from))
      hd_emit_set(e, to, v, n);
    else
      hd_emit_tie(e, "", from, to);
  }
  return HEDDLE_OK;
}
