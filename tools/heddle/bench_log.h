/* heddle/bench_log.h: the rows of a grid as CSV, in a file with which a later run can resume, and
 * gathered by case for the table. */
#ifndef HD_BENCH_LOG_H
#define HD_BENCH_LOG_H

#include <stdbool.h>

#include "Support/strbuf.h"
#include "Bench/bench.h"
#include "report.h"

typedef struct bench_log {
  const char *path;    /* contains only complete cases, even after an interruption; NULL: none */
  const char *cutlass; /* file of CUTLASS times, measured separately; NULL: none */
  hd_strbuf text;      /* contents of the file */
  report report;       /* the cases found in the file */
} bench_log;

/* Starts with the file's rows if resume, otherwise with the column line only. HEDDLE_INVALID if the
 * file has other columns than this version writes. */
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
