/* heddle/bench_print.h: prints a row for each contender of a case, as a table, CSV or JSON. */
#ifndef HD_BENCH_PRINT_H
#define HD_BENCH_PRINT_H

#include "Support/strbuf.h"
#include "Bench/bench.h"

typedef enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON } bench_format;

/* False if the text is not a format. */
bool bench_format_parse(const char *text, bench_format *format);

typedef struct bench_printer {
  bench_format format;
  bool alone;
  bool summary, dynamic; /* the head has only the device; other code prints the rows */
  uint64_t seed;
  int n_rows; /* printed so far */
} bench_printer;

/* CSV: the line of column names; appends the lines of a case to out. */
extern const char bench_csv_head[];
void bench_csv_case(hd_strbuf *out, uint64_t seed, const hd_bench_problem *problem,
                    const hd_bench_result *result);

/* Prints to standard output; nvml may be NULL. */
void bench_print_head(const bench_printer *printer, const hd_device_info *device,
                      const hd_nvml *nvml);
void bench_print_case(bench_printer *printer, const hd_bench_problem *problem,
                      const hd_bench_result *result);
void bench_print_tail(const bench_printer *printer);

/* The command that measures one contender again; owned: free(). name as in hd_bench_row. */
char *bench_command(const hd_bench_problem *problem, uint64_t seed, const char *name,
                    bool weights_ready, hd_trigger trigger);

#endif
