/* Bench/bench_prepare.h: what a case needs of the host before the device sees it: its values, and
 * Heddle's kernels compiled. A thread may prepare one case while another is measured. */
#ifndef HD_BENCH_PREPARE_H
#define HD_BENCH_PREPARE_H

#include "Bench/bench_kernels.h"

typedef struct hd_bench_prepared {
  hd_bench_host *host; /* borrowed; it keeps its values from case to case */
  hd_bench_way *way;   /* owned, as the kernels are */
  int32_t n_ways;
  hd_bench_kernel *kernel;
  int32_t n_kernels;
} hd_bench_prepared;

/* Fills in all but the host, which is given. A kernel that cannot be compiled says so itself. */
heddle_status hd_bench_prepare(heddle_context *ctx, const hd_bench_problem *problem,
                               const hd_bench_options *options, const char *target,
                               hd_bench_prepared *prepared);

/* hd_bench_run of a case that is prepared with the same problem and options. */
heddle_status hd_bench_measure(heddle_context *ctx, const hd_device *device,
                               const hd_bench_problem *problem, const hd_bench_options *options,
                               const hd_bench_prepared *prepared, hd_bench_result *result);

/* Frees the kernels and ways; the host stays. */
void hd_bench_prepared_clear(const hd_device *device, hd_bench_prepared *prepared);

#endif
