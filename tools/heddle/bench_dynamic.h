/* heddle/bench_dynamic.h: one kernel for every N against kernels of one N each. */
#ifndef HD_BENCH_DYNAMIC_H
#define HD_BENCH_DYNAMIC_H

#include "Bench/bench.h"
#include "bench_grid.h"

/* Zero-initialise. Ratios are fixed time over dynamic time: 1 is as fast, less is slower. */
typedef struct bench_dynamic {
  double log_sum, worst;
  int32_t n, n_same; /* n_same: of predicted ones, those with the schedule of the fixed kernel */
  hd_bench_problem worst_case;
} bench_dynamic;

/* The grid's products at each of the sizes of N that are looked at, in place of its own. */
void bench_dynamic_sizes(bench_grid *grid);

/* The median of the rounds' ratios. The clock may fall in the middle of the rounds, when the power
 * cap comes to bear: a round's figures share a clock, the medians of two contenders may not. */
double bench_ratio_in_rounds(const hd_bench_row *numerator, const hd_bench_row *denominator);

void bench_dynamic_head(void);
/* A line for each promise and order of the case; wrong results do not count. */
void bench_dynamic_add(bench_dynamic *sum, const hd_bench_problem *problem,
                       const hd_bench_result *result);
/* Without a device: a line for each promise and order, with what the dynamic kernel runs where it
 * is not what the kernel of that size would, and the ratio by the model. */
void bench_dynamic_predict_head(void);
heddle_status bench_dynamic_predict(heddle_context *ctx, const hd_bench_problem *problem,
                                    const hd_bench_options *options, const char *target,
                                    bench_dynamic *sum);
void bench_dynamic_tail(const bench_dynamic *sum);

#endif
