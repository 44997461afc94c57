/* heddle tune evaluate: how well the model ranks schedules, and whether the search would find the
 * best. heddle tune calibrate: finds the device rates with which the model ranks best. */
#include <jansson.h>
#include <stdio.h>

#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/calibrate.h"
#include "Tune/evaluate.h"
#include "Tune/search.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"
#include "tune_keys.h"
#include "tune_pairs.h"
#include "tune_plot.h"
#include "tune_times.h"
#include "tuned_file.h"

static const char about[] =
    "Evaluates the model and the search with measurements of many schedules: from --db (single\n"
    "measurements), or from a --csv file of `heddle tune --csv` or `heddle bench --format csv`.\n"
    "For each product it prints the number of schedules, Spearman's rank correlation of predicted\n"
    "and measured times, and three ratios to the best time: of the model's first schedule, of the\n"
    "best of its first five, and of the best that the search would have measured. Needs no device.";
static const char examples[] = "heddle tune evaluate --csv sweep.csv\n"
                               "heddle tune evaluate --db sweep.db --top 20\n"
                               "heddle tune evaluate --csv docs/bench/sweep_train.csv --keys\n"
                               "heddle tune evaluate --csv docs/bench/sweep_defaults.csv --pairs\n"
                               "heddle tune evaluate --csv docs/bench/sweep_validate.csv "
                               "--plot model.svg\n";

/* ---- input of both commands ---- */

typedef struct source {
  const char *db, *csv, *ceilings; /* files; NULL: not given */
} source;

typedef struct measured {
  all_times all;               /* owned */
  hd_tuned *tuned;             /* owned; NULL: none installed */
  const hd_device_model *ceilings; /* borrowed from tuned, or the H200's */
} measured;

static int check_source(const source *from) {
  return from->db && from->csv
             ? cli_usage_error("tune.input", "got both --db and --csv; legal: one of them")
             : CLI_GO;
}

static heddle_status read_measured(heddle_context *ctx, const source *from, measured *m) {
  HD_TRY(tune_times_read(ctx, from->db ? from->db : TUNE_DB_DEFAULT, from->csv, &m->all));
  HD_TRY(tuned_open_ceilings(ctx, from->ceilings, &m->tuned));
  m->ceilings = m->tuned ? hd_tuned_ceilings(m->tuned) : hd_device_model_of(NULL);
  return HEDDLE_OK;
}

static void free_measured(measured *m) {
  tune_times_free(&m->all);
  heddle_tuned_free(m->tuned);
}

/* ---- evaluate ---- */

/* Prints a line per schedule: product, schedule, measured and predicted time, and the predicted
 * time of each resource alone. */
static heddle_status print_schedule(void *user, const product_times *t, const hd_timed *timed,
                                    const hd_cost *cost) {
  char name[HD_PRODUCT_TEXT];
  (void)user;
  hd_product_print(&t->product, name);
  printf("%s,%s,%.3f,%.3f", name, timed->schedule, timed->seconds * 1e6, cost->seconds * 1e6);
  for (int r = 0; r < HD_N_RESOURCES; r++)
    printf(",%.3f", cost->alone[r] * 1e6);
  printf("\n");
  return HEDDLE_OK;
}

static heddle_status evaluate_schedules(heddle_context *ctx, const all_times *all,
                                        const hd_device_model *ceilings) {
  printf("product,schedule,us,predicted_us");
  for (int r = 0; r < HD_N_RESOURCES; r++)
    printf(",\"%s\"", hd_resource_name((hd_resource)r)); /* some have a comma */
  printf("\n");
  return tune_times_predict(ctx, all, ceilings, print_schedule, NULL);
}

/* Sums and worst values over several products. */
typedef struct summary {
  hd_evaluation sum, worst;
  int64_t n;
} summary;

static void summarize(summary *s, const hd_evaluation *e) {
  hd_evaluation *sum = &s->sum, *worst = &s->worst;
  bool lower = s->n == 0 || e->rank_correlation < worst->rank_correlation;
  s->n++;
  sum->rank_correlation += e->rank_correlation;
  sum->first += e->first;
  sum->five += e->five;
  sum->found += e->found;
  worst->rank_correlation = lower ? e->rank_correlation : worst->rank_correlation;
  worst->first = e->first > worst->first ? e->first : worst->first;
  worst->five = e->five > worst->five ? e->five : worst->five;
  worst->found = e->found > worst->found ? e->found : worst->found;
}

