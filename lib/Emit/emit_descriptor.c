#include "Emit/emit_descriptor.h"

enum { UNIT = 16 /* bytes of an address in a descriptor */, ADDRESS_MASK = 0x3ffff };
/* B K-major, 128-byte swizzle: 8-row groups 1024 bytes apart, 64 bytes per k-step. B MN-major:
 * panels of 64 n (LBO apart), groups of 8 rows of k 1024 bytes apart (SBO), 32 rows per k-step. */
enum { B_STEP_BYTES = 64, B_STEP_K16 = 32, B_SBO = 1024, B_PANEL = 128, B_SWIZZLE_MASK = 0x70 };

const hd_canonical hd_packed_a_form = {false, HD_SMEM_NONE, 128, 256};

LLVMValueRef hd_emit_descriptor(hd_emitter *e, const hd_operand_place *at, uint64_t fields) {
  LLVMValueRef inside = hd_emit_and(e, at->first, hd_emit_i32(e, ADDRESS_MASK));
  LLVMValueRef low = LLVMBuildLShr(e->b, inside, hd_emit_i32(e, 4), "");
  low = LLVMBuildOr(e->b, low, hd_emit_i32(e, (int32_t)(uint32_t)fields), "");
  low = hd_emit_add(e, low, hd_emit_muli(e, at->slot, at->slot_bytes / UNIT));
  low = hd_emit_addi(e, low, at->step_bytes / UNIT);
  LLVMValueRef high = hd_emit_i64(e, (int64_t)(fields & 0xffffffff00000000u));
  return LLVMBuildOr(e->b, LLVMBuildZExt(e->b, low, e->i64, ""), high, "");
}

heddle_status hd_emit_descriptor_b(hd_emitter *e, const hd_op *op, const hd_value *buffer,
                                   const hd_value *cursor,
                                   uint64_t (*encode)(const hd_canonical *form),
                                   LLVMValueRef *result) {
  hd_rows rows;
  HD_TRY(hd_emit_rows(e, op, buffer, &rows));
  if (rows.panel != B_PANEL || rows.mask != B_SWIZZLE_MASK)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.layout",
                    "B by descriptor of panel = %lld; legal: panel = %d, swizzle = %d",
                    (long long)rows.panel, (int)B_PANEL, (int)B_SWIZZLE_MASK + 16);
  bool trans = hd_op_has(op, HD_ATTR_TRANS);
  int64_t step = hd_op_int(op, HD_ATTR_STEP, 0);
  hd_canonical form = {trans, HD_SMEM_128B, trans ? (uint32_t)(rows.rows * B_PANEL) : 0, B_SBO};
  hd_operand_place at = {hd_emit_get1(e, buffer), hd_emit_get(e, cursor, NULL)[0], rows.slot_bytes,
                         step * (trans ? B_STEP_K16 * B_PANEL : B_STEP_BYTES)};
  *result = hd_emit_descriptor(e, &at, encode(&form));
  return HEDDLE_OK;
}
