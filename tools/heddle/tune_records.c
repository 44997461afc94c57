/* heddle tune list, merge, export: the records. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/records.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"

/* ---- list ---- */

static const char list_about[] =
    "Lists the choices of the records; with --all every measurement as well: product, schedule,\n"
    "verdict, median, least and most us, predicted us (-: the model has no estimate for the\n"
    "target); of those that ran alone, sustained us.";
static const char list_examples[] = "heddle tune list --db mine.db\n"
                                    "heddle tune list --db mine.db --all\n";

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

int tune_list(int argc, char **argv) {
  const char *db = TUNE_DB_DEFAULT;
  bool all = false;
  hd_records *records = NULL;
  const cli_option options[] = {{"db", CLI_TEXT, &db, "FILE", TUNE_DB_ABOUT},
                                {"all", CLI_FLAG, &all, NULL, "every measurement"},
                                {0}};
  const cli_command command = {"tune list [--db FILE] [--all]", list_about, list_examples, options,
                               0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = hd_records_open(ctx, db, false, &records);
  if (status == HEDDLE_OK)
    status = hd_records_each_choice(ctx, records, print_choice, NULL);
  if (status == HEDDLE_OK && all)
    status = hd_records_each(ctx, records, NULL, print_record, NULL);
  hd_records_close(records);
  return cli_finish(ctx, status);
}

/* ---- merge ---- */

static const char merge_about[] =
    "Takes over into --db what other databases have and it has not. Merging twice changes nothing.";
static const char merge_examples[] = "heddle tune merge --db all.db monday.db tuesday.db\n";

/* All of them can be read: INTO is not made for nothing. */
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
    "Writes the records as JSON: choices, runs and measurements, one a line. --choices leaves the\n"
    "other two out: the form of a shipped database, which the tools read as well as a .db file.\n"
    "--device takes those of one device: of what machines with different ones have measured.";
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
                                {"choices", CLI_FLAG, &choices, NULL, "the choices alone"},
                                {"device", CLI_TEXT, &device, "NAME", "of this device alone"},
                                {"o", CLI_TEXT, &out, "FILE", "where to (standard output)"},
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
