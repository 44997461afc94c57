/* Emit/emit_descriptor.h: the 64-bit matrix descriptors of wgmma and tcgen05.mma operands in shared
 * memory: constant fields (Spec/descriptor.c) and (address & 0x3ffff) >> 4, as the PTX ISA's
 * matrix-descriptor-encode requires. In a cluster the higher address bits hold the CTA's rank.
 *
 *   63 .. 61 | 45 .. 32 | 29 .. 16 | 13 .. 0
 *   swizzle    SBO>>4     LBO>>4    address>>4 */
#ifndef HD_EMIT_DESCRIPTOR_H
#define HD_EMIT_DESCRIPTOR_H

#include "Emit/emit_buffer.h"

/* `first` is the same in every iteration of the loop. Slot and step are added to the encoded
 * address field; this cannot overflow the field, since shared memory ends below 2^18 bytes. */
typedef struct hd_operand_place {
  LLVMValueRef first, slot; /* i32: address of slot 0; index of the slot */
  int64_t slot_bytes, step_bytes;
} hd_operand_place;

/* 64 rows of packed A, one k-step: groups of 8 rows are 256 bytes apart (SBO), 16-byte halves 128
 * bytes (LBO; docs/format.md). */
extern const hd_canonical hd_packed_a_form;

LLVMValueRef hd_emit_descriptor(hd_emitter *e, const hd_operand_place *at, uint64_t fields);
/* The descriptor of the op's k-step of B, K-major or (trans) MN-major. HEDDLE_UNSUPPORTED if no
 * descriptor exists for the buffer's layout. */
heddle_status hd_emit_descriptor_b(hd_emitter *e, const hd_op *op, const hd_value *buffer,
                                   const hd_value *cursor,
                                   uint64_t (*encode)(const hd_canonical *form),
                                   LLVMValueRef *result);

#endif
