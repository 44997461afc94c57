/* Copies by the async proxy: bulk copies and tensor-map boxes. */
#include "Emit/emit_state.h"

enum { MAX_RANK = 5 }; /* of a tensor map */

static LLVMValueRef i1_const(hd_emitter *e, bool value) {
  return LLVMConstInt(e->i1, value, false);
}

/* The destination: slot `cursor` of the buffer plus `offset`. The barrier's slot is `cursor` as
 * well. */
static LLVMValueRef destination(hd_emitter *e, const hd_op *op, const hd_value *buffer,
                                const hd_value *cursor) {
  const hd_op *def = hd_emit_def(buffer);
  LLVMValueRef slot = hd_emit_slot(e, buffer, cursor, hd_op_int(def, HD_ATTR_BYTES, 0));
  LLVMValueRef at = hd_emit_addi(e, slot, hd_op_int(op, HD_ATTR_OFFSET, 0));
  return hd_emit_shared_ptr(e, at, HD_AS_CLUSTER);
}

static heddle_status barrier_slot(hd_emitter *e, const hd_op *op, int32_t index,
                                  const hd_value *cursor, LLVMValueRef *barrier) {
  if (op->n_operands <= index)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.copy",
                    "%s without the barrier that it completes on; legal: one",
                    hd_op_get_info(op->kind)->text);
  LLVMValueRef at = hd_emit_slot(e, op->operands[index], cursor, HD_BARRIER_BYTES);
  *barrier = hd_emit_shared_ptr(e, at, HD_AS_SHARED);
  return HEDDLE_OK;
}

/* Operands: ptr, byte offset, buffer, cursor, barrier. */
heddle_status hd_emit_op_copy_bulk(hd_emitter *e, const hd_op *op) {
  int64_t mask = hd_op_int(op, HD_ATTR_MULTICAST, 0);
  LLVMValueRef source = hd_emit_global_at(e, hd_emit_get1(e, hd_copy_bulk_source(op)),
                                          hd_emit_get1(e, hd_copy_bulk_offset(op)));
  LLVMValueRef barrier = NULL;
  HD_TRY(barrier_slot(e, op, HD_AT_copy_bulk_barrier, hd_copy_bulk_cursor(op), &barrier));
  LLVMValueRef args[] = {destination(e, op, hd_copy_bulk_buffer(op), hd_copy_bulk_cursor(op)),
                         barrier,
                         source,
                         hd_emit_i32(e, hd_op_int(op, HD_ATTR_BYTES, 0)),
                         LLVMConstInt(LLVMInt16TypeInContext(e->llvm), (uint64_t)mask, false),
                         hd_emit_i64(e, 0),
                         i1_const(e, mask != 0),
                         i1_const(e, false)};
  hd_emit_intrinsic(e, "llvm.nvvm.cp.async.bulk.global.to.shared.cluster", args, 8);
  return HEDDLE_OK;
}

/* Operands: tensor map, buffer, cursor, coordinates of dimension 0 and of the last one (of a batch:
 * of the last but one, then the matrix), barrier. */
heddle_status hd_emit_op_copy_tma(hd_emitter *e, const hd_op *op) {
  int64_t mask = hd_op_int(op, HD_ATTR_MULTICAST, 0);
  int32_t rank = hd_op_attr(hd_emit_def(hd_copy_tma_map(op)), HD_ATTR_BOX)->n;
  const hd_value *g = hd_op_batch(op, HD_AT_copy_tma_g);
  LLVMValueRef barrier = NULL;
  HD_TRY(barrier_slot(e, op, hd_copy_tma_barrier_at(op), hd_copy_tma_cursor(op), &barrier));
  LLVMValueRef args[3 + MAX_RANK + 5] = {
      destination(e, op, hd_copy_tma_buffer(op), hd_copy_tma_cursor(op)), barrier,
      hd_emit_get1(e, hd_copy_tma_map(op))};
  LLVMValueRef *at = args + 3;
  int32_t last = g ? rank - 2 : rank - 1;
  for (int32_t i = 0; i < rank; i++)
    *at++ = i == 0      ? hd_emit_get1(e, hd_copy_tma_first(op))
            : i == last ? hd_emit_get1(e, hd_copy_tma_last(op))
            : i > last  ? hd_emit_get1(e, g)
                        : hd_emit_i32(e, 0);
  *at++ = LLVMConstInt(LLVMInt16TypeInContext(e->llvm), (uint64_t)mask, false);
  *at++ = hd_emit_i64(e, 0);
  *at++ = i1_const(e, mask != 0);
  *at++ = i1_const(e, false);
  *at++ = hd_emit_i32(e, 0);
  const char *name = hd_arena_printf(&e->arena, "llvm.nvvm.cp.async.bulk.tensor.g2s.tile.%dd",
                                     (int)rank);
  hd_emit_intrinsic(e, name, args, (unsigned)(at - args));
  return HEDDLE_OK;
}
