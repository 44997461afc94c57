/* heddle/bench_beside.h: compares a product with an epilogue, or a batch, with Heddle's plain
 * product: of the same A and B, or for a batch with the same total number of rows. */
#ifndef HD_BENCH_BESIDE_H
#define HD_BENCH_BESIDE_H

#include "Bench/bench.h"

/* Zero-initialise. Ratios are the plain product's time over this time: 1 means equally fast. */
typedef struct bench_beside {
  double log_sum, worst;
  int32_t n;
} bench_beside;

void bench_beside_head(void);
/* Measures the plain product, the case, and the plain product again (the mean of the two is used),
 * and prints a line; *n_wrong counts wrong results. */
heddle_status bench_beside_case(heddle_context *ctx, const hd_device *device,
                                const hd_bench_problem *problem, const hd_bench_options *options,
                                hd_bench_host *host, bench_beside *sum, int *n_wrong);
void bench_beside_tail(const bench_beside *sum);

#endif
