#include "tune_times.h"

#include <stdio.h>
#include <string.h>

#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/records.h"
#include "csv.h"

const char *const tune_band_names[TUNE_N_BANDS] = {"N <= 64", "N = 65 .. 1023", "N >= 1024"};

size_t tune_band_of(const hd_product *product) {
  return product->n <= 64 ? 0 : product->n < 1024 ? 1 : 2;
}

static void add(all_times *all, const hd_product *p, bool quick, const char *schedule,
                double seconds) {
  product_times *t = NULL;
  char name[HD_PRODUCT_TEXT], other[HD_PRODUCT_TEXT];
  hd_product_print(p, name);
  for (int64_t i = all->n - 1; i >= 0 && !t; i--) {
    if (all->list[i].quick != quick)
      continue;
    hd_product_print(&all->list[i].product, other);
    t = strcmp(name, other) ? NULL : &all->list[i];
  }
  if (!t) {
    HD_PUSH(all->list, all->n, all->cap, ((product_times){.product = *p, .quick = quick}));
    t = &all->list[all->n - 1];
  }
  const hd_timed timed = {hd_xstrdup(schedule), seconds};
  HD_PUSH(t->list, t->n, t->cap, timed);
}

/* The field if it is a word of a grid line, else "none", which is then refused with its column. */
static const char *word(const char *field) {
  return field && *field && !strpbrk(field, " \t") ? field : "none";
}

/* Makes a grid line from a row, and reads its product. */
static heddle_status product_of(heddle_context *ctx, const csv_row *row, const char *order,
                                hd_product *p) {
  const char *promise = csv_get(row, "promise");
  char text[160];
  int64_t m, k, n;
  HD_TRY(csv_size(ctx, row, "m", &m));
  HD_TRY(csv_size(ctx, row, "k", &k));
  HD_TRY(csv_size(ctx, row, "n", &n));
  snprintf(text, sizeof text, "%.32s %lld %lld %lld %.16s %s_major %.16s",
           word(csv_get(row, "type")), (long long)m, (long long)k, (long long)n,
           word(csv_get(row, "d_type")), order, promise && *promise ? word(promise) : "");
  return hd_product_line(ctx, csv_loc(row), "sm_90a", text, p);
}

/* Adds correct times of Heddle's schedules; skips rows of other contenders. */
static heddle_status add_row(heddle_context *ctx, const csv_row *row, void *user) {
  const char *name = csv_get(row, "contender"), *verdict = csv_get(row, "verdict");
  const char *predecessor = csv_get(row, "predecessor"); /* the row's time includes the
                                                            predecessor */
  char order[8] = "";
  int at = 0;
  double us;
  hd_product p;
  bool right = verdict && strcmp(verdict, "ok") == 0;
  if (!name || sscanf(name, "heddle %7s %n", order, &at) != 1 || !right ||
      (predecessor && *predecessor))
    return HEDDLE_OK;
  HD_TRY(product_of(ctx, row, order, &p));
  HD_TRY(csv_number(ctx, row, "us", &us));
  const char *rounds = csv_get(row, "rounds");
  bool quick = rounds && strcmp(rounds, "1") == 0;
  if (us > 0)
    add(user, &p, quick, name + at, us * 1e-6);
  return HEDDLE_OK;
}

static bool take_record(void *user, const hd_record *r) {
  all_times *all = user;
  hd_product p;
  if (r->final || r->verdict != HD_VERDICT_OK ||
      hd_product_parse(NULL, r->product, &p) != HEDDLE_OK)
    return true;
  add(all, &p, false, r->schedule, r->median);
  if (!all->device)
    all->device = hd_xstrdup(r->device);
  else if (!all->other_device && strcmp(all->device, r->device) != 0)
    all->other_device = hd_xstrdup(r->device);
  return true;
}

static heddle_status read_records(heddle_context *ctx, const char *path, all_times *all) {
  hd_records *records;
  HD_TRY(hd_records_open(ctx, path, false, &records));
  heddle_status status = hd_records_each(ctx, records, NULL, take_record, all);
  hd_records_close(records);
  return status;
}

static heddle_status predict(heddle_context *ctx, const product_times *t, const hd_problem *problem,
                             const hd_device_model *ceilings, tune_predicted *each, void *user) {
  static const int64_t fixed[3] = {0};
  for (int64_t i = 0; i < t->n; i++) {
    hd_schedule s;
    HD_TRY(hd_schedule_read(ctx, ceilings, problem, t->list[i].schedule, &s));
    hd_cost cost = hd_schedule_cost(problem, &s, fixed, ceilings);
    HD_TRY(each(user, t, &t->list[i], &cost));
  }
  return HEDDLE_OK;
}

heddle_status tune_times_predict(heddle_context *ctx, const all_times *all,
                                 const hd_device_model *ceilings, tune_predicted *each,
                                 void *user) {
  heddle_status status = HEDDLE_OK;
  for (int64_t i = 0; i < all->n && status == HEDDLE_OK; i++) {
    hd_front front = {0};
    status = hd_product_build(ctx, HD_NOWHERE, &all->list[i].product, &front);
    if (status == HEDDLE_OK)
      status = predict(ctx, &all->list[i], &front.problem, ceilings, each, user);
    hd_front_free(&front);
  }
  return status;
}

void tune_times_free(all_times *all) {
  for (int64_t i = 0; i < all->n; i++) {
    for (int64_t j = 0; j < all->list[i].n; j++)
      hd_free(all->list[i].list[j].schedule);
    hd_free(all->list[i].list);
  }
  hd_free(all->list);
  hd_free(all->device);
  hd_free(all->other_device);
}

heddle_status tune_times_read(heddle_context *ctx, const char *db, const char *csv,
                              all_times *all) {
  HD_TRY(csv ? csv_each(ctx, csv, add_row, all) : read_records(ctx, db, all));
  if (all->n)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.times", "there are no measurements");
}
