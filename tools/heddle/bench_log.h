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

/* The file that --cutlass asks for, else cutlass.csv next to the grid (owned); NULL: none. */
char *bench_log_cutlass(const char *asked, const char *grid);

/* Names of contenders. */
typedef struct bench_names {
  char **name; /* owned, each too: bench_names_free */
  int32_t n, cap;
} bench_names;
void bench_names_free(bench_names *names);

/* Starts with the file's rows if resume, otherwise with the column line only. HEDDLE_INVALID if the
 * file has other columns than this version writes. */
heddle_status bench_log_open(heddle_context *ctx, bool resume, bench_log *log);
/* Gathers the rows of a case; *cell (borrowed until the next call) is NULL when it has none. */
heddle_status bench_log_find(heddle_context *ctx, bench_log *log, const hd_bench_problem *problem,
                             const report_cell **cell);
/* Whether it is measured. A case that only has ways that broke the device is not. */
bool bench_log_has(const bench_log *log, const hd_bench_problem *problem);
/* The ways that broke the device in an earlier attempt at the case. */
bench_names bench_log_broken(const bench_log *log, const hd_bench_problem *problem);
/* Adds rows of a case, and writes the file. */
heddle_status bench_log_add(heddle_context *ctx, bench_log *log, uint64_t seed,
                            const hd_bench_problem *problem, const hd_bench_result *result);
void bench_log_close(bench_log *log);

#endif
