/* Partial sums exchanged within a cluster: st.async to the CTA that owns the columns, which adds
 * them. */
#include <string.h>

#include "Emit/emit_strip.h"

/* Address of this lane's first vector in slot `slot`, from its byte `place` on. */
static LLVMValueRef lane_place(hd_emitter *e, const hd_value *buffer, LLVMValueRef slot,
                               const hd_value *place) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef lane = hd_emit_muli(e, e->lane, HD_VECTOR_BYTES);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef at = hd_emit_muli(e, slot, hd_op_int(hd_emit_def(buffer), HD_ATTR_BYTES, 0));
  at = hd_emit_add(e, hd_emit_add(e, at, hd_emit_get1(e, place)), lane);
  return hd_emit_add(e, hd_emit_get1(e, buffer), at);
}

static LLVMValueRef in_cta(hd_emitter *e, LLVMValueRef address, int64_t rank) {
  return hd_emit_asm(e, e->i32,
                     hd_arena_printf(&e->arena, "mapa.shared::cluster.u32 $0, $1, %d;", (int)rank),
                     "=r,r", &address, 1, HD_ASM_PURE);
}

/* Operands: buffer, place, split, splits, k-blocks, fragment, barrier. */
heddle_status hd_emit_op_partial_send(hd_emitter *e, const hd_op *op) {
  const hd_type type = hd_partial_send_acc(op)->type;
  bool integer = type.elem == HEDDLE_S32;
  int64_t owner = hd_op_int(op, HD_ATTR_OWNER, 0);
  /* A CTA has one slot for each other split, and none for its own. */
  LLVMValueRef split = hd_emit_get1(e, hd_partial_send_split(op));
  LLVMValueRef below = LLVMBuildICmp(e->b, LLVMIntULT, split, hd_emit_i32(e, owner), "");
  LLVMValueRef slot = hd_emit_select(e, below, split, hd_emit_addi(e, split, -1));
  LLVMValueRef to =
      in_cta(e, lane_place(e, hd_partial_send_buffer(op), slot, hd_partial_send_place(op)), owner);
  LLVMValueRef done = hd_emit_get1(e, hd_partial_send_barrier(op));
  done = in_cta(e, hd_emit_add(e, done, hd_emit_muli(e, slot, HD_BARRIER_BYTES)), owner);
  int32_t n_regs;
  LLVMValueRef *regs = hd_emit_get(e, hd_partial_send_acc(op), &n_regs);
  LLVMValueRef *x = HD_NEW_ARRAY(&e->arena, LLVMValueRef, type.n);
  hd_emit_accumulators(e, type.elem, regs, n_regs, x);
  for (int32_t i = 0; i < type.n; i += HD_VECTOR) {
    LLVMValueRef args[] = {to, done, x[i], x[i + 1], x[i + 2], x[i + 3]};
    hd_emit_asm(e, e->none,
                hd_arena_printf(&e->arena,
                                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                                "[$0+%d], {$2, $3, $4, $5}, [$1];",
                                hd_part_offset(i)),
                integer ? "r,r,r,r,r,r" : "r,r,f,f,f,f", args, 2 + HD_VECTOR, HD_ASM_MEMORY);
  }
  return HEDDLE_OK;
}

/* sum[0..3] += the vector at `at`. Load and addition are one asm: LLVM would move the additions
 * after the loads of all vectors, for which there are not enough registers. */
static void add_vector(hd_emitter *e, LLVMValueRef at, int32_t offset, bool integer,
                       LLVMValueRef *sum) {
  LLVMTypeRef type = integer ? e->i32 : e->f32, types[] = {type, type, type, type};
  LLVMValueRef args[] = {at, sum[0], sum[1], sum[2], sum[3]};
  const char *word = integer ? "s32" : "f32";
  const char *text =
      hd_arena_printf(&e->arena,
                      "{ .reg .b32 x<4>;\n\tld.shared.v4.b32 {x0, x1, x2, x3}, [$4+%d];\n\t"
                      "add.%s $0, $0, x0;\n\tadd.%s $1, $1, x1;\n\t"
                      "add.%s $2, $2, x2;\n\tadd.%s $3, $3, x3; }",
                      (int)offset, word, word, word, word);
  LLVMValueRef all = hd_emit_asm(e, LLVMStructTypeInContext(e->llvm, types, HD_VECTOR, false), text,
                                 integer ? "=r,=r,=r,=r,r,0,1,2,3" : "=f,=f,=f,=f,r,0,1,2,3", args,
                                 1 + HD_VECTOR, HD_ASM_MEMORY);
  for (unsigned i = 0; i < HD_VECTOR; i++)
    sum[i] = LLVMBuildExtractValue(e->b, all, i, "");
}

/* Operands: buffer, cursor, place, split, splits, k-blocks, fragment. */
heddle_status hd_emit_op_partial_add(hd_emitter *e, const hd_op *op) {
  int32_t n;
  LLVMValueRef *own = hd_emit_get(e, hd_partial_add_acc(op), &n);
  LLVMValueRef *sum = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  LLVMValueRef slot = hd_emit_get(e, hd_partial_add_cursor(op), NULL)[0];
  LLVMValueRef at = lane_place(e, hd_partial_add_buffer(op), slot, hd_partial_add_place(op));
  memcpy(sum, own, sizeof *sum * (size_t)n);
  for (int32_t i = 0; i < n; i += HD_VECTOR)
    add_vector(e, at, hd_part_offset(i), hd_partial_add_acc(op)->type.elem == HEDDLE_S32, sum + i);
  hd_emit_set(e, op->results[0], sum, n);
  return HEDDLE_OK;
}
