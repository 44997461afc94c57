/* IR/shared_layout.h: the offsets of a role-level kernel's buffers and barriers in dynamic shared
 * memory, and of its buffers in tensor memory. Only this file computes them: Emit derives addresses
 * from them, and Check proves bounds with them. */
#ifndef HD_SHARED_LAYOUT_H
#define HD_SHARED_LAYOUT_H

#include "IR/ir.h"

enum {
  HD_BARRIER_BYTES = 8,        /* an mbarrier object: 8 bytes, 8-byte aligned */
  HD_SHARED_ALIGN = 1024,      /* alignment of the first byte, as a 128-byte swizzle atom needs */
  HD_TENSOR_COLUMN_BYTES = 512 /* a column of tensor memory: 128 lanes of 4 bytes */
};

/* A buffer, a barrier or the tcgen05.alloc op, with its offset, the bytes of a slot and the number
 * of slots. */
typedef struct hd_shared_item {
  const hd_op *op;
  int64_t offset, slot_bytes, stages;
} hd_shared_item;

typedef struct hd_shared_layout {
  hd_shared_item *item; /* in the arena given */
  int32_t n_items;
  int64_t n_bytes; /* of dynamic shared memory */
} hd_shared_layout;

/* Order: the buffers of space shared or cluster_shared in program order, each at its alignment or
 * overlaid on an earlier buffer; then the barriers, HD_BARRIER_BYTES per stage; then the address
 * that tcgen05.alloc writes. HEDDLE_INVALID for an illegal size or alignment (the verifier checks
 * these too; they are checked again since addresses depend on them). */
heddle_status hd_shared_layout_make(heddle_context *ctx, const hd_op *kernel, hd_arena *arena,
                                    hd_shared_layout *layout);
/* The item of an op; NULL if the op is not in shared memory. */
const hd_shared_item *hd_shared_layout_find(const hd_shared_layout *layout, const hd_op *op);

/* The first column of a buffer of space tmem, relative to the address of tcgen05.alloc. The buffers
 * are consecutive, in program order. op NULL: the number of columns of all buffers. */
int64_t hd_tensor_column(const hd_op *kernel, const hd_op *op);
/* CTAs whose tensor memory the kernel's tcgen05 ops use, by its tcgen05.mma.sp: 2 for a pair. */
int32_t hd_tensor_ctas(const hd_op *kernel);
/* Columns of a slot. */
int64_t hd_tensor_slot_columns(const hd_op *op);

/* Bytes per group in the table of group.table: number of earlier tiles, first column, end, 0. */
enum { HD_GROUP_BYTES = 16 };

#endif
