#include "Service/row_cells.h"

#include <stdlib.h>

void hd_rows_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none) {
  hd_html_table(out, heading, rows, rows->n, columns, n, none);
}

/* NULL leaves a cell empty. */
#define CELL(name, write)                                                                          \
  void hd_cell_as_##name(hd_strbuf *out, const void *rows, int row, int col) {                     \
    const char *text = hd_cell(rows, row, col);                                                    \
    if (text)                                                                                      \
      write;                                                                                       \
  }
CELL(text, hd_html_text(out, text))
CELL(number, hd_strbuf_printf(out, "<span class=\"n\">%.6g</span>", strtod(text, NULL)))
CELL(us, hd_html_number(out, strtod(text, NULL), 2))
CELL(duration, hd_html_duration(out, strtod(text, NULL)))
CELL(code, hd_html_code(out, text))
CELL(hash, hd_html_hash(out, text))

void hd_cell_as_time(hd_strbuf *out, const void *rows, int row, int col) {
  char time[32];
  hd_time_format(hd_cell_int(rows, row, col), time);
  if (hd_cell(rows, row, col))
    hd_html_time(out, time);
}
