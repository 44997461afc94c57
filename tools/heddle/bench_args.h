/* heddle/bench_args.h: the command line of heddle bench and its checks. */
#ifndef HD_BENCH_ARGS_H
#define HD_BENCH_ARGS_H

#include "Bench/bench.h"
#include "bench_grid.h"
#include "bench_print.h"
#include "cli.h"
#include "tuned_file.h"

typedef struct bench_args {
  hd_bench_problem problem;
  const char *grid, *only, *peers, *format, *ptxas, *cache, *cublas, *cusparselt, *order, *sweep;
  const char *target, *db, *promise, *csv, *cutlass;
  const char *act, *bias, *scale_a, *scale_b, *reduce, *aux, *blocks, *predecessor, *slice, *model;
  const char *groups, *routing; /* comma-separated lists; groups NULL: none */
  service_args service;
  cli_texts schedules, index_schedules, plain_schedules;
  bool beside;
  bool alone, no_alone, resume, list, no_tuned, dynamic, predict;
  int64_t device, seed, finalists, jobs, random, sample, seconds, sustained;
} bench_args;

extern const char *const bench_orders[4]; /* ORDER hd_bench_order */

/* CLI_GO, or the exit code for a wrong use, which is reported. The first reads the epilogue options
 * into args->problem; the second sets weights_ready, order and predecessors of the options. */
int bench_read_epilogue(bench_args *args);
int bench_check_args(const bench_args *args, hd_bench_options *options, bench_format *format);

/* Reduces the grid to the cases of --slice I/N: every N-th case from the I-th. */
void bench_take_slice(const bench_args *args, bench_grid *grid);

#endif
