/* Emit/emit_buffer.h: byte offsets of elements inside a slot of a buffer. */
#ifndef HD_EMIT_BUFFER_H
#define HD_EMIT_BUFFER_H

#include "Emit/emit_state.h"

/* A buffer of layout rows: byte c of row r is at (c / panel) * rows * panel + swizzle(r * panel +
 * c % panel). The swizzle of 128 (64, 32) bytes XORs address bits 7-9 (7-8, 7) into bits 4-6 (4-5,
 * 4):
 *
 *      9 8 7 | 6 5 4 | 3..0
 *      r r r   c c c   byte of the 16-byte chunk     (panel 128)
 */
typedef struct hd_rows {
  int64_t slot_bytes, rows, panel;
  int64_t mask; /* the bits that the XOR changes: 0x70, 0x30, 0x10 or 0 */
} hd_rows;

enum { HD_SWIZZLE_SHIFT = 3 };

/* HEDDLE_INVALID if the layout is not rows, or if rows, panel or swizzle are not legal. */
heddle_status hd_emit_rows(hd_emitter *e, const hd_op *user, const hd_value *buffer, hd_rows *rows);

/* The byte offset of (r, c), all i32. */
LLVMValueRef hd_emit_rows_byte(hd_emitter *e, const hd_rows *rows, LLVMValueRef r, LLVMValueRef c);
/* Only the swizzle. */
LLVMValueRef hd_emit_swizzle(hd_emitter *e, const hd_rows *rows, LLVMValueRef byte);

#endif
