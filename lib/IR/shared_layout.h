/* IR/shared_layout.h: where the buffers and barriers of a role-level kernel lie in dynamic shared
 * memory, and its buffers in tensor memory. The one place of this arithmetic: Emit makes addresses
 * of it, Check proves bounds with it. */
#ifndef HD_SHARED_LAYOUT_H
#define HD_SHARED_LAYOUT_H

#include "IR/ir.h"

enum {
  HD_BARRIER_BYTES = 8,        /* an mbarrier object: 8 bytes, 8-byte aligned */
  HD_SHARED_ALIGN = 1024,      /* of the first byte: what a 128-byte swizzle atom needs */
  HD_TENSOR_COLUMN_BYTES = 512 /* of tensor memory: 128 lanes of 4 bytes */
};

/* A buffer, a barrier or the tcgen05.alloc op, and its first byte; bytes of one slot and number of
 * slots. */
typedef struct hd_shared_item {
  const hd_op *op;
  int64_t offset, slot_bytes, stages;
} hd_shared_item;

typedef struct hd_shared_layout {
  hd_shared_item *item; /* in the arena given */
  int32_t n_items;
  int64_t n_bytes; /* of dynamic shared memory */
} hd_shared_layout;

/* Buffers of space shared or cluster_shared in program order, each at its alignment or over an
 * earlier one, then the barriers, HD_BARRIER_BYTES a stage, then the address that tcgen05.alloc
 * writes. HEDDLE_INVALID when a size or an alignment makes no sense (the verifier's job, checked
 * again since addresses follow from it). */
heddle_status hd_shared_layout_make(heddle_context *ctx, const hd_op *kernel, hd_arena *arena,
                                    hd_shared_layout *layout);
/* The item of such an op; NULL for one that does not lie in shared memory. */
const hd_shared_item *hd_shared_layout_find(const hd_shared_layout *layout, const hd_op *op);

/* Buffers of space tmem follow each other in program order: the first column of one, counted from
 * what tcgen05.alloc gave. op NULL: the columns that all of the kernel's take. */
int64_t hd_tensor_column(const hd_op *kernel, const hd_op *op);
/* CTAs whose tensor memory its tcgen05 ops work on, as its tcgen05.mma.sp says: 2 of a pair. */
int32_t hd_tensor_ctas(const hd_op *kernel);
/* Columns of a slot. */
int64_t hd_tensor_slot_columns(const hd_op *op);

/* Bytes of a group in the table of group.table: tiles before it, first column, end, 0. */
enum { HD_GROUP_BYTES = 16 };

#endif