/* Products with a single schedule are skipped, because there is nothing to rank. */
static heddle_status evaluate(heddle_context *ctx, const all_times *all, int64_t n_search,
                           const hd_device_model *ceilings) {
  static const char *const of[] = {"", " quick looks"};
  summary all_of[HD_COUNT(of)] = {0};
  for (int64_t i = 0; i < all->n; i++) {
    const product_times *t = &all->list[i];
    char name[HD_PRODUCT_TEXT];
    hd_evaluation e;
    if (t->n < 2 && all->n > 1)
      continue;
    hd_product_print(&t->product, name);
    HD_TRY(hd_evaluate(ctx, &t->product, t->list, t->n, n_search, ceilings, &e));
    printf("%s: %lld schedules, rank %.3f, first %.3f, five %.3f, found %.3f of %lld%s\n", name,
           (long long)e.n, e.rank_correlation, e.first, e.five, e.found, (long long)e.n_searched,
           of[t->quick]);
    summarize(&all_of[t->quick], &e);
  }
  for (size_t i = 0; i < HD_COUNT(of); i++) {
    const hd_evaluation *sum = &all_of[i].sum, *worst = &all_of[i].worst;
    double n = (double)all_of[i].n;
    if (n == 0)
      continue;
    printf("mean of %lld%s: rank %.3f, first %.3f, five %.3f, found %.3f\n", (long long)all_of[i].n,
           of[i], sum->rank_correlation / n, sum->first / n, sum->five / n, sum->found / n);
    printf("worst: rank %.3f, first %.3f, five %.3f, found %.3f\n", worst->rank_correlation,
           worst->first, worst->five, worst->found);
  }
  return HEDDLE_OK;
}

/* `given` has the options that were given, and NULL for each of the others. */
static int check_one_form(const char *const *given, size_t n) {
  const char *first = NULL;
  for (size_t i = 0; i < n; i++) {
    if (first && given[i])
      return cli_usage_error("tune.input", "got %s and %s; legal: one of them", first, given[i]);
    first = first ? first : given[i];
  }
  return CLI_GO;
}

