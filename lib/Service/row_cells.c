#include "Service/row_cells.h"

#include <stdlib.h>

void hd_rows_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none) {
  hd_html_table(out, heading, rows, rows->n, columns, n, none);
}

void hd_cell_as_text(hd_strbuf *out, const void *rows, int row, int col) {
  hd_html_text(out, hd_cell_text(rows, row, col));
}

void hd_cell_as_number(hd_strbuf *out, const void *rows, int row, int col) {
  const char *text = hd_cell(rows, row, col);
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.6g</span>", strtod(text, NULL));
}

void hd_cell_as_us(hd_strbuf *out, const void *rows, int row, int col) {
  const char *text = hd_cell(rows, row, col);
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.2f</span>", strtod(text, NULL));
}

void hd_cell_as_time(hd_strbuf *out, const void *rows, int row, int col) {
  char time[32];
  if (!hd_cell(rows, row, col))
    return;
  hd_time_format(hd_cell_int(rows, row, col), time);
  hd_strbuf_printf(out, "<time datetime=\"%s\">%.10s %.8s</time>", time, time, time + 11);
}

void hd_cell_as_duration(hd_strbuf *out, const void *rows, int row, int col) {
  static const struct {
    double seconds;
    const char *unit;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  const char *text = hd_cell(rows, row, col);
  double s = text ? strtod(text, NULL) : 0;
  size_t i = 0;
  while (i < HD_COUNT(units) - 1 && s < 2 * units[i].seconds)
    i++;
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.0f %s</span>", s / units[i].seconds, units[i].unit);
}

void hd_cell_as_code(hd_strbuf *out, const void *rows, int row, int col) {
  hd_strbuf_add(out, "<code>");
  hd_html_text(out, hd_cell_text(rows, row, col));
  hd_strbuf_add(out, "</code>");
}

void hd_cell_as_hash(hd_strbuf *out, const void *rows, int row, int col) {
  const char *text = hd_cell_text(rows, row, col);
  hd_strbuf_add(out, "<code title=\"");
  hd_html_text(out, text);
  hd_strbuf_add(out, "\">");
  for (int i = 0; i < 8 && text[i]; i++)
    hd_html_text(out, (char[]){text[i], '\0'});
  hd_strbuf_add(out, "</code>");
}
