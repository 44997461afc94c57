/* heddle/bench_peers.h: finds and opens the libraries that Heddle is compared with. */
#ifndef HD_BENCH_PEERS_H
#define HD_BENCH_PEERS_H

#include "Bench/bench.h"

/* CLI_GO, or the result of cli_usage_error: the words of the list must be all, none, cublas,
 * cusparselt or stream. */
int bench_peers_check(const char *list);

/* Opens the libraries of a checked list. A library is the file that its path names (ORDER: cublas,
 * cusparselt), else the first that is found by its usual names: where the loader looks, with CUDA,
 * or in Python wheels. A library that cannot be opened is left out, with a note. */
void bench_peers_open(heddle_context *ctx, const hd_device *device, const char *list,
                      const char *const path[2], hd_bench_options *options);

#endif
