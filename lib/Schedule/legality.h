/* Schedule/legality.h: which schedules are legal. */
#ifndef HD_LEGALITY_H
#define HD_LEGALITY_H

#include "Schedule/resources.h"

/* HEDDLE_UNSUPPORTED or HEDDLE_INVALID if the schedule is not legal for the problem (a tile too
 * large for shared memory or registers, an n that the instruction does not have, …). The diagnostic
 * names the rule, the value and the nearest legal value. */
heddle_status hd_schedule_check(heddle_context *ctx, const hd_problem *problem,
                                const hd_schedule *schedule);
/* The same check without a diagnostic. */
bool hd_schedule_fits(const hd_problem *problem, const hd_schedule *schedule);

/* Checks the preconditions of resources.h: the tile, the warps, the splits of k and all integer
 * keys are within their ranges. */
heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *problem,
                                        const hd_schedule *schedule);
/* Checks the rules of the schedule's family of instructions. */
heddle_status hd_schedule_check_family(heddle_context *ctx, const hd_problem *problem,
                                       const hd_schedule *schedule);

#endif
