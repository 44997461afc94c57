/* Html/html.h: parts of HTML pages without scripts: text, tables, bars, strips, charts. */
#ifndef HD_HTML_H
#define HD_HTML_H

#include <stdbool.h>

#include "Support/strbuf.h"

/* An entry of the navigation. */
typedef struct hd_html_entry {
  const char *path, *title;
} hd_html_entry;
/* Begins a page of a site with the style sheet /style.css; `here` is the path of the current one of
 * n entries. */
void hd_html_begin(hd_strbuf *out, const char *title, const hd_html_entry *entries, int n,
                   const char *here);
/* Begins a self-contained page. */
void hd_html_begin_alone(hd_strbuf *out, const char *title);
void hd_html_end(hd_strbuf *out);
const char *hd_html_style(void); /* the style sheet of both kinds */

/* Writes escaped text, for untrusted texts. */
void hd_html_text(hd_strbuf *out, const char *text);
/* Writes a text as a part of a URL's query. */
void hd_html_query(hd_strbuf *out, const char *text);

/* Writes the value of a column in one of the caller's rows. */
typedef void hd_html_cell(hd_strbuf *out, const void *rows, int row, int col);
typedef struct hd_html_column {
  const char *title;
  int col; /* column of the rows */
  hd_html_cell *cell;
  bool number; /* right-aligned */
} hd_html_column;
/* Writes a table of rows, or the sentence `none` if there are no rows, under a heading (NULL:
 * none). */
void hd_html_table(hd_strbuf *out, const char *heading, const void *rows, int n_rows,
                   const hd_html_column *columns, int n, const char *none);
/* In a cell: a number with aligned digits; a bar of `part` (0 to 1) of the cell's width, with a
 * class of the style sheet ("": default). */
void hd_html_number(hd_strbuf *out, double value, int decimals);
void hd_html_bar(hd_strbuf *out, double part, const char *class);
/* A time as YYYY-MM-DDThh:mm:ss…; code; the first digits of a hash, whose tooltip is the full one;
 * a duration in the largest unit of which there are two. */
void hd_html_time(hd_strbuf *out, const char *time);
void hd_html_code(hd_strbuf *out, const char *text);
void hd_html_hash(hd_strbuf *out, const char *text);
void hd_html_duration(hd_strbuf *out, double seconds);

/* A strip of spans side by side, to scale. `name` is shown within the span if it fits; `about` is
 * the tooltip. */
typedef struct hd_span {
  double from, to; /* 0 to 1, relative to the strip's width */
  const char *name, *about;
  int colour; /* one of HD_N_FILLS; negative: empty */
} hd_span;
enum { HD_N_FILLS = 6 };
typedef struct hd_tick {
  double at; /* 0 to 1 */
  const char *name;
} hd_tick;
/* Ticks that do not fit after the previous one are left out. */
void hd_html_strip(hd_strbuf *out, const char *title, const hd_span *spans, int n,
                   const hd_tick *ticks, int n_ticks);
/* Writes the colour of a span, before a text about it. */
void hd_html_swatch(hd_strbuf *out, int colour);

/* A chart: series over a common x. NaN: no point. */
enum { HD_MAX_SERIES = 6 };
typedef struct hd_series {
  const char *name;
  const double *y; /* n values of the chart */
  bool line;       /* otherwise points */
} hd_series;
typedef struct hd_chart {
  const char *title, *x_title, *y_title;
  const double *x;
  int n;
  const hd_series *series;
  int n_series;
  bool x_counts; /* x values are whole numbers */
} hd_chart;
void hd_html_chart(hd_strbuf *out, const hd_chart *chart);

#endif
