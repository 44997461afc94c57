/* Passes/store_slot.h: store=staged: what goes through shared memory to D at once. */
#ifndef HD_STORE_SLOT_H
#define HD_STORE_SLOT_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* A slot holds `cols` columns of a 16-row strip, as a box of D's tensor map: lines of line_bytes
 * bytes, swizzled over as many (0: not). A warp has `each` slots, and fills them in turns. Slots
 * are the warps' own: a split tile's last arriver is a warp, and lanes meet faster than warps. */
typedef struct hd_store_slot {
  int32_t cols, bytes, line_bytes, swizzle, each;
} hd_store_slot;

/* cols 0: D is not staged, or its tile has no such slices. */
hd_store_slot hd_store_slot_of(const hd_problem *problem, const hd_schedule *schedule);
/* Refuses a staged store where a tensor map cannot write D. */
heddle_status hd_store_slot_check(heddle_context *ctx, const hd_problem *problem,
                                  const hd_schedule *schedule);

#endif
