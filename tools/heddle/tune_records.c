/* heddle tune list, merge, export: commands on the records. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/records.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"

/* ---- list ---- */

static const char list_about[] =
    "Lists the choices of the records. --all also lists every measurement: product, schedule,\n"
    "verdict, median, minimum and maximum us, predicted us (-: the model has no estimate for the\n"
    "target), and sustained us if it ran alone.";
static const char list_examples[] = "heddle tune list --db mine.db\n"
                                    "heddle tune list --db mine.db --all\n"
                                    "heddle tune list --db mine.db --json\n";

static double over(double of, double seconds) { return seconds > 0 ? of / seconds : 0; }

static bool print_choice(void *user, const hd_choice *c) {
  (void)user;
  cli_print("%s: %.2f us, %.3fx the default's speed, ", c->product, c->seconds * 1e6,
            over(c->default_seconds, c->seconds));
  if (c->sustained > 0)
    printf("sustained %.2f us, %.3fx, ", c->sustained * 1e6,
           over(c->default_sustained, c->sustained));
  cli_print("%lld of %lld measured on %s\n  %s\n", (long long)c->n_measured,
            (long long)c->n_legal, *c->device ? c->device : "an unknown device", c->schedule);
  return true;
}

/* Sets a time in microseconds, unless it was not measured. */
static void set_us(json_t *object, const char *key, double seconds) {
  if (seconds > 0)
    json_object_set_new(object, key, json_real(seconds * 1e6));
}

static void set_text(json_t *object, const char *key, const char *text) {
  if (text && *text)
    json_object_set_new(object, key, json_string(text));
}

json_t *tune_choice_json(const hd_choice *c) {
  json_t *object = json_pack("{s:s, s:s}", "product", c->product, "schedule", c->schedule);
  set_text(object, "device", c->device);
  set_us(object, "us", c->seconds);
  set_text(object, "default", c->default_schedule);
  set_us(object, "default_us", c->default_seconds);
  set_us(object, "sustained_us", c->sustained);
  set_us(object, "default_sustained_us", c->default_sustained);
  json_object_set_new(object, "legal", json_integer(c->n_legal));
  json_object_set_new(object, "measured", json_integer(c->n_measured));
  return object;
}

static bool keep_choice(void *list, const hd_choice *c) {
  return json_array_append_new(list, tune_choice_json(c)) == 0;
}

static bool keep_record(void *list, const hd_record *r) {
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:b}", "product", r->product, "schedule", r->schedule, "verdict",
                hd_verdict_name(r->verdict), "final", r->final);
  set_text(object, "device", r->device);
  set_us(object, "us", r->median);
  set_us(object, "us_min", r->min);
  set_us(object, "us_max", r->max);
  set_us(object, "predicted_us", r->predicted);
  set_us(object, "sustained_us", r->sustained);
  set_text(object, "why", r->why);
  return json_array_append_new(list, object) == 0;
}

static heddle_status list_json(heddle_context *ctx, hd_records *records, bool all) {
  json_t *choices = json_array(), *measurements = json_array(), *root = json_object();
  heddle_status status = hd_records_each_choice(ctx, records, keep_choice, choices);
  if (status == HEDDLE_OK && all)
    status = hd_records_each(ctx, records, NULL, keep_record, measurements);
  json_object_set_new(root, "choices", choices);
  if (all)
    json_object_set_new(root, "measurements", measurements);
  else
    json_decref(measurements);
  char *text =
      status == HEDDLE_OK ? json_dumps(root, JSON_INDENT(1) | TUNE_JSON_FORM) : NULL;
  if (text)
    puts(text);
  hd_free(text);
  json_decref(root);
  return status;
}

static bool print_record(void *user, const hd_record *r) {
  (void)user;
  cli_print("%s; %s; %s%s %.3f %.3f %.3f ", r->product, r->schedule, hd_verdict_name(r->verdict),
            r->final ? " final" : "", r->median * 1e6, r->min * 1e6, r->max * 1e6);
  if (r->predicted > 0)
    printf("%.3f", r->predicted * 1e6);
  else
    printf("-");
  if (r->sustained > 0)
    printf(" sustained %.3f", r->sustained * 1e6);
  cli_print("%s%s\n", *r->why ? " " : "", r->why);
  return true;
}

