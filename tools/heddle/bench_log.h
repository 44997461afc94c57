/* heddle/bench_log.h: the rows of a grid as CSV, in a file that a later run goes on with, and
 * gathered by case for the table. */
#ifndef HD_BENCH_LOG_H
#define HD_BENCH_LOG_H

#include <stdbool.h>

#include "Support/strbuf.h"
#include "Bench/bench.h"
#include "report.h"

typedef struct bench_log {
  const char *path;    /* holds whole cases alone, whenever the run ends; NULL: no file */
  const char *cutlass; /* CUTLASS' times elsewhere; NULL: none */
  hd_strbuf text;      /* what the file holds */
  report report;       /* the cases found in it */
} bench_log;

/* Begins with what the file holds when resume is said, and with its columns alone otherwise.
 * HEDDLE_INVALID when they are not those of today. */
heddle_status bench_log_open(heddle_context *ctx, bool resume, bench_log *log);
/* Gathers the rows of a case; *cell (borrowed until the next call) is NULL when it has none. */
heddle_status bench_log_find(heddle_context *ctx, bench_log *log, const hd_bench_problem *problem,
                             const report_cell **cell);
bool bench_log_has(const bench_log *log, const hd_bench_problem *problem);
/* Adds a measured case, and writes the file. */
heddle_status bench_log_add(heddle_context *ctx, bench_log *log, uint64_t seed,
                            const hd_bench_problem *problem, const hd_bench_result *result);
void bench_log_close(bench_log *log);

#endif
