/* Support/parallel.h: the same work on many items, by several threads. */
#ifndef HD_PARALLEL_H
#define HD_PARALLEL_H

#include <stdint.h>

/* Calls work(user, i) once for each i below n, in no order; the caller's thread works too. n_jobs
 * at a time, at most 64; a thread that cannot be had is not missed. */
void hd_parallel(int32_t n_jobs, int32_t n, void (*work)(void *user, int32_t i), void *user);

#endif
