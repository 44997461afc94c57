/* Passes/accesses.h: slots of ring buffers, and which loops of a role fill and read them. */
#ifndef HD_ACCESSES_H
#define HD_ACCESSES_H

#include "IR/ir.h"

/* Copies into buffers, or reads of buffers, of a region in program order. */
typedef struct hd_accesses {
  hd_op **op; /* owned (malloc) */
  int32_t n, cap;
} hd_accesses;

bool hd_is_copy(const hd_op *op);  /* fills a slot of a ring buffer */
bool hd_is_read(const hd_op *op);  /* reads a slot of a ring buffer */
bool hd_is_weights(const hd_op *op); /* a bulk copy of A, or of its block scales */
bool hd_is_wgmma(const hd_op *op);
/* Operands of either form of a wgmma; columns: NULL if absent. */
hd_value *hd_wgmma_metadata(const hd_op *wgmma);
hd_value *hd_wgmma_columns(const hd_op *wgmma);
void hd_accesses_find(hd_region *region, bool (*want)(const hd_op *op), hd_accesses *out);
void hd_accesses_free(hd_accesses *list);
/* The innermost `for` around an op, or NULL. */
hd_op *hd_loop_of(const hd_op *op);
/* The direct op of `region` that is or contains `op`. */
hd_op *hd_op_in_region(hd_op *op, const hd_region *region);
/* The first slot of a ring of `stages` slots, and the slot after a given one. */
hd_value *hd_first_slot(hd_builder *b, int64_t stages);
hd_value *hd_next_slot(hd_builder *b, hd_value *cursor, int64_t stages);
/* The cursor operand of a copy or read. */
hd_value *hd_cursor_of(const hd_op *op);
/* Adds a carried value with the initial value `first` to a loop. Returns the new argument of the
 * loop's region; the new result is the loop's last. The caller adds the next value to the yield. */
hd_value *hd_carry(hd_module *m, hd_op *loop, hd_value *first);
bool hd_is_fill(const hd_op *op); /* fills a slot of D */
/* Number of slots of D per warp. A warp fills its slots in turn. */
int64_t hd_slots_of_warp(const hd_op *fill);
/* Whether the slot of the i-th fill was filled before, in this region or for the previous tile. */
bool hd_fills_again(const hd_accesses *fills, int32_t i);
/* The role around an op. */
hd_op *hd_role_of(const hd_op *op);
/* End of the run of accesses from `from` on that use one slot (same cursor, same region). */
int32_t hd_slot_end(const hd_accesses *list, int32_t from);

#endif
