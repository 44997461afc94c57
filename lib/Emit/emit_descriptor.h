/* Emit/emit_descriptor.h: the 64 bits that tell wgmma or tcgen05.mma where an operand lies in
 * shared memory: constant fields (Spec/descriptor.c says which) and (address & 0x3ffff) >> 4, as
 * the ISA's matrix-descriptor-encode says: in a cluster the bits above hold the CTA's rank.
 *
 *   63 .. 61 | 45 .. 32 | 29 .. 16 | 13 .. 0
 *   swizzle    SBO>>4     LBO>>4    address>>4 */
#ifndef HD_EMIT_DESCRIPTOR_H
#define HD_EMIT_DESCRIPTOR_H

#include "Emit/emit_buffer.h"

/* `first` is the same in every turn of the loop; slot and step are added to the finished field,
 * which cannot carry out: shared memory ends below 2^18 bytes. */
typedef struct hd_operand_place {
  LLVMValueRef first, slot; /* i32: address of slot 0; index of the slot */
  int64_t slot_bytes, step_bytes;
} hd_operand_place;

/* 64 rows of packed A, one k-step: 8-row groups 256 bytes apart (SBO), 16-byte halves 128 bytes
 * apart (LBO; docs/format.md). */
extern const hd_canonical hd_packed_a_form;

LLVMValueRef hd_emit_descriptor(hd_emitter *e, const hd_operand_place *at, uint64_t fields);
/* Of B, the op's k-step, K-major or (trans) MN-major. HEDDLE_UNSUPPORTED where its buffer has no
 * descriptor. */
heddle_status hd_emit_descriptor_b(hd_emitter *e, const hd_op *op, const hd_value *buffer,
                                   const hd_value *cursor,
                                   uint64_t (*encode)(const hd_canonical *form),
                                   LLVMValueRef *result);

#endif
