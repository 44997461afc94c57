/* heddle/report.h: results of `heddle bench --format csv`, gathered by case. */
#ifndef HD_REPORT_H
#define HD_REPORT_H

#include "csv.h"
#include "heddle/types.h"

/* ORDER REPORT: the names in report_read.c. */
typedef enum report_who {
  REPORT_HEDDLE,
  REPORT_CUBLAS,
  REPORT_CUSPARSELT,
  REPORT_CUTLASS, /* derived from times on another machine */
  REPORT_READ,    /* a kernel that only reads A and B */
  REPORT_ALL,     /* the same, and writes as many bytes as D */
  REPORT_N
} report_who;

/* Microseconds per launch; 0: not measured. */
typedef struct report_figure {
  double us, sustained_us;
} report_figure;

typedef struct report_cell {
  heddle_elem elem;
  int64_t m, k, n;
  report_figure of[REPORT_N]; /* the shortest time, over schedules, D's types and weights_ready */
  report_figure plain;        /* Heddle's shortest without weights_ready */
  char schedule[256], promise[16]; /* Heddle's; promise "": without weights_ready */
} report_cell;

typedef struct report {
  report_cell *cell; /* owned */
  int32_t n, cap;
  int32_t n_wrong; /* rows that were skipped because of a wrong result */
  int32_t n_broke; /* rows of peers' ways that broke the device */
} report;

/* The verdict of such a row. */
extern const char report_broke[];

/* Adds a row, or all rows of a file. Columns are found by name; wrong results and single rounds of
 * a sweep are skipped. HEDDLE_INVALID names the line and the column. */
heddle_status report_add_row(heddle_context *ctx, const csv_row *row, report *r);
heddle_status report_read(heddle_context *ctx, const char *path, report *r);
/* NULL if there is no such case. */
const report_cell *report_find(const report *r, heddle_elem elem, int64_t m, int64_t k, int64_t n);
/* CUTLASS' time here = its time in the file x the geometric mean of (cuBLAS here / in the file,
 * cuSPARSELt here / in the file). Its sustained time likewise if the file has one; otherwise it is
 * scaled like cuSPARSELt's, which has the same power limit. Columns
 * type,m,k,n,cublas,cusparselt,cutlass, and the last three with _sustained. */
heddle_status report_add_cutlass(heddle_context *ctx, const char *path, report *r);
void report_free(report *r);

/* "cuBLAS, cuSPARSELt and CUTLASS": those with a time in any case. */
void report_peer_names(const report *r, char *text, size_t size);
/* The shortest time of the three peers; 0: none. */
double report_peer(const report_cell *cell, bool sustained);
/* Whether sustained times are compared: for n >= 1024, if both sides have one. */
bool report_is_sustained(const report_cell *cell);
/* Peer time over Heddle's; 0: none. The second: over Heddle's without weights_ready. */
double report_gain(const report_cell *cell);
double report_plain_gain(const report_cell *cell);
/* Time of dense cuBLAS over Heddle's; 0: not measured. */
double report_dense_gain(const report_cell *cell);
/* From a time in microseconds, with 2 m n k operations; 0 if there is none. */
double report_tflops(const report_cell *cell, double us);
/* Bytes of packed A; and of all operands that the product must read and write. */
double report_a_bytes(const report_cell *cell);
double report_all_bytes(const report_cell *cell);

/* Prints Markdown with aligned columns to standard output: the head, and a line per case as it is
 * measured; then each type and band with its goal. */
void report_print_head(void);
void report_print_case(const report_cell *cell);
/* untuned: uses the goals for problems that were not tuned, and lists dense cuBLAS separately. */
void report_print_goals(const report *r, bool untuned);
/* Writes roofline.svg and speedup.svg to a folder, which is created. */
heddle_status report_plot(heddle_context *ctx, const report *r, const char *folder);

#endif
