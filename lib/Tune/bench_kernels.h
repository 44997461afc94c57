/* Tune/bench_kernels.h: Heddle's ways to compute a case: compiled several at once, then loaded. */
#ifndef HD_BENCH_KERNELS_H
#define HD_BENCH_KERNELS_H

#include "Tune/bench.h"
#include "heddle/kernel.h"

typedef struct hd_bench_kernel {
  const hd_bench_way *way; /* borrowed */
  bool row_major;
  heddle_compiled *compiled;
  heddle_kernel *kernel; /* NULL: it could not be had, and `said` tells why */
  heddle_arg *args;      /* n_sets x n_args */
  size_t n_args, n_sets;
  hd_buffer workspace; /* its own: zero at first, as only the same kernel leaves it */
  heddle_context *said;
  double quick; /* seconds a launch */
} hd_bench_kernel;

/* Every way in the wanted orders of D, compiled by options->n_jobs threads. */
void hd_bench_compile(const hd_bench_problem *problem, const hd_bench_options *options,
                      const char *target, const hd_bench_way *way, int32_t n_ways,
                      hd_bench_kernel **list, int32_t *n);

/* Buffer set i of each rotation is what launch i works on. */
typedef struct hd_bench_operands {
  const hd_rotation *a_packed, *b, *d;
  size_t n_sets;
} hd_bench_operands;

/* Loads one that compiled, and fills in its arguments; its failure is told in `said`. */
void hd_bench_load(const hd_device *device, const hd_bench_problem *problem,
                   const hd_bench_operands *operands, hd_bench_kernel *kernel);
/* An hd_launch_fn; user is the hd_bench_kernel. */
heddle_status hd_bench_launch(heddle_context *ctx, void *user, size_t index, void *stream);
void hd_bench_kernels_free(const hd_device *device, hd_bench_kernel *list, int32_t n);

#endif
