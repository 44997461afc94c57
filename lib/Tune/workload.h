/* Tune/workload.h: a product on the device, ready for any schedule of it: operands, reference,
 * check. */
#ifndef HD_WORKLOAD_H
#define HD_WORKLOAD_H

#include "Tune/bench_operands.h"
#include "Tune/measure.h"
#include "Tune/rotated_kernel.h"

typedef struct hd_workload hd_workload;

/* The product's values (hd_bench_host_make), copied for the protocol's rotation. device and host
 * are borrowed; *workload is owned. */
heddle_status hd_workload_open(heddle_context *ctx, const hd_device *device,
                               const hd_product *product, const hd_bench_host *host,
                               hd_workload **workload);
void hd_workload_close(hd_workload *workload); /* accepts NULL */
size_t hd_workload_n_sets(const hd_workload *workload);

/* A schedule's kernel, loaded for the workload. Zero-initialise. */
typedef struct hd_candidate {
  hd_workload *workload; /* borrowed */
  heddle_compiled *compiled;
  hd_rotated_kernel loaded;
} hd_candidate;

/* Compiles (or takes from options->cache) the product with options->schedule, and loads it. */
heddle_status hd_candidate_load(heddle_context *ctx, hd_workload *workload,
                                const heddle_compile_options *options, hd_candidate *candidate);
void hd_candidate_free(hd_candidate *candidate);

/* Poisons D, launches once, compares; *error is ||D - R|| / ||R|| over the compared rows.
 * HEDDLE_MISMATCH when it is wrong or a guard was written to. */
heddle_status hd_candidate_verify(heddle_context *ctx, const hd_candidate *candidate,
                                  double *error);
/* For hd_measure_rounds; lives as long as the candidate. */
hd_contender hd_candidate_contender(const hd_candidate *candidate);

#endif
