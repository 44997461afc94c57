/* bench_ahead.h: prepares the next case of a grid while the device measures the current one. */
#ifndef BENCH_AHEAD_H
#define BENCH_AHEAD_H

#include <pthread.h>

#include "Bench/bench_prepare.h"

/* Zero-initialise; release with bench_ahead_close. At most one case is being prepared. */
typedef struct bench_ahead {
  const hd_device *device;
  const char *target;
  hd_bench_host *host[2]; /* of the case being measured and of the next one, alternating */
  int turn;
  const hd_bench_problem *problem; /* borrowed: the case being prepared, or NULL */
  hd_bench_options options;
  hd_bench_prepared next;
  heddle_context *said;
  heddle_status status;
  pthread_t thread;
} bench_ahead;

void bench_ahead_open(bench_ahead *ahead, const hd_device *device, const char *target);

/* Returns the prepared case: the one that bench_ahead_begin started, otherwise it is prepared now.
 * The caller owns it and clears it before the second call after this one. */
heddle_status bench_ahead_take(heddle_context *ctx, bench_ahead *ahead,
                               const hd_bench_problem *problem, const hd_bench_options *options,
                               hd_bench_prepared *prepared);

/* Starts to prepare a case, which is borrowed until bench_ahead_take. */
void bench_ahead_begin(bench_ahead *ahead, const hd_bench_problem *problem,
                       const hd_bench_options *options);

/* The host whose values are not used by the case being prepared. */
hd_bench_host *bench_ahead_host(const bench_ahead *ahead);

/* Waits for a case that was begun and not taken, and frees it. */
void bench_ahead_close(bench_ahead *ahead);

#endif
