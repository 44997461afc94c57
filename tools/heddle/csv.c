#include "csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "Support/lines.h"
#include "Support/memory.h"

enum { MAX_FIELDS = 24 };

typedef struct fields {
  char *at[MAX_FIELDS]; /* borrowed from the file's text */
  int n;
} fields;

struct csv_row {
  hd_loc loc;
  fields names, values;
};

/* Splits a line into fields, in place; a doubled quote inside quotes is one. False if a quote is
 * not closed. */
static bool cut(char *text, fields *f) {
  bool quoted = false;
  f->n = 0;
  while (text && f->n < MAX_FIELDS) {
    char *to = text, *from = text;
    quoted = *from == '"';
    f->at[f->n++] = to;
    from += quoted;
    for (; *from && (quoted || *from != ','); from++) {
      if (quoted && *from == '"' && *++from != '"') {
        quoted = false;
        if (*from == ',' || !*from)
          break;
      }
      *to++ = *from;
    }
    text = *from == ',' ? from + 1 : NULL;
    *to = '\0';
  }
  return !quoted;
}

heddle_status csv_each_of(heddle_context *ctx, const char *name, char *text, csv_row_fn *each,
                          void *user) {
  hd_lines lines = hd_lines_of(name, text);
  csv_row row = {0};
  heddle_status status = HEDDLE_OK;
  for (char *line; status == HEDDLE_OK && (line = hd_lines_next(&lines));) {
    row.loc = lines.loc;
    if (!*line)
      continue;
    if (!cut(line, &row.values))
      status = hd_error(ctx, HEDDLE_INVALID, row.loc, "csv.quote",
                        "a quote is not closed on its line");
    /* The header, and repeated headers where files were joined. */
    else if (row.names.n == 0 || strcmp(row.values.at[0], row.names.at[0]) == 0)
      row.names = row.values;
    else
      status = each(ctx, &row, user);
  }
  if (status == HEDDLE_OK && row.names.n < 2) /* a single word could be any text */
    status = hd_error(ctx, HEDDLE_INVALID, lines.loc, "csv.head",
                      "the line with the names of the columns is missing; legal: a CSV of heddle "
                      "bench or tune");
  return status;
}

heddle_status csv_each(heddle_context *ctx, const char *path, csv_row_fn *each, void *user) {
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, path, &text, &n_bytes));
  heddle_status status = csv_each_of(ctx, path, text, each, user);
  hd_free(text);
  return status;
}

hd_loc csv_loc(const csv_row *row) { return row->loc; }

const char *csv_get(const csv_row *row, const char *name) {
  for (int i = 0; i < row->names.n && i < row->values.n; i++)
    if (strcmp(row->names.at[i], name) == 0)
      return row->values.at[i];
  return NULL;
}

heddle_status csv_number(heddle_context *ctx, const csv_row *row, const char *name, double *value) {
  const char *text = csv_get(row, name);
  char *end = NULL;
  *value = text ? strtod(text, &end) : 0;
  if (text && end != text && !*end && *value >= 0 && isfinite(*value))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, row->loc, "csv.column",
                  "got %s%.40s%s in column %s; legal: a number, 0 or more", text ? "\"" : "",
                  text ? text : "nothing", text ? "\"" : "", name);
}

heddle_status csv_size(heddle_context *ctx, const csv_row *row, const char *name, int64_t *size) {
  double value;
  HD_TRY(csv_number(ctx, row, name, &value));
  if (value < 1 || value > INT32_MAX || value != floor(value))
    return hd_error(ctx, HEDDLE_INVALID, row->loc, "csv.column",
                    "got \"%.40s\" in column %s; legal: a size, 1 to %d", csv_get(row, name), name,
                    INT32_MAX);
  *size = (int64_t)value;
  return HEDDLE_OK;
}

heddle_status csv_optional(heddle_context *ctx, const csv_row *row, const char *name,
                           double *value) {
  const char *text = csv_get(row, name);
  *value = 0;
  return text && *text ? csv_number(ctx, row, name, value) : HEDDLE_OK;
}
