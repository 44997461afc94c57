/* Passes/schedule_pick.h: the wgmma schedules that promise most, for the default and the tuner. */
#ifndef HD_SCHEDULE_PICK_H
#define HD_SCHEDULE_PICK_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* Which of them: tiles and clusters with splits of k from `least_splits` on, tile n at most
 * `widest` and a multiple of `unit`. They differ from `base` in these and in what follows from
 * them. `streams`: with stream_k instead of splits, where whole waves of an H200 leave tiles
 * over. */
typedef struct hd_pick {
  const hd_schedule *base;
  int32_t widest, unit, least_splits;
  bool streams;
} hd_pick;

/* The `most` fastest legal ones by hd_schedule_cost, best first; their number. None unless M and N
 * are fixed. */
int32_t hd_schedule_pick(const hd_problem *problem, const hd_pick *pick, hd_schedule *list,
                         int32_t most);

/* The legal ones of two: the same with the splits of a tile in a cluster, their sums beside the
 * ring, and over it where that makes the ring deeper. Their number. */
int32_t hd_schedule_in_cluster(const hd_problem *problem, const hd_schedule *schedule,
                               hd_schedule out[2]);

#endif
