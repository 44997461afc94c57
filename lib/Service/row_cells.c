#include "Service/row_cells.h"

void hd_rows_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none) {
  hd_html_table(out, heading, rows, rows->n, columns, n, none);
}

void hd_cell_as_text(hd_strbuf *out, const void *rows, int row, int col) {
  hd_html_text(out, hd_cell_text(rows, row, col));
}

void hd_cell_as_number(hd_strbuf *out, const void *rows, int row, int col) {
  if (hd_cell(rows, row, col))
    hd_strbuf_printf(out, "<span class=\"n\">%.6g</span>", hd_cell_num(rows, row, col));
}

void hd_cell_as_us(hd_strbuf *out, const void *rows, int row, int col) {
  if (hd_cell(rows, row, col))
    hd_html_number(out, hd_cell_num(rows, row, col), 2);
}

void hd_cell_as_time(hd_strbuf *out, const void *rows, int row, int col) {
  char time[32];
  hd_time_format(hd_cell_int(rows, row, col), time);
  if (hd_cell(rows, row, col))
    hd_html_time(out, time);
}

void hd_cell_as_duration(hd_strbuf *out, const void *rows, int row, int col) {
  if (hd_cell(rows, row, col))
    hd_html_duration(out, hd_cell_num(rows, row, col));
}

void hd_cell_as_code(hd_strbuf *out, const void *rows, int row, int col) {
  hd_html_code(out, hd_cell_text(rows, row, col));
}

void hd_cell_as_hash(hd_strbuf *out, const void *rows, int row, int col) {
  hd_html_hash(out, hd_cell_text(rows, row, col));
}
