/* heddle-opt: reads and verifies a module, runs passes over it, checks it, prints it. */
#include <stdio.h>

#include "Check/check.h"
#include "Schedule/schedule.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "opt.h"

static int parse_options(int argc, char **argv, opt_options *o, const char **file) {
  const cli_option options[] = {
      {"verify", CLI_FLAG, &o->verify_only, NULL, "only verify; print nothing"},
      {"no-verify", CLI_FLAG, &o->no_verify, NULL, "do not verify the input"},
      {"pass", CLI_MORE, &o->passes, "NAME", "run a pass; may be repeated, in the given order"},
      {"passes", CLI_TEXT, &o->pass_list, "A,B", "run these passes; `all` runs the whole pipeline"},
      {"stop-after", CLI_TEXT, &o->stop_after, "NAME",
       "run the pipeline up to and including this pass"},
      {"print-after", CLI_MORE, &o->print_after, "NAME", "print the module after this pass"},
      {"print-after-all", CLI_FLAG, &o->print_after_all, NULL, "print the module after every pass"},
      {"diff", CLI_TEXT, &o->diff, "FILE",
       "write an HTML page with the changes of each pass, side by side"},
      {"verify-each", CLI_FLAG, &o->verify_each, NULL, "verify after every pass"},
      {"time-passes", CLI_FLAG, &o->time_passes, NULL,
       "print the milliseconds of each pass on standard error"},
      {"list-passes", CLI_FLAG, &o->list_passes, NULL, "list the passes of the pipeline, in order"},
      {"check", CLI_FLAG, &o->check, NULL, "check the synchronisation of a role-level module"},
      {"target", CLI_TEXT, &o->target, "T", "replaces the target of the kernels"},
      {"schedule", CLI_TEXT, &o->schedule, "S",
       "overrides the default schedule: \"tile=128x256x64 stages=4\""},
      {"print-schedule-md", CLI_FLAG, &o->print_schedule_md, NULL,
       "print the table of schedule keys as Markdown"},
      {"print-ops-md", CLI_FLAG, &o->print_ops_md, NULL, "print the table of ops as Markdown"},
      {"intro", CLI_TEXT, &o->intro, "FILE", "with --print-ops-md: the text before the table"},
      {"o", CLI_TEXT, &o->out, "FILE", "the file to write (default: standard output)"},
      {0}};
  const cli_command command = {
      .usage = "heddle-opt [FILE] [--passes A,B] [-o OUT]",
      .about =
      "Reads a module (from FILE or standard input), verifies it, runs passes, and prints it.\n"
      "With --print-after and --diff the final module is printed only to -o.",
      .examples = "heddle-opt examples/linear_bf16.heddle --passes all\n"
                  "heddle-opt examples/linear_bf16.heddle --stop-after tile\n"
                  "heddle-opt examples/decode.heddle --passes all --print-after insert_barriers\n"
                  "heddle-opt examples/linear_bf16.heddle --passes all --diff passes.html\n"
                  "heddle-opt examples/decode.heddle --passes all -o role.heddle\n"
                  "heddle-opt role.heddle --check\n",
      .options = options,
      .max_args = 1};
  int n = 0;
  *file = "-";
  return cli_parse(&command, argc, argv, file, &n);
}

static heddle_status write_text(heddle_context *ctx, const char *path, hd_strbuf *text) {
  heddle_status status = hd_file_write(ctx, path ? path : "-", hd_strbuf_text(text), text->len);
  hd_strbuf_free(text);
  return status;
}

static heddle_status print_ops(heddle_context *ctx, const opt_options *o) {
  hd_strbuf text = {0};
  if (o->intro) {
    char *intro = NULL;
    size_t n_bytes = 0;
    HD_TRY(hd_file_read_text(ctx, o->intro, &intro, &n_bytes));
    hd_strbuf_addn(&text, intro, n_bytes);
    hd_free(intro);
  }
  opt_ops_markdown(&text);
  return write_text(ctx, o->out, &text);
}

static heddle_status print_keys(heddle_context *ctx, const opt_options *o) {
  hd_strbuf text = {0};
  hd_strbuf_add(&text, "| key | values | meaning |\n| --- | --- | --- |\n");
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    const hd_schedule_key *k = &hd_schedule_keys[key];
    hd_strbuf_printf(&text, "| `%s` | ", k->name);
    for (int i = 0; k->words && k->words[i]; i++)
      hd_strbuf_printf(&text, "%s`%s`", i ? " " : "", k->words[i]);
    if (k->kind == HD_KEY_INT)
      hd_strbuf_printf(&text, k->most - k->least == 1 ? "%d, %d" : "%d … %d", k->least, k->most);
    else if (!k->words)
      hd_strbuf_add(&text, k->kind == HD_KEY_PAIR ? "`MxN`" : "`MxN`, `MxNxK`");
    hd_strbuf_printf(&text, " | %s |\n", k->says);
  }
  return write_text(ctx, o->out, &text);
}

static heddle_status check(heddle_context *ctx, const hd_module *module) {
  hd_check_report report = {0};
  hd_strbuf text = {0};
  heddle_status status = hd_check(ctx, module, NULL, &report);
  hd_check_report_print(&report, &text);
  fputs(hd_strbuf_text(&text), stdout);
  hd_strbuf_free(&text);
  hd_check_report_free(&report);
  return status;
}

static heddle_status transform(heddle_context *ctx, const opt_options *o, hd_module *module) {
  if (!o->no_verify)
    HD_TRY(hd_verify(ctx, module, NULL));
  HD_TRY(opt_run_passes(ctx, o, module));
  if (o->check)
    return check(ctx, module);
  if (o->verify_only || (opt_prints_after(o) && !o->out))
    return HEDDLE_OK;
  hd_strbuf text = {0};
  hd_print(module, &text);
  return write_text(ctx, o->out, &text);
}

static heddle_status run(heddle_context *ctx, const opt_options *o, const char *file) {
  char *text = NULL;
  size_t n_bytes = 0;
  hd_module *module = NULL;
  HD_TRY(hd_file_read_text(ctx, file, &text, &n_bytes));
  heddle_status status = hd_parse(ctx, file, text, n_bytes, &module);
  if (status == HEDDLE_OK)
    status = transform(ctx, o, module);
  hd_module_free(module);
  hd_free(text);
  return status;
}

static int opt(int argc, char **argv) {
  opt_options options = {0};
  const char *file;
  int code = parse_options(argc, argv, &options, &file);
  if (code != CLI_GO)
    return code;
  if (options.list_passes) {
    opt_list_passes();
    return 0;
  }
  heddle_context *ctx = heddle_context_create();
  heddle_status status = options.print_ops_md        ? print_ops(ctx, &options)
                         : options.print_schedule_md ? print_keys(ctx, &options)
                                                     : run(ctx, &options, file);
  return cli_finish(ctx, status);
}

int main(int argc, char **argv) { return cli_close(opt(argc, argv)); }