int tune_evaluate(int argc, char **argv) {
  source from = {0};
  int64_t top = 0;
  bool schedules = false, keys = false, pairs = false;
  const char *plot = NULL;
  const cli_option options[] = {
      {"db", CLI_TEXT, &from.db, "FILE", TUNE_DB_ABOUT},
      {"csv", CLI_TEXT, &from.csv, "FILE", "read the measurements from a CSV file"},
      {"schedules", CLI_FLAG, &schedules, NULL,
       "print CSV instead, a line for each schedule: measured, predicted, each resource alone "
       "(us)"},
      {"keys", CLI_FLAG, &keys, NULL,
       "print a table instead: the best time without each key over the best time"},
      {"pairs", CLI_FLAG, &pairs, NULL,
       "print a table instead: the first time of each product over its second, as old over new"},
      {"plot", CLI_TEXT, &plot, "SVG",
       "draw predicted against measured times, and print the mean error of each type"},
      {"top", CLI_INT, &top, "N", "number of measurements of the search (one in twenty, 8 to 64)"},
      {"ceilings", CLI_TEXT, &from.ceilings, "FILE", TUNE_CEILINGS_ABOUT},
      {0}};
  const cli_command command = {
      "tune evaluate [--db FILE | --csv FILE]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO)
    code = check_source(&from);
  if (code == CLI_GO)
    code = check_one_form((const char *[]){keys ? "--keys" : NULL, pairs ? "--pairs" : NULL,
                                           schedules ? "--schedules" : NULL,
                                           plot ? "--plot" : NULL},
                          4);
  if (code == CLI_GO)
    code = cli_check_numbers("tune.number", &(cli_number){"--top", top, 0, INT32_MAX}, 1);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  measured m = {0};
  heddle_status status = read_measured(ctx, &from, &m);
  if (status == HEDDLE_OK)
    status = keys        ? tune_print_keys(ctx, &m.all)
             : pairs     ? tune_print_pairs(ctx, &m.all)
             : plot      ? tune_plot(ctx, &m.all, m.ceilings, plot)
             : schedules ? evaluate_schedules(ctx, &m.all, m.ceilings)
                         : evaluate(ctx, &m.all, top, m.ceilings);
  free_measured(&m);
  return cli_finish(ctx, status);
}

/* ---- calibrate ---- */

static const char calibrate_about[] =
    "Fits the ceilings of the device (rates, latencies, factors of lib/Schedule/cost.h) to the\n"
    "measurements, starting from --ceilings. Fast schedules of a product have the most weight.\n"
    "Prints the ceilings, and writes them to -o. The file can be given to --ceilings, and to\n"
    "--db of run, gen, bench and explain. Measure some products with --exhaustive (and --only)\n"
    "first. Needs no device.";
static const char calibrate_examples[] =
    "heddle tune --grid docs/bench/unseen.grid --exhaustive --only raster_group=8 --db sweep.db\n"
    "heddle tune calibrate --db sweep.db -o mine.json\n"
    "heddle tune evaluate --db sweep.db --ceilings mine.json\n";

typedef struct samples {
  hd_front *front; /* owned; one per product */
  int64_t n_products;
  hd_sample *list; /* owned */
  size_t n, cap;
} samples;

static heddle_status add_samples(heddle_context *ctx, const product_times *t, hd_front *front,
                                 samples *out) {
  HD_TRY(hd_product_build(ctx, HD_NOWHERE, &t->product, front));
  out->n_products++;
  for (int64_t i = 0; i < t->n; i++) {
    hd_sample s = {
        .problem = &front->problem, .seconds = t->list[i].seconds, .quick = t->quick};
    HD_TRY(hd_schedule_read(ctx, hd_device_model_of(front->problem.target), &front->problem,
                            t->list[i].schedule, &s.schedule));
    HD_PUSH(out->list, out->n, out->cap, s);
  }
  return HEDDLE_OK;
}

static void print_ceilings(const hd_device_model *was, hd_device_model *now, hd_strbuf *json) {
  hd_device_model before = *was;
  json_t *device = json_string(now->device); /* NULL: it is not UTF-8 */
  char *quoted = device ? json_dumps(device, JSON_ENCODE_ANY) : NULL;
  hd_strbuf_printf(json, "{\"version\": 1,\n\"choices\": [],\n\"ceilings\": {\"device\": %s",
                   quoted ? quoted : "\"a device without a name\"");
  hd_free(quoted);
  json_decref(device);
  for (size_t i = 0; hd_device_rate_name(i); i++) {
    double value = *hd_device_rate_at(now, i);
    printf("%-16s %12.5g  was %.5g\n", hd_device_rate_name(i), value,
           *hd_device_rate_at(&before, i));
    hd_strbuf_printf(json, ",\n  \"%s\": %.5g", hd_device_rate_name(i), value);
  }
  hd_strbuf_add(json, "}}\n");
}

static heddle_status calibrate(heddle_context *ctx, const all_times *all,
                               const hd_device_model *from, const char *out) {
  if (all->other_device)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.device",
                    "got measurements of \"%s\" and \"%s\"; legal: one device", all->device,
                    all->other_device);
  samples s = {.front = hd_xmalloc(sizeof *s.front * (size_t)all->n)};
  hd_strbuf json = {0};
  hd_device_model c = *from;
  c.device = all->device && *all->device ? all->device : "a device without a name";
  heddle_status status = HEDDLE_OK;
  for (int64_t i = 0; i < all->n && status == HEDDLE_OK; i++)
    status = add_samples(ctx, &all->list[i], &s.front[i], &s);
  if (status == HEDDLE_OK) {
    double before = hd_calibration_error(s.list, s.n, from);
    hd_calibrate(s.list, s.n, &c);
    print_ceilings(from, &c, &json);
    printf("%zu schedules of %lld products: error %.4f, was %.4f\n", s.n, (long long)all->n,
           hd_calibration_error(s.list, s.n, &c), before);
    if (out)
      status = hd_file_write(ctx, out, hd_strbuf_text(&json), json.len);
  }
  hd_strbuf_free(&json);
  for (int64_t i = 0; i < s.n_products; i++)
    hd_front_free(&s.front[i]);
  hd_free(s.front);
  hd_free(s.list);
  return status;
}

int tune_calibrate(int argc, char **argv) {
  source from = {0};
  const char *out = NULL;
  const cli_option options[] = {
      {"db", CLI_TEXT, &from.db, "FILE", TUNE_DB_ABOUT},
      {"csv", CLI_TEXT, &from.csv, "FILE", "read the measurements from a CSV file"},
      {"ceilings", CLI_TEXT, &from.ceilings, "FILE",
       "the ceilings to start from (the shipped ones)"},
      {"o", CLI_TEXT, &out, "FILE", "also write the ceilings to this file"},
      {0}};
  const cli_command command = {"tune calibrate [--db FILE | --csv FILE] [-o FILE]", calibrate_about,
                               calibrate_examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO)
    code = check_source(&from);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  measured m = {0};
  heddle_status status = read_measured(ctx, &from, &m);
  if (status == HEDDLE_OK)
    status = calibrate(ctx, &m.all, m.ceilings, out);
  free_measured(&m);
  return cli_finish(ctx, status);
}
