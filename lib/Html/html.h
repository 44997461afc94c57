/* Html/html.h: pieces of pages. What comes from the database is escaped. */
#ifndef HD_HTML_H
#define HD_HTML_H

#include "Store/store.h"
#include "Support/strbuf.h"

/* An entry of the navigation. */
typedef struct hd_html_entry {
  const char *path, *title;
} hd_html_entry;
/* Begins a page, and ends it; `here` is the path of the current one of n entries. */
void hd_html_begin(hd_strbuf *out, const char *title, const hd_html_entry *entries, int n,
                   const char *here);
void hd_html_end(hd_strbuf *out);

void hd_html_text(hd_strbuf *out, const char *text);
/* A text as part of an address's query. */
void hd_html_query(hd_strbuf *out, const char *text);

/* A cell writes the column's value of one row. */
typedef void hd_html_cell(hd_strbuf *out, const hd_rows *rows, int row, int col);
hd_html_cell hd_cell_as_text, hd_cell_as_number, hd_cell_as_time, hd_cell_as_code,
    hd_cell_as_duration;
hd_html_cell hd_cell_as_us;   /* two decimals, so that a column of them stands by its points */
hd_html_cell hd_cell_as_hash; /* its first digits; the whole under the pointer */
typedef struct hd_html_column {
  const char *title;
  int col; /* of the rows */
  hd_html_cell *cell;
} hd_html_column;
/* A table of rows, or the sentence `none`, under a heading (NULL: none). */
void hd_html_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none);

/* A chart: series over a common x; NaN leaves a point out. */
enum { HD_MAX_SERIES = 6 };
typedef struct hd_series {
  const char *name;
  const double *y; /* n of the chart */
  bool line;       /* else points */
} hd_series;
typedef struct hd_chart {
  const char *title, *x_title, *y_title;
  const double *x;
  int n;
  const hd_series *series;
  int n_series;
  bool x_counts; /* whole numbers */
} hd_chart;
void hd_html_chart(hd_strbuf *out, const hd_chart *chart);

#endif
