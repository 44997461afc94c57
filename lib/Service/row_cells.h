/* Service/row_cells.h: HTML tables of a statement's rows. */
#ifndef HD_ROW_CELLS_H
#define HD_ROW_CELLS_H

#include "Html/html.h"
#include "Store/store.h"

/* hd_html_table for rows; column numbers are those of the statement. */
void hd_rows_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none);

hd_html_cell hd_cell_as_text, hd_cell_as_number, hd_cell_as_time, hd_cell_as_code,
    hd_cell_as_duration;
hd_html_cell hd_cell_as_us;   /* two decimals, so that columns align */
hd_html_cell hd_cell_as_hash; /* the first digits; the full hash is the tooltip */

#endif
