/* heddle/promise.h: --weights-ready of bench and tune. */
#ifndef HD_PROMISE_H
#define HD_PROMISE_H

#include "Bench/bench.h"

#define PROMISE_ABOUT "kernels with the attribute weights_ready (launches overlap): no, yes, both"

/* CLI_GO, or 2 for an illegal word, which is reported. */
int promise_read(const char *word, hd_bench_promise *promise);

#endif
