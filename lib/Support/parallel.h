/* Support/parallel.h: a parallel loop. */
#ifndef HD_PARALLEL_H
#define HD_PARALLEL_H

#include <stdint.h>

/* Calls work(user, i) once for each i below n, in any order, on n_jobs threads: the caller's and at
 * most 64 others. If a thread cannot be started, the other threads do its work. */
void hd_parallel(int32_t n_jobs, int32_t n, void (*work)(void *user, int32_t i), void *user);

#endif
