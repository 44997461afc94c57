#include "Bench/bench_prepare.h"

#include "Support/diag.h"

heddle_status hd_bench_prepare(heddle_context *ctx, const hd_bench_problem *problem,
                               const hd_bench_options *options, const char *target,
                               hd_bench_prepared *p) {
  hd_product product = hd_bench_product(problem);
  HD_TRY(hd_bench_ways(ctx, problem, options, target, &p->way, &p->n_ways));
  HD_TRY(hd_bench_host_make(ctx, &product, options->seed, options->n_jobs, p->host));
  hd_bench_compile(problem, options, target, p->way, p->n_ways, &p->kernel, &p->n_kernels);
  return HEDDLE_OK;
}

void hd_bench_prepared_clear(const hd_device *device, hd_bench_prepared *p) {
  hd_bench_kernels_free(device, p->kernel, p->n_kernels);
  hd_bench_ways_free(p->way, p->n_ways);
  *p = (hd_bench_prepared){.host = p->host};
}
