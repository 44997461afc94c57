/* Passes/schedule_cost.h: how long a schedule will take, from what a device does at best: which
 * of its resources binds, and by how much. It ranks; the tuner measures. */
#ifndef HD_SCHEDULE_COST_H
#define HD_SCHEDULE_COST_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* What a device does at best, measured once. Rates a second of the whole device unless said. */
typedef struct hd_ceilings {
  const char *device;
  int32_t n_sms;
  int32_t n_sms_of_fours;   /* of those, how many clusters of four CTAs fill: GPCs are odd */
  double clock_hz;          /* under a product's load: the power cap decides */
  double batch_clocks;      /* to wait for a batch of wgmma, where the next is not issued before */
  double pair_clocks;       /* that a stage takes longer when two CTAs share an operand */
  double issue_clocks;      /* of the thread that issues the copies, for each */
  double fill_bytes;        /* L2 to shared memory */
  double beside;            /* what is left of B's traffic where CTAs side by side read it */
  double void_bytes;        /* zeros for columns past B's end */
  double dram_bytes;        /* read */
  double crowd; /* that DRAM takes longer, for each time more on the way than covers its latency */
  double l2_latency_s, dram_latency_s; /* from a copy's issue to its arrival, loaded */
  double multicast;         /* what a multicast to two leaves of that operand's traffic */
  double launch_s;          /* of a kernel that does nothing */
  double tile_s;            /* first fill and last drain of a tile */
  double store_sm_bytes;    /* one SM's stores, and loads of partial sums */
  double reduce_s;          /* split-K: counter and last arrival */
  double exchange_s; /* split-K in a cluster: its start together, and the way of the last sums */
  double exchange_sm_bytes; /* what a CTA receives of the others of its cluster */
  double drain_s;           /* to hear that their rings are free for it */
  double dense_flops;       /* a dense library's rate for 16-bit types, large sizes */
} hd_ceilings;

/* H100 and H200 SXM (docs/bench: measured on an H200). */
extern const hd_ceilings hd_ceilings_h200;

/* The ceilings by number, from 0: a name ("clock_hz"; NULL past the last), a value, and what
 * calibrating may make of it. */
const char *hd_ceiling_name(size_t index);
double *hd_ceiling_at(hd_ceilings *ceilings, size_t index);
void hd_ceiling_range(size_t index, double *least, double *most);

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
  HD_N_RESOURCES
} hd_resource;
const char *hd_resource_name(hd_resource resource); /* "tensor cores and shared-memory port", … */

typedef struct hd_cost {
  double seconds;
  double alone[HD_N_RESOURCES]; /* seconds if nothing else took time */
  hd_resource binds;            /* the largest of them */
  int64_t units;                /* of work: tiles times splits */
  double waves;                 /* units over the CTAs that run at once */
} hd_cost;

/* Its seconds are an estimate: on sm_90a alone. Of other targets nothing was measured; there the
 * same terms, with Hopper's ceilings, only say which schedule to look at first. */
bool hd_cost_is_estimate(const hd_problem *problem);

/* Sizes that the problem leaves open come from size_mnk (0 there: 4096). */
hd_cost hd_schedule_cost(const hd_problem *problem, const hd_schedule *schedule,
                         const int64_t size_mnk[3], const hd_ceilings *ceilings);

/* The same product by a dense library: its rate and the bytes of a dense A, whichever takes
 * longer, between a tile's first fill and last drain. Against cuBLAS in docs/bench/h200.csv:
 * test/cli/explain_dense.test. */
double hd_dense_seconds(const hd_problem *problem, const int64_t size_mnk[3],
                        const hd_ceilings *ceilings);

#endif
