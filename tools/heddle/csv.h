/* heddle/csv.h: CSV files whose first line names the columns; several may be concatenated. */
#ifndef HD_CSV_H
#define HD_CSV_H

#include "Support/diag.h"

typedef struct csv_row csv_row; /* one line and the names; valid during the call */
typedef heddle_status csv_row_fn(heddle_context *ctx, const csv_row *row, void *user);

/* Calls `each` for every line except headers and empty lines, until one fails. */
heddle_status csv_each(heddle_context *ctx, const char *path, csv_row_fn *each, void *user);
/* The same for a text, which is modified; name stands for it in diagnostics. */
heddle_status csv_each_of(heddle_context *ctx, const char *name, char *text, csv_row_fn *each,
                          void *user);

hd_loc csv_loc(const csv_row *row);
/* The field in the column with this name, borrowed; NULL if there is none. */
const char *csv_get(const csv_row *row, const char *name);
/* A number, 0 or more; a size, 1 to INT32_MAX. HEDDLE_INVALID at the line. */
heddle_status csv_number(heddle_context *ctx, const csv_row *row, const char *name, double *value);
heddle_status csv_size(heddle_context *ctx, const csv_row *row, const char *name, int64_t *size);
/* A number; 0 if the column is absent or the field empty. */
heddle_status csv_optional(heddle_context *ctx, const csv_row *row, const char *name,
                           double *value);

#endif
