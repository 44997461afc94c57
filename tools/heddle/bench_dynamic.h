/* heddle/bench_dynamic.h: one kernel for every N against kernels of one N each. */
#ifndef HD_BENCH_DYNAMIC_H
#define HD_BENCH_DYNAMIC_H

#include "Bench/bench.h"
#include "bench_grid.h"

/* Zero-initialise. Ratios are fixed time over dynamic time: 1 is as fast, less is slower. */
typedef struct bench_dynamic {
  double log_sum, worst;
  int32_t n;
  hd_bench_problem worst_case;
} bench_dynamic;

/* The grid's products at each of the sizes of N that are looked at, in place of its own. */
void bench_dynamic_sizes(bench_grid *grid);

void bench_dynamic_head(void);
/* A line for each promise and order of the case; wrong results do not count. */
void bench_dynamic_add(bench_dynamic *sum, const hd_bench_problem *problem,
                       const hd_bench_result *result);
void bench_dynamic_tail(const bench_dynamic *sum);

#endif
