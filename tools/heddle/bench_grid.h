/* heddle/bench_grid.h: the cases of a benchmark: a file of lines TYPE M K N [DTYPE]. */
#ifndef HD_BENCH_GRID_H
#define HD_BENCH_GRID_H

#include "Bench/bench.h"

typedef struct bench_grid {
  hd_bench_problem *list; /* owned: free() */
  int32_t n, cap;
} bench_grid;

/* Adds a case, unless `only` (NULL: all types) names another type. */
void bench_grid_add(bench_grid *grid, const hd_bench_problem *problem, const char *only);
/* Reads and checks every line of a file. HEDDLE_INVALID at the wrong line. */
heddle_status bench_grid_read(heddle_context *ctx, const char *path, const char *only,
                              bench_grid *grid);

#endif