static heddle_status list_lines(heddle_context *ctx, hd_records *records, bool all) {
  HD_TRY(hd_records_each_choice(ctx, records, print_choice, NULL));
  return all ? hd_records_each(ctx, records, NULL, print_record, NULL) : HEDDLE_OK;
}

int tune_list(int argc, char **argv) {
  const char *db = TUNE_DB_DEFAULT;
  bool all = false, json = false;
  hd_records *records = NULL;
  const cli_option options[] = {{"db", CLI_TEXT, &db, "FILE", TUNE_DB_ABOUT},
                                {"all", CLI_FLAG, &all, NULL, "also list every measurement"},
                                {"json", CLI_FLAG, &json, NULL, "print one JSON object"},
                                {0}};
  const cli_command command = {"tune list [--db FILE] [--all] [--json]", list_about, list_examples,
                               options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = hd_records_open(ctx, db, false, &records);
  if (status == HEDDLE_OK)
    status = json ? list_json(ctx, records, all) : list_lines(ctx, records, all);
  hd_records_close(records);
  return cli_finish(ctx, status);
}

/* ---- merge ---- */

static const char merge_about[] =
    "Adds the records of other databases to --db. Merging twice changes nothing.";
static const char merge_examples[] = "heddle tune merge --db all.db monday.db tuesday.db\n";

/* Checks that all inputs can be read, before INTO is created. */
static heddle_status check_from(heddle_context *ctx, const char *const *from, int n) {
  for (int i = 0; i < n; i++) {
    hd_records *records;
    HD_TRY(hd_records_open(ctx, from[i], false, &records));
    hd_records_close(records);
  }
  return HEDDLE_OK;
}

int tune_merge(int argc, char **argv) {
  const char *db = TUNE_DB_DEFAULT, *from[CLI_MAX_ARGS];
  hd_records *records = NULL;
  const cli_option options[] = {{"db", CLI_TEXT, &db, "FILE", TUNE_DB_ABOUT}, {0}};
  const cli_command command = {
      "tune merge --db INTO FROM…", merge_about, merge_examples, options, 1, CLI_MAX_ARGS};
  int n, code = cli_parse(&command, argc, argv, from, &n);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = check_from(ctx, from, n);
  if (status == HEDDLE_OK)
    status = hd_records_open(ctx, db, true, &records);
  for (int i = 0; i < n && status == HEDDLE_OK; i++) {
    int64_t n_new;
    status = hd_records_merge(ctx, records, from[i], &n_new);
    if (status == HEDDLE_OK)
      printf("%s: %" PRId64 " new records from %s\n", db, n_new, from[i]);
  }
  hd_records_close(records);
  return cli_finish(ctx, status);
}

/* ---- export ---- */

static const char export_about[] =
    "Writes the records as JSON: choices, runs and measurements, one on each line. --choices\n"
    "writes only the choices: tools accept such a file like a .db file, and it is the form of the\n"
    "shipped choices. --device writes only the records of one device.";
static const char export_examples[] = "heddle tune export --db mine.db -o mine.json\n"
                                      "heddle tune export --db mine.db --choices -o tuned.json\n"
                                      "heddle tune export --db all.db --device \"NVIDIA H200\" "
                                      "-o h200.json\n";

int tune_export(int argc, char **argv) {
  const char *db = TUNE_DB_DEFAULT, *out = "-", *device = NULL;
  bool choices = false;
  hd_records *records = NULL;
  hd_strbuf json = {0};
  const cli_option options[] = {{"db", CLI_TEXT, &db, "FILE", TUNE_DB_ABOUT},
                                {"choices", CLI_FLAG, &choices, NULL, "only the choices"},
                                {"device", CLI_TEXT, &device, "NAME",
                                 "only the records of this device"},
                                {"o", CLI_TEXT, &out, "FILE",
                                 "the file to write (standard output)"},
                                {0}};
  const cli_command command = {"tune export [--db FILE] [--choices] [--device NAME] [-o FILE]",
                               export_about, export_examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = hd_records_open(ctx, db, false, &records);
  if (status == HEDDLE_OK)
    status = hd_records_export(ctx, records, choices, device, &json);
  if (status == HEDDLE_OK)
    status = hd_file_write(ctx, out, hd_strbuf_text(&json), json.len);
  hd_records_close(records);
  hd_strbuf_free(&json);
  return cli_finish(ctx, status);
}
