/* IR/shared_layout.h: where the buffers and barriers of a role-level kernel lie in dynamic shared
 * memory. The one place of this arithmetic: Emit makes addresses of it, Check proves bounds with
 * it. */
#ifndef HD_SHARED_LAYOUT_H
#define HD_SHARED_LAYOUT_H

#include "IR/ir.h"

enum {
  HD_BARRIER_BYTES = 8,    /* an mbarrier object: 8 bytes, 8-byte aligned */
  HD_SHARED_ALIGN = 1024   /* of the first byte: what a 128-byte swizzle atom needs */
};

/* A buffer or barrier op and its first byte; bytes of one slot and number of slots. */
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
 * earlier one, then the barriers, HD_BARRIER_BYTES a stage. HEDDLE_INVALID when a size or an
 * alignment makes no sense (the verifier's job, checked again since addresses follow from it). */
heddle_status hd_shared_layout_make(heddle_context *ctx, const hd_op *kernel, hd_arena *arena,
                                    hd_shared_layout *layout);
/* The item of a buffer or barrier op; NULL for one that does not lie in shared memory. */
const hd_shared_item *hd_shared_layout_find(const hd_shared_layout *layout, const hd_op *op);

#endif
