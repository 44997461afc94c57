/* heddle/bench_peers.h: the libraries that Heddle is held against, found and opened. */
#ifndef HD_BENCH_PEERS_H
#define HD_BENCH_PEERS_H

#include "Bench/bench.h"

/* CLI_GO, or what cli_usage_error returns: list is words of all, none, cublas, cusparselt,
 * stream. */
int bench_peers_check(const char *list);

/* Opens those of a checked list. A library is the file that its path names (ORDER: cublas,
 * cusparselt), else the first found by its usual names where the loader looks, with CUDA, or among
 * Python's wheels. One that cannot be opened is not missed, but told of. */
void bench_peers_open(heddle_context *ctx, const hd_device *device, const char *list,
                      const char *const path[2], hd_bench_options *options);

#endif
