/* Bench/compile_ahead.h: the kernels of cases to come, compiled while one is measured. */
#ifndef HD_COMPILE_AHEAD_H
#define HD_COMPILE_AHEAD_H

#include "Bench/bench.h"

typedef struct hd_compile_ahead hd_compile_ahead;

/* Compiles what hd_bench_run will ask for, case by case, by options->n_jobs threads into
 * options->cache, where it is then found. What cannot be compiled is left to hd_bench_run to tell.
 * *ahead is owned: hd_compile_ahead_stop; list and options are borrowed until then. Without a
 * cache, or a thread, *ahead is NULL: the kernels are compiled when they are asked for. */
heddle_status hd_compile_ahead_start(heddle_context *ctx, const hd_bench_problem *list, int32_t n,
                                     const hd_bench_options *options, const char *target,
                                     hd_compile_ahead **ahead);
/* Waits for all of it. */
void hd_compile_ahead_wait(hd_compile_ahead *ahead);
/* Ends behind the compiles that are under way; accepts NULL. */
void hd_compile_ahead_stop(hd_compile_ahead *ahead);

#endif
