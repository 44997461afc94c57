#include "tune_times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/bench.h"
#include "Tune/records.h"

static void add(all_times *all, const hd_product *p, const char *schedule, double seconds) {
  product_times *t = NULL;
  char name[HD_PRODUCT_TEXT], other[HD_PRODUCT_TEXT];
  hd_product_print(p, name);
  for (int64_t i = all->n - 1; i >= 0 && !t; i--) {
    hd_product_print(&all->list[i].product, other);
    t = strcmp(name, other) ? NULL : &all->list[i];
  }
  if (!t) {
    HD_PUSH(all->list, all->n, all->cap, ((product_times){.product = *p}));
    t = &all->list[all->n - 1];
  }
  int64_t n = t->n;
  HD_PUSH(t->seconds, n, t->seconds_cap, seconds);
  HD_PUSH(t->schedule, t->n, t->cap, strdup(schedule));
}

/* TYPE,M,K,N,us,…,VERDICT,"heddle row|col SCHEDULE"; other contenders' lines are passed over. */
static heddle_status read_line(heddle_context *ctx, hd_loc loc, char *line, all_times *all) {
  char type[32], text[96];
  long long m, k, n;
  double us;
  char *name = strstr(line, ",ok,\"heddle ");
  if (!name)
    return HEDDLE_OK;
  if (sscanf(line, "%31[^,],%lld,%lld,%lld,%lf", type, &m, &k, &n, &us) != 5 || !(us > 0) ||
      !isfinite(us))
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.csv",
                    "got \"%.60s\"; a line is TYPE,M,K,N,us,…", line);
  name += strlen(",ok,\"heddle ");
  char *schedule = name + strcspn(name, " ");
  schedule[strcspn(schedule, "\"")] = '\0';
  hd_product p;
  heddle_elem elem;
  const char *d = heddle_elem_parse(type, &elem) == HEDDLE_OK
                      ? heddle_elem_get(hd_bench_output(elem))->name
                      : "bf16";
  snprintf(text, sizeof text, "%s %lld %lld %lld %s %s", type, m, k, n, d,
           strncmp(name, "col", 3) ? "row_major" : "col_major");
  HD_TRY(hd_product_line(ctx, loc, "sm_90a", text, &p));
  add(all, &p, schedule + (*schedule == ' '), us * 1e-6);
  return HEDDLE_OK;
}

static heddle_status read_csv(heddle_context *ctx, const char *path, all_times *all) {
  char *text, *next = NULL;
  size_t n_bytes;
  HD_TRY(hd_file_read(ctx, path, &text, &n_bytes));
  heddle_status status = HEDDLE_OK;
  hd_loc loc = {path, 0, 1};
  for (char *line = text; line && status == HEDDLE_OK; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    loc.line++;
    if (line[0] != '#')
      status = read_line(ctx, loc, line, all);
  }
  free(text);
  return status;
}

static bool take_record(void *user, const hd_record *r) {
  hd_product p;
  if (!r->final && r->verdict == HD_VERDICT_OK &&
      hd_product_parse(NULL, r->product, &p) == HEDDLE_OK)
    add(user, &p, r->schedule, r->median);
  return true;
}

static heddle_status read_records(heddle_context *ctx, const char *path, all_times *all) {
  hd_records *records;
  HD_TRY(hd_records_open(ctx, path, false, &records));
  heddle_status status = hd_records_each(ctx, records, NULL, take_record, all);
  hd_records_close(records);
  return status;
}

void tune_times_free(all_times *all) {
  for (int64_t i = 0; i < all->n; i++) {
    for (int64_t j = 0; j < all->list[i].n; j++)
      free(all->list[i].schedule[j]);
    free(all->list[i].schedule);
    free(all->list[i].seconds);
  }
  free(all->list);
}

heddle_status tune_times_read(heddle_context *ctx, const char *db, const char *csv,
                              all_times *all) {
  HD_TRY(csv ? read_csv(ctx, csv, all) : read_records(ctx, db, all));
  if (all->n)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.times", "there are no measurements");
}
