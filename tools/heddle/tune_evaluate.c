/* heddle tune evaluate: does the model rank, and would the search have found the best? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/evaluate.h"
#include "Tune/records.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"

static const char about[] =
    "Judges the model and the search by measurements of many schedules: of --db (quick looks), or of\n"
    "a --csv file as `heddle tune --csv` and `heddle bench --format csv` write it. Each line: a\n"
    "product, how many schedules, Spearman's rank correlation of predicted and measured times, then\n"
    "over the best of all: the model's first, the best of its first five, and the best of what the\n"
    "search would have measured. Needs no device.";
static const char examples[] = "heddle tune evaluate --csv test/tune/h200_sweep.csv\n"
                               "heddle tune evaluate --db sweep.db --top 20\n";

typedef struct product_times {
  hd_product product;
  char **schedule; /* owned, each too */
  double *seconds; /* owned */
  int64_t n, cap, seconds_cap;
} product_times;

typedef struct all_times {
  product_times *list; /* owned */
  int64_t n, cap;
} all_times;

/* ---- reading ---- */

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
  if (sscanf(line, "%31[^,],%lld,%lld,%lld,%lf", type, &m, &k, &n, &us) != 5 || !(us > 0))
    return hd_error(ctx, HEDDLE_INVALID, loc, "tune.csv", "got \"%.60s\"; a line is TYPE,M,K,N,us,…",
                    line);
  name += strlen(",ok,\"heddle ");
  char *schedule = name + strcspn(name, " ");
  schedule[strcspn(schedule, "\"")] = '\0';
  hd_product p;
  heddle_elem elem;
  const char *d = heddle_elem_parse(type, &elem) != HEDDLE_OK ? ""
                  : elem == HEDDLE_TF32                       ? "f32"
                  : elem == HEDDLE_F16                        ? "f16"
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

static void free_all(all_times *all) {
  for (int64_t i = 0; i < all->n; i++) {
    for (int64_t j = 0; j < all->list[i].n; j++)
      free(all->list[i].schedule[j]);
    free(all->list[i].schedule);
    free(all->list[i].seconds);
  }
  free(all->list);
}

/* ---- judging ---- */

static heddle_status judge(heddle_context *ctx, const all_times *all, int64_t n_search) {
  hd_evaluation sum = {0}, worst = {.rank_correlation = 1};
  for (int64_t i = 0; i < all->n; i++) {
    const product_times *t = &all->list[i];
    char name[HD_PRODUCT_TEXT];
    hd_evaluation e;
    hd_product_print(&t->product, name);
    HD_TRY(hd_evaluate(ctx, &t->product, (const char *const *)t->schedule, t->seconds, t->n,
                       n_search, &e));
    printf("%s: %lld schedules, rank %.3f, first %.3f, five %.3f, found %.3f of %lld\n", name,
           (long long)e.n, e.rank_correlation, e.first, e.five, e.found, (long long)e.n_searched);
    sum.rank_correlation += e.rank_correlation;
    sum.first += e.first;
    sum.five += e.five;
    sum.found += e.found;
    if (e.rank_correlation < worst.rank_correlation)
      worst.rank_correlation = e.rank_correlation;
    worst.first = e.first > worst.first ? e.first : worst.first;
    worst.five = e.five > worst.five ? e.five : worst.five;
    worst.found = e.found > worst.found ? e.found : worst.found;
  }
  double n = (double)all->n;
  printf("mean of %lld: rank %.3f, first %.3f, five %.3f, found %.3f\n", (long long)all->n,
         sum.rank_correlation / n, sum.first / n, sum.five / n, sum.found / n);
  printf("worst: rank %.3f, first %.3f, five %.3f, found %.3f\n", worst.rank_correlation,
         worst.first, worst.five, worst.found);
  return HEDDLE_OK;
}

int tune_evaluate(int argc, char **argv) {
  const char *db = NULL, *csv = NULL;
  int64_t top = 0;
  all_times all = {0};
  const cli_option options[] = {
      {"db", CLI_TEXT, &db, "FILE", TUNE_DB_ABOUT},
      {"csv", CLI_TEXT, &csv, "FILE", "measurements as CSV instead"},
      {"top", CLI_INT, &top, "N", "what the search may measure (one in twenty, at least 8)"},
      {0}};
  const cli_command command = {"tune evaluate [--db FILE | --csv FILE]", about, examples, options, 0,
                               0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  if ((db && csv) || top < 0)
    return cli_usage_error("tune.input", db && csv ? "got both --db and --csv; give one"
                                                   : "got a negative --top; legal: 0 and more");
  heddle_context *ctx = heddle_context_create();
  heddle_status status = csv ? read_csv(ctx, csv, &all)
                             : read_records(ctx, db ? db : TUNE_DB_DEFAULT, &all);
  if (status == HEDDLE_OK && all.n == 0)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.evaluate", "there are no measurements");
  if (status == HEDDLE_OK)
    status = judge(ctx, &all, top);
  free_all(&all);
  return cli_finish(ctx, status);
}
