/* heddle/report.h: what `heddle bench --format csv` printed, gathered by case. */
#ifndef HD_REPORT_H
#define HD_REPORT_H

#include "csv.h"
#include "heddle/types.h"

/* ORDER REPORT: as the names in report_read.c. */
typedef enum report_who {
  REPORT_HEDDLE,
  REPORT_CUBLAS,
  REPORT_CUSPARSELT,
  REPORT_CUTLASS, /* not measured: derived from its times elsewhere */
  REPORT_READ,    /* a kernel that only reads A and B */
  REPORT_ALL,     /* and as many bytes of D */
  REPORT_N
} report_who;

/* Microseconds a launch; 0: not measured. */
typedef struct report_figure {
  double us, sustained_us;
} report_figure;

typedef struct report_cell {
  heddle_elem elem;
  int64_t m, k, n;
  report_figure of[REPORT_N]; /* the least of each, over its ways, D's types and promises */
  report_figure plain;        /* of Heddle's the least without a promise */
  char schedule[256], promise[16]; /* of Heddle's; "": it was promised nothing */
} report_cell;

typedef struct report {
  report_cell *cell; /* owned */
  int32_t n, cap;
  int32_t n_wrong; /* rows left out because their result was wrong */
} report;

/* Adds a row; a file's rows. Columns are found by the names in its first line; wrong results and
 * quick looks of a sweep are left out. HEDDLE_INVALID names the line and the column. */
heddle_status report_add_row(heddle_context *ctx, const csv_row *row, report *r);
heddle_status report_read(heddle_context *ctx, const char *path, report *r);
/* NULL: none has it. */
const report_cell *report_find(const report *r, heddle_elem elem, int64_t m, int64_t k, int64_t n);
/* CUTLASS' time now = its time in the file x the geometric mean of (cuBLAS now / there, cuSPARSELt
 * now / there); its sustained time in the same way where the file has sustained times, else slower
 * by as much as cuSPARSELt's, which the same power cap binds. Columns
 * type,m,k,n,cublas,cusparselt,cutlass, and the last three with _sustained. */
heddle_status report_add_cutlass(heddle_context *ctx, const char *path, report *r);
void report_free(report *r);

/* "cuBLAS, cuSPARSELt and CUTLASS": those that any case has. */
void report_peer_names(const report *r, char *text, size_t size);
/* The least time of the three peers; 0: none. */
double report_peer(const report_cell *cell, bool sustained);
/* Which figure binds: from n = 1024 on the sustained one, where both sides have it. */
bool report_is_sustained(const report_cell *cell);
/* Peer over Heddle, by the figure that binds; 0: none. The second: of Heddle without a promise. */
double report_gain(const report_cell *cell);
double report_plain_gain(const report_cell *cell);
/* Dense cuBLAS over Heddle, likewise; 0: not measured. */
double report_dense_gain(const report_cell *cell);
/* Of a time in microseconds, 2 m n k counted; 0 of none. */
double report_tflops(const report_cell *cell, double us);
/* Bytes of packed A; and of all that the product must read and write. */
double report_a_bytes(const report_cell *cell);
double report_all_bytes(const report_cell *cell);

/* Markdown on standard output, its columns aligned: what the columns are, and a line a case, which
 * may come as it is measured; then each type and band against its goal. */
void report_print_head(void);
void report_print_case(const report_cell *cell);
/* untuned: against the goals of problems that nobody tuned, and dense cuBLAS by itself. */
void report_print_goals(const report *r, bool untuned);
/* roofline.svg and speedup.svg in a folder, which is made. */
heddle_status report_plot(heddle_context *ctx, const report *r, const char *folder);

#endif
