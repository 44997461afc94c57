/* Schedule/cost.h: how long a schedule will take, from what a device does at best: which
 * of its resources binds, and by how much. It ranks; the tuner measures. */
#ifndef HD_COST_H
#define HD_COST_H

#include "Schedule/device_model.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* ORDER RESOURCES. */
typedef enum hd_resource {
  HD_RESOURCE_TENSOR, /* tensor cores and the shared-memory port that feeds them */
  HD_RESOURCE_CHAIN,  /* a warpgroup waiting for its own instructions */
  HD_RESOURCE_ISSUE,  /* the thread that issues the copies */
  HD_RESOURCE_FILL,   /* L2 to shared memory */
  HD_RESOURCE_RING,   /* stages in flight against the memory's latency; so far a stage's */
  HD_RESOURCE_DRAM,
  HD_RESOURCE_STORE,  /* of D, and of partial sums */
  HD_RESOURCE_LAUNCH, /* launch, first fill, drain */
  HD_RESOURCE_COPY,   /* of B, by the kernel that runs ahead */
  HD_N_RESOURCES
} hd_resource;
const char *hd_resource_name(hd_resource resource); /* "tensor cores and shared-memory port", … */

typedef struct hd_cost {
  double seconds;
  double alone[HD_N_RESOURCES]; /* seconds if nothing else took time */
  hd_resource binds;            /* the largest of them */
  int64_t units;                /* of work: tiles times splits */
  double waves;                 /* units over the CTAs that run at once */
  /* Of groups, whose columns are dealt evenly, and by Zipf; zeros: there are none. What stands
   * above is the mean of both. padded: columns that tiles have, over those of the groups. */
  struct {
    double seconds, padded;
  } dealt[2];
} hd_cost;

/* B's rows are taken by index, or at a pitch that no tensor map takes: a copy of them, which is
 * ahead, spares every CTA gathering them. */
bool hd_copy_serves(const hd_problem *problem);

/* Its seconds are an estimate: on sm_90a alone. Of other targets nothing was measured; there the
 * same terms, with Hopper's ceilings, only say which schedule to look at first. */
bool hd_cost_is_estimate(const hd_problem *problem);

/* Sizes that the problem leaves open come from size_mnk (0 there: 4096). */
hd_cost hd_schedule_cost(const hd_problem *problem, const hd_schedule *schedule,
                         const int64_t size_mnk[3], const hd_device_model *device);

/* The same product by a dense library: its rate and the bytes of a dense A, whichever takes
 * longer, between a tile's first fill and last drain. Against cuBLAS in docs/bench/h200.csv:
 * test/cli/explain_dense.test. */
double hd_dense_seconds(const hd_problem *problem, const int64_t size_mnk[3],
                        const hd_device_model *device);

#endif
