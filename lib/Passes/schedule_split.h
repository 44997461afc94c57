/* Passes/schedule_split.h: splitting k where the tiles alone leave SMs idle. */
#ifndef HD_SCHEDULE_SPLIT_H
#define HD_SCHEDULE_SPLIT_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* Estimated seconds of a schedule on an H200; sizes that are left open count as 4096. */
double hd_schedule_seconds(const hd_problem *problem, const hd_schedule *schedule);

/* wgmma schedules whose tiles, split over k, all run at once: the `most` fastest by that estimate, best
 * first; their number. They differ from `base` in tile, cluster, split_k and what follows from them; tile
 * n is at most `widest`, a multiple of `unit`. None unless M and N are fixed. */
int32_t hd_schedule_splits(const hd_problem *problem, const hd_schedule *base, int32_t widest,
                           int32_t unit, hd_schedule *list, int32_t most);

#endif
