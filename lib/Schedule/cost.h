/* Schedule/cost.h: predicts the time of a schedule and its bottleneck from the peak rates of a
 * device. The prediction only ranks schedules; the tuner measures them. */
#ifndef HD_COST_H
#define HD_COST_H

#include "Schedule/device_model.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* ORDER RESOURCES. */
typedef enum hd_resource {
  HD_RESOURCE_TENSOR, /* tensor cores and the shared-memory port that feeds them */
  HD_RESOURCE_CHAIN,  /* waits of a warpgroup for its own instructions */
  HD_RESOURCE_ISSUE,  /* the thread that issues the copies */
  HD_RESOURCE_FILL,   /* L2 to shared memory */
  HD_RESOURCE_RING,   /* memory latency over stages in flight; the last of the per-stage ones */
  HD_RESOURCE_DRAM,
  HD_RESOURCE_STORE,  /* stores of D and of partial sums */
  HD_RESOURCE_LAUNCH, /* launch, first fill, drain */
  HD_RESOURCE_COPY,   /* copy of B by a preceding kernel (b=copied) */
  HD_N_RESOURCES
} hd_resource;
const char *hd_resource_name(hd_resource resource); /* "tensor cores and shared-memory port", … */

typedef struct hd_cost {
  double seconds;
  double alone[HD_N_RESOURCES]; /* seconds if this resource were the only limit */
  hd_resource binds;            /* the bottleneck: the largest of them */
  bool near_power_cap;          /* the term of power is over 3/4 of the time without it */
  int64_t units;                /* units of work: tiles times splits */
  double waves;                 /* units over the CTAs that run at once */
  /* Grouped problems: the columns distributed evenly, and by Zipf; else zeros. The fields above are
   * the mean of both; that of times is geometric, because an even routing of few columns touches
   * several times as many groups. padded: the columns of all tiles over those of all groups. */
  struct {
    double seconds, padded;
  } dealt[2];
} hd_cost;

/* Whether the predicted seconds are an estimate, which holds only for sm_90a. Other targets were
 * not measured: they use the same terms with Hopper's rates, which only serve to rank schedules. */
bool hd_cost_is_estimate(const hd_problem *problem);

/* Sizes that the problem leaves to the launch come from size_mnk (0: 4096). */
hd_cost hd_schedule_cost(const hd_problem *problem, const hd_schedule *schedule,
                         const int64_t size_mnk[3], const hd_device_model *device);

/* Predicted time of the same product in a dense library: a fixed start, plus the combination of
 * compute time and DRAM time with a dense A. Compared with cuBLAS (docs/bench/h200.csv) in
 * test/cli/explain_dense.test. */
double hd_dense_seconds(const hd_problem *problem, const int64_t size_mnk[3],
                        const hd_device_model *device);

#endif
