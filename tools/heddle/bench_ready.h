/* heddle/bench_ready.h: compares the product with and without weights_ready, both launched after a
 * kernel that writes B. */
#ifndef HD_BENCH_READY_H
#define HD_BENCH_READY_H

#include "Bench/bench.h"

/* Zero-initialise. Ratios are the plain time over the time with weights_ready, per predecessor. */
typedef struct bench_ready {
  double log_sum[HD_N_TRIGGERS], worst[HD_N_TRIGGERS];
  int32_t n[HD_N_TRIGGERS], n_behind[HD_N_TRIGGERS]; /* n_behind: below the goal */
  hd_bench_problem worst_case[HD_N_TRIGGERS];
} bench_ready;

void bench_ready_head(void);
/* Prints a line for each predecessor and order of the case; wrong results do not count. */
void bench_ready_add(bench_ready *sum, const hd_bench_problem *problem,
                     const hd_bench_result *result);
void bench_ready_tail(const bench_ready *sum);

#endif
