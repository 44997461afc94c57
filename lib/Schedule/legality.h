/* Schedule/legality.h: which schedules are legal. */
#ifndef HD_LEGALITY_H
#define HD_LEGALITY_H

#include "Schedule/resources.h"

/* HEDDLE_UNSUPPORTED or HEDDLE_INVALID when the schedule cannot serve the problem: rule, value,
 * nearest legal value (a tile too large for shared memory or registers, an n that the instruction
 * has not, …). */
heddle_status hd_schedule_check(heddle_context *ctx, const hd_problem *problem,
                                const hd_schedule *schedule);
/* The same without its sentence. */
bool hd_schedule_fits(const hd_problem *problem, const hd_schedule *schedule);

/* What all that resources.h says takes for granted: a tile, warps, splits of k and CTAs per SM that
 * exist. */
heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *problem,
                                        const hd_schedule *schedule);
/* What the schedule's family of instructions takes. */
heddle_status hd_schedule_check_family(heddle_context *ctx, const hd_problem *problem,
                                       const hd_schedule *schedule);

#endif
