/* Results of a statement: cells, and rows as JSON, with types from the suffixes of column names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "Store/store.h"

const char *hd_cell(const hd_rows *r, int row, int col) {
  return row < r->n && col < r->n_cols ? r->cell[row * r->n_cols + col] : NULL;
}

const char *hd_cell_text(const hd_rows *r, int row, int col) {
  const char *text = hd_cell(r, row, col);
  return text ? text : "";
}

int64_t hd_cell_int(const hd_rows *r, int row, int col) {
  return strtoll(hd_cell_text(r, row, col), NULL, 10);
}

double hd_cell_num(const hd_rows *r, int row, int col) {
  return strtod(hd_cell_text(r, row, col), NULL);
}

void hd_time_format(int64_t ms, char out[32]) {
  time_t seconds = (time_t)(ms / 1000);
  struct tm tm;
  gmtime_r(&seconds, &tm);
  size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out + n, 32 - n, ".%03dZ", (int)(ms % 1000));
}

static json_t *typed(const char *type, const char *text) {
  char time[32];
  if (strcmp(type, "int") == 0)
    return json_integer(strtoll(text, NULL, 10));
  if (strcmp(type, "num") == 0)
    return json_real(strtod(text, NULL));
  if (strcmp(type, "bool") == 0)
    return json_boolean(strtoll(text, NULL, 10) != 0);
  if (strcmp(type, "json") == 0)
    return json_loads(text, JSON_DECODE_ANY, NULL);
  hd_time_format(strtoll(text, NULL, 10), time);
  return json_stringn(time, strcmp(type, "day") == 0 ? 10 : strlen(time));
}

json_t *hd_row_json(const hd_rows *r, int row) {
  json_t *object = json_object();
  for (int i = 0; i < r->n_cols; i++) {
    const char *text = hd_cell(r, row, i), *type = strchr(r->name[i], ':');
    char name[64];
    if (!text)
      continue;
    snprintf(name, sizeof name, "%.*s", type ? (int)(type - r->name[i]) : 63, r->name[i]);
    json_object_set_new(object, name, type ? typed(type + 1, text) : json_string(text));
  }
  return object;
}

json_t *hd_rows_json(const hd_rows *r) {
  json_t *list = json_array();
  for (int i = 0; i < r->n; i++)
    json_array_append_new(list, hd_row_json(r, i));
  return list;
}
