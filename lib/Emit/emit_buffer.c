#include "Emit/emit_buffer.h"

heddle_status hd_emit_rows(hd_emitter *e, const hd_op *user, const hd_value *buffer,
                           hd_rows *rows) {
  const hd_op *op = hd_emit_def(buffer);
  int64_t swizzle = hd_op_int(op, HD_ATTR_SWIZZLE, 0);
  hd_rows made = {.slot_bytes = hd_op_int(op, HD_ATTR_BYTES, 0),
                  .rows = hd_op_int(op, HD_ATTR_ROWS, 0),
                  .panel = hd_op_int(op, HD_ATTR_PANEL, 0),
                  .mask = swizzle >= 32 ? swizzle - 16 : 0};
  if (!hd_op_is(op, HD_ATTR_LAYOUT, "rows"))
    return hd_error(e->ctx, HEDDLE_INVALID, user->loc, "emit.layout",
                    "%s of a buffer with another layout; legal: rows",
                    hd_op_get_info(user->kind)->text);
  bool known = swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128;
  if (!known || made.panel < 16 || made.panel % 16 || made.panel < swizzle || made.rows <= 0)
    return hd_error(e->ctx, HEDDLE_INVALID, user->loc, "emit.layout",
                    "rows = %lld, panel = %lld, swizzle = %lld; legal: swizzle 0, 32, 64 or 128 "
                    "and a panel at least as wide",
                    (long long)made.rows, (long long)made.panel, (long long)swizzle);
  *rows = made;
  return HEDDLE_OK;
}

LLVMValueRef hd_emit_swizzle(hd_emitter *e, const hd_rows *rows, LLVMValueRef byte) {
  if (rows->mask == 0)
    return byte;
  LLVMValueRef high = LLVMBuildLShr(e->b, byte, hd_emit_i32(e, HD_SWIZZLE_SHIFT), "");
  return hd_emit_xor(e, byte, hd_emit_and(e, high, hd_emit_i32(e, rows->mask)));
}

LLVMValueRef hd_emit_rows_byte(hd_emitter *e, const hd_rows *rows, LLVMValueRef r,
                               LLVMValueRef c) {
  LLVMValueRef panel = hd_emit_muli(e, hd_emit_divi(e, c, rows->panel), rows->rows * rows->panel);
  LLVMValueRef inside =
      hd_emit_add(e, hd_emit_muli(e, r, rows->panel), hd_emit_remi(e, c, rows->panel));
  return hd_emit_add(e, panel, hd_emit_swizzle(e, rows, inside));
}
