/* Schedule/heuristic.h: the default schedule, and those with the shortest predicted times. */
#ifndef HD_HEURISTIC_H
#define HD_HEURISTIC_H

#include "Schedule/cost.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* The default schedule of a problem. Always legal for a legal problem. */
hd_schedule hd_schedule_default(const hd_device_model *device, const hd_problem *problem);
/* The default within a family of instructions, without the cost model. */
hd_schedule hd_schedule_default_of(const hd_device_model *device, const hd_problem *problem,
                                   hd_family family);

typedef struct hd_ranked_schedule {
  hd_schedule schedule;
  double seconds; /* predicted */
  int32_t order;  /* index in the search order: large tiles and few splits come first */
} hd_ranked_schedule;

/* Writes up to `most` schedules with the shortest predicted time, best first, and returns their
 * number. The prediction and the choice of tiles use size_mnk (> 0) for sizes that the problem
 * leaves to the launch. Each schedule is legal for the problem at every launched size. */
int32_t hd_schedule_heuristic(const hd_device_model *device, const hd_problem *problem,
                              const int64_t size_mnk[3], hd_ranked_schedule *list, int32_t most);

/* Selects the wgmma schedules to search: tiles and clusters with at least `least_splits` splits of
 * k. `streams`: with stream_k instead of splits, if the last wave is partial. */
typedef struct hd_pick {
  const hd_device_model *device;
  const hd_problem *launched; /* schedules must also be legal for this problem; may be NULL */
  int32_t least_splits;
  bool streams;
} hd_pick;

/* Writes up to `most` of the fastest legal schedules by hd_schedule_cost, best first, and returns
 * their number: 0 unless M and N are fixed. */
int32_t hd_schedule_pick(const hd_problem *problem, const hd_pick *pick, hd_ranked_schedule *list,
                         int32_t most);

/* Writes the legal variants of a schedule that put the splits of a tile into one cluster, with the
 * partial sums beside the ring, and over the ring if that makes it deeper. Returns their number. */
int32_t hd_schedule_in_cluster(const hd_problem *problem, const hd_schedule *schedule,
                               hd_schedule out[2]);

/* Widths of wgmma tiles that divide a fixed N evenly into two to eight: for N = 333, two tiles of
 * 168 columns are less work than two of 192. They are at least 128 and below `widest`. Writes the
 * largest first, and returns their number: 0 if N is known only at launch. */
enum {
  HD_MOST_EVEN_WIDTHS = 7,
  HD_EVEN_HEIGHT = 128 /* rows of a tile from which they pay off */
};
int32_t hd_schedule_even_widths(const hd_problem *problem, int32_t widest,
                                int32_t out[HD_MOST_EVEN_WIDTHS]);

/* The cluster size for cluster launch; 1 if the CTAs fill the SMs anyway. With weights_ready, CTAs
 * start where those of the predecessor end, so that the busiest GPC is the bottleneck. Clusters of
 * four spread evenly (H200, 112 CTAs: 2 to 7 % less time, docs/bench/attempts.csv, run 12). */
int32_t hd_schedule_wanted_cluster_launch(const hd_device_model *device, const hd_problem *problem,
                                          const hd_schedule *schedule);

#endif
