/* Passes/accesses.h: slots of ring buffers, and which loops of a role fill and read them. */
#ifndef HD_ACCESSES_H
#define HD_ACCESSES_H

#include "IR/ir.h"

/* The copies into buffers, or the reads of buffers, in a region, in program order. */
typedef struct hd_accesses {
  hd_op **op; /* owned (malloc) */
  int32_t n, cap;
} hd_accesses;

bool hd_is_copy(const hd_op *op);  /* fills a slot of a ring buffer */
bool hd_is_read(const hd_op *op);  /* reads one */
bool hd_is_weights(const hd_op *op); /* a bulk copy of A, or of its block scales */
bool hd_is_wgmma(const hd_op *op);
void hd_accesses_find(hd_region *region, bool (*want)(const hd_op *op), hd_accesses *out);
void hd_accesses_free(hd_accesses *list);
/* The innermost `for` around an op; NULL when there is none. */
hd_op *hd_loop_of(const hd_op *op);
/* The op of `region` itself that an op of it stands in. */
hd_op *hd_op_in_region(hd_op *op, const hd_region *region);
/* The first slot of a ring of `stages` slots, and the slot after a given one. */
hd_value *hd_first_slot(hd_builder *b, int64_t stages);
hd_value *hd_next_slot(hd_builder *b, hd_value *cursor, int64_t stages);
/* The cursor operand of a copy or read. */
hd_value *hd_cursor_of(const hd_op *op);
/* One more value that a loop carries, from `first` on; its next value is added to the yield by the
 * caller. Gives the region's argument; the result is the loop's last. */
hd_value *hd_carry(hd_module *m, hd_op *loop, hd_value *first);
bool hd_is_fill(const hd_op *op); /* fills a slot of D */
/* Slots of D that a warp has: it fills them one after the other. */
int64_t hd_slots_of_warp(const hd_op *fill);
/* The i-th of all fills: was its slot filled before, in this region or for the tile before? */
bool hd_fills_again(const hd_accesses *fills, int32_t i);
/* The role that an op stands in. */
hd_op *hd_role_of(const hd_op *op);
/* End of the run of accesses from `from` on that use one slot: the same cursor, in the same
 * region. */
int32_t hd_slot_end(const hd_accesses *list, int32_t from);

#endif
