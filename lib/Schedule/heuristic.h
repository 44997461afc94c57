/* Schedule/heuristic.h: the default schedule, and the others with little predicted time. */
#ifndef HD_HEURISTIC_H
#define HD_HEURISTIC_H

#include "Schedule/cost.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* The schedule of a problem where nobody says otherwise; always legal for a legal problem. */
hd_schedule hd_schedule_default(const hd_device_model *device, const hd_problem *problem);
/* The same within a family of instructions, from the problem's shape alone. */
hd_schedule hd_schedule_default_of(const hd_device_model *device, const hd_problem *problem,
                                   hd_family family);

typedef struct hd_ranked_schedule {
  hd_schedule schedule;
  double seconds; /* predicted */
  int32_t order;  /* in which they were tried: large tiles, and few splits, first */
} hd_ranked_schedule;

/* The `most` schedules of a problem with the least predicted time, best first; their number. Sizes
 * that the problem leaves open count as size_mnk (> 0) in the prediction, and in the choice of
 * tiles; each schedule is legal for the problem as it is, whatever size it is launched with. */
int32_t hd_schedule_heuristic(const hd_device_model *device, const hd_problem *problem,
                              const int64_t size_mnk[3], hd_ranked_schedule *list, int32_t most);

/* Which wgmma schedules: tiles and clusters with splits of k from `least_splits` on; `streams`:
 * with stream_k instead of splits, where whole waves leave tiles over. */
typedef struct hd_pick {
  const hd_device_model *device;
  const hd_problem *launched; /* each is legal for this one, too; NULL: no other */
  int32_t least_splits;
  bool streams;
} hd_pick;

/* The `most` fastest legal ones by hd_schedule_cost, best first; their number. None unless M and N
 * are fixed. */
int32_t hd_schedule_pick(const hd_problem *problem, const hd_pick *pick, hd_ranked_schedule *list,
                         int32_t most);

/* The legal ones of two: the same with the splits of a tile in a cluster, their sums beside the
 * ring, and over it where that makes the ring deeper. Their number. */
int32_t hd_schedule_in_cluster(const hd_problem *problem, const hd_schedule *schedule,
                               hd_schedule out[2]);

/* Under weights_ready CTAs go where those of the predecessor have left, unevenly over the GPCs,
 * and the fullest binds; in clusters of four they have few other places (H200, 112 CTAs: 2 to 7 %
 * less time, docs/bench/attempts.csv, run 12). 1 where the SMs are full anyway. */
int32_t hd_schedule_wanted_cluster_launch(const hd_device_model *device, const hd_problem *problem,
                                          const hd_schedule *schedule);

#endif
