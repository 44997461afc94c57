/* heddle/bench_dynamic.h: compares one kernel for every N with kernels for a single N each. */
#ifndef HD_BENCH_DYNAMIC_H
#define HD_BENCH_DYNAMIC_H

#include "Bench/bench.h"
#include "bench_grid.h"

/* Zero-initialise. Ratios are fixed time over dynamic time: below 1 the dynamic one is slower. */
typedef struct bench_dynamic {
  double log_sum, worst;
  int32_t n, n_same; /* n_same: predicted cases whose schedule equals the fixed kernel's */
  hd_bench_problem worst_case;
} bench_dynamic;

/* Replaces each N of the grid by all sizes of N that are compared. */
void bench_dynamic_sizes(bench_grid *grid);

/* The median of the ratios of the rounds. The power limit may lower the clock between rounds. Times
 * of one round have the same clock; the medians of two contenders may not. */
double bench_ratio_in_rounds(const hd_bench_row *numerator, const hd_bench_row *denominator);

void bench_dynamic_head(void);
/* Prints a line for each weights_ready and order of the case: the medians of n_results
 * measurements of it. Wrong results do not count. */
enum { BENCH_DYNAMIC_TIMES = 3 /* maximum of n_results */ };
void bench_dynamic_add(bench_dynamic *sum, const hd_bench_problem *problem,
                       const hd_bench_result *result, int32_t n_results);
/* Whether a ratio is over 2 % off 1, to either side. Then the case is measured BENCH_DYNAMIC_TIMES
 * times, with operands allocated and kernels loaded anew: of 640 measurements of kernels of few
 * microseconds, three were 4 % off what repetitions in another process gave. */
bool bench_dynamic_is_far(const hd_bench_result *result);
/* Without a device: prints a line for each weights_ready and order, with the keys in which the
 * schedules of the dynamic and the fixed kernel differ, and the ratio predicted by the model. */
void bench_dynamic_predict_head(void);
heddle_status bench_dynamic_predict(heddle_context *ctx, const hd_bench_problem *problem,
                                    const hd_bench_options *options, const char *target,
                                    bench_dynamic *sum);
void bench_dynamic_tail(const bench_dynamic *sum);

#endif
