/* heddle/bench_groups.h: heddle bench --groups: cases of groups, one line each. */
#ifndef HD_BENCH_GROUPS_H
#define HD_BENCH_GROUPS_H

#include "Bench/groups_bench.h"
#include "bench_grid.h"
#include "bench_print.h"
#include "cli.h"

#define BENCH_ROUTING_ABOUT "of --groups: balanced, zipf, random, one (balanced,zipf)"

/* Runs every case of the grid with every number of groups and every routing (comma-separated; NULL:
 * the default). schedules: those of groups, by index, and of the plain product. device NULL: only
 * prints the schedules. HEDDLE_INVALID for a malformed list, HEDDLE_MISMATCH for a wrong result. */
heddle_status bench_groups_run(heddle_context *ctx, const hd_device *device, const bench_grid *grid,
                               const char *groups, const char *routings,
                               const cli_texts *const schedules[3], const hd_bench_options *options,
                               bench_format format);

#endif
