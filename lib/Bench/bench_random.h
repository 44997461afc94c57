/* Bench/bench_random.h: problems and schedules drawn by chance, for a benchmark that nobody chose
 * the cases of, and for data to fit the cost model to. */
#ifndef HD_BENCH_RANDOM_H
#define HD_BENCH_RANDOM_H

#include "Schedule/device_model.h"
#include "Schedule/problem.h"
#include "Bench/bench.h"

/* The index-th problem of a seed: type, M, N, K and so B's pitch. Sizes are log-uniform; N from 1
 * to 16384, M and K from 512 to 32768; at most 2^27 weights and 2^40 multiplications. The same on
 * every machine. */
hd_bench_problem hd_bench_random(uint64_t seed, int64_t index);

/* At most `most` legal schedules of a problem: the default, some that are always looked at, and
 * others drawn from all legal ones, those with less predicted time more often. Their number. */
int32_t hd_bench_sample(const hd_device_model *device, const hd_problem *problem, int32_t most,
                        uint64_t seed, hd_schedule *out);

#endif
