/* Bench/bench_kernels.h: Heddle's ways to compute a case: compiled several at once, then loaded. */
#ifndef HD_BENCH_KERNELS_H
#define HD_BENCH_KERNELS_H

#include "Bench/bench.h"
#include "Tune/rotated_kernel.h"

typedef struct hd_bench_kernel {
  const hd_bench_way *way; /* borrowed */
  bool row_major;
  heddle_compiled *compiled;
  /* Behind a predecessor a kernel with weights_ready is launched where launches can overlap, and
   * elsewhere this one, with the schedule of the plain way (heddle_kernel_set_overlapping). */
  const hd_bench_way *plain;  /* borrowed; NULL: it is launched in any case */
  heddle_compiled *ordinary;  /* NULL: none */
  hd_rotated_kernel loaded; /* without a kernel: it could not be had, and `said` tells why */
  heddle_context *said;
} hd_bench_kernel;

/* Every way in the wanted orders of D, compiled by options->n_jobs threads. */
void hd_bench_compile(const hd_bench_problem *problem, const hd_bench_options *options,
                      const char *target, const hd_bench_way *way, int32_t n_ways,
                      hd_bench_kernel **list, int32_t *n);

/* Loads one that compiled, and fills in its arguments, but ldd; its failure is told in `said`. */
void hd_bench_load(const hd_device *device, const hd_bench_problem *problem,
                   hd_rotated_operands operands, hd_bench_kernel *kernel);
void hd_bench_kernels_free(const hd_device *device, hd_bench_kernel *list, int32_t n);

#endif
