/* bench_ahead.h: of many cases the next one is prepared while the device measures this one. */
#ifndef BENCH_AHEAD_H
#define BENCH_AHEAD_H

#include <pthread.h>

#include "Bench/bench_prepare.h"

/* Zero-initialise; bench_ahead_close. One case is being prepared at most. */
typedef struct bench_ahead {
  const hd_device *device;
  const char *target;
  hd_bench_host *host[2]; /* of the case that is measured, and of the next; they take turns */
  int turn;
  const hd_bench_problem *problem; /* borrowed: the next one; NULL: none is being prepared */
  hd_bench_options options;
  hd_bench_prepared next;
  heddle_context *said;
  heddle_status status;
  pthread_t thread;
} bench_ahead;

void bench_ahead_open(bench_ahead *ahead, const hd_device *device, const char *target);

/* The case, prepared: what bench_ahead_begin was told to prepare, else now. Owned by the caller,
 * who clears it before the second take from here. */
heddle_status bench_ahead_take(heddle_context *ctx, bench_ahead *ahead,
                               const hd_bench_problem *problem, const hd_bench_options *options,
                               hd_bench_prepared *prepared);

/* Begins to prepare a case, which is borrowed until it is taken. */
void bench_ahead_begin(bench_ahead *ahead, const hd_bench_problem *problem,
                       const hd_bench_options *options);

/* The host whose values no case that is being prepared uses. */
hd_bench_host *bench_ahead_host(const bench_ahead *ahead);

/* Waits for a case that nobody took. */
void bench_ahead_close(bench_ahead *ahead);

#endif
