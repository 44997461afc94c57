/* Passes/schedule_model.h: a first estimate of how long a wgmma schedule takes, for the default alone.
 * What binds a stage, measured on an H200: the shared-memory port (a wgmma.sp m64nN with A by descriptor
 * takes N/2 + 16 clocks) or the fill from L2 (about 55 bytes a clock and SM). Tuning measures; this only has to rank. */
#ifndef HD_SCHEDULE_MODEL_H
#define HD_SCHEDULE_MODEL_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* Clocks for the whole problem, sizes fixed (K not fixed counts as 4096). */
double hd_schedule_clocks(const hd_problem *problem, const hd_schedule *schedule);

/* Sets tile m, tile n and cluster to the fastest by that estimate; tile n at most `widest`, a multiple
 * of `unit`. Nothing changes unless M and N are fixed. */
void hd_schedule_pick_tile(const hd_problem *problem, int32_t widest, int32_t unit,
                           hd_schedule *schedule);

#endif
