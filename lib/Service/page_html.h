/* Service/page_html.h: pieces of the dashboard's pages. What comes from the database is escaped. */
#ifndef HD_PAGE_HTML_H
#define HD_PAGE_HTML_H

#include "Service/request.h"

/* Begins a page and its navigation; `here` is the path of the current entry. */
void hd_page_begin(hd_strbuf *out, const char *title, const char *here);
void hd_page_end(hd_strbuf *out);
/* Answers with it (consumed). */
void hd_page_answer(hd_request *r, hd_strbuf *out);

void hd_html_text(hd_strbuf *out, const char *text);
/* A text as part of an address's query. */
void hd_html_query(hd_strbuf *out, const char *text);

/* A cell writes the column's value of one row. */
typedef void hd_html_cell(hd_strbuf *out, const hd_rows *rows, int row, int col);
hd_html_cell hd_cell_as_text, hd_cell_as_number, hd_cell_as_time, hd_cell_as_code,
    hd_cell_as_product, hd_cell_as_campaign, hd_cell_as_duration;
typedef struct hd_html_column {
  const char *title;
  int col; /* of the rows */
  hd_html_cell *cell;
} hd_html_column;
/* A table of rows, or the sentence `none`. */
void hd_html_table(hd_strbuf *out, const hd_rows *rows, const hd_html_column *columns, int n,
                   const char *none);

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
