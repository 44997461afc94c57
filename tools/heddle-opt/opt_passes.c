#include <stdio.h>
#include <string.h>

#include "Support/file.h"
#include "opt.h"
#include "pass_diff.h"

enum { MAX_RUN = 64 };

/* The passes to run, in order. */
typedef struct plan {
  const hd_pass *pass[MAX_RUN];
  int n;
} plan;

void opt_list_passes(void) {
  size_t n;
  const hd_pass *passes = hd_pipeline(&n);
  for (size_t i = 0; i < n; i++)
    printf("%-20s %s\n", passes[i].name, passes[i].doc);
}

bool opt_prints_after(const opt_options *options) {
  return options->print_after_all || options->print_after.n || options->diff;
}

static heddle_status find_pass(heddle_context *ctx, const char *name, const hd_pass **found) {
  size_t n;
  const hd_pass *passes = hd_pipeline(&n);
  const char *names[MAX_RUN];
  *found = hd_pass_find(name);
  if (*found)
    return HEDDLE_OK;
  for (size_t i = 0; i < n; i++)
    names[i] = passes[i].name;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "opt.pass", "there is no pass '%s'; nearest: %s",
                  name, cli_nearest(name, names, n));
}

static heddle_status add_pass(heddle_context *ctx, plan *p, const char *name) {
  if (p->n == MAX_RUN)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "opt.pass",
                    "got too many passes; legal: up to %d",
                    MAX_RUN);
  HD_TRY(find_pass(ctx, name, &p->pass[p->n]));
  p->n++;
  return HEDDLE_OK;
}

static heddle_status add_list(heddle_context *ctx, plan *p, const char *list) {
  static const char between[] = ", ";
  char name[64];
  for (const char *at = list + strspn(list, between); *at; at += strspn(at, between)) {
    size_t length = strcspn(at, between);
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    at += length;
    HD_TRY(add_pass(ctx, p, name));
  }
  return HEDDLE_OK;
}

static heddle_status add_pipeline(heddle_context *ctx, plan *p) {
  size_t n;
  const hd_pass *passes = hd_pipeline(&n);
  for (size_t i = 0; i < n; i++)
    HD_TRY(add_pass(ctx, p, passes[i].name));
  return HEDDLE_OK;
}

/* Refuses an option for a pass that does not run. */
static heddle_status check_runs(heddle_context *ctx, const plan *p, const char *option,
                                const char *name) {
  const hd_pass *pass;
  HD_TRY(find_pass(ctx, name, &pass));
  for (int i = 0; i < p->n; i++)
    if (p->pass[i] == pass)
      return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "opt.idle",
                  "got --%s %s, but this pass does not run; legal: with --passes all", option,
                  name);
}

static heddle_status check_plan(heddle_context *ctx, const opt_options *o, const plan *p) {
  for (int i = 0; i < o->print_after.n; i++)
    HD_TRY(check_runs(ctx, p, "print-after", o->print_after.text[i]));
  if (!p->n && (o->target || o->schedule || o->print_after_all || o->diff))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "opt.idle",
                    "got --%s, but no pass runs; legal: with --passes all",
                    o->target            ? "target"
                    : o->schedule        ? "schedule"
                    : o->print_after_all ? "print-after-all"
                                         : "diff");
  return HEDDLE_OK;
}

/* --stop-after without --pass runs the pipeline up to that pass. */
static heddle_status make_plan(heddle_context *ctx, const opt_options *o, plan *p) {
  bool all = o->pass_list && strcmp(o->pass_list, "all") == 0;
  bool none = !o->pass_list && !o->passes.n;
  if (all || (none && o->stop_after))
    HD_TRY(add_pipeline(ctx, p));
  else if (o->pass_list)
    HD_TRY(add_list(ctx, p, o->pass_list));
  for (int i = 0; i < o->passes.n; i++)
    HD_TRY(add_pass(ctx, p, o->passes.text[i]));
  if (o->stop_after)
    HD_TRY(check_runs(ctx, p, "stop-after", o->stop_after));
  for (int i = 0; o->stop_after && i < p->n; i++)
    if (strcmp(p->pass[i]->name, o->stop_after) == 0)
      p->n = i + 1;
  return check_plan(ctx, o, p);
}

static bool is_printed(const opt_options *o, const char *name) {
  bool printed = o->print_after_all;
  for (int i = 0; i < o->print_after.n; i++)
    printed = printed || strcmp(o->print_after.text[i], name) == 0;
  return printed;
}

static heddle_status run_plan(heddle_context *ctx, const opt_options *o, const plan *p,
                              hd_module *module, pass_diff *diff) {
  hd_pass_context context = {.ctx = ctx, .target = o->target, .schedule_text = o->schedule};
  for (int i = 0; i < p->n; i++) {
    double start = hd_clock_seconds();
    HD_TRY(hd_run_pass(&context, module, p->pass[i]));
    if (o->time_passes)
      fprintf(stderr, "%10.3f ms  %s\n", 1e3 * (hd_clock_seconds() - start), p->pass[i]->name);
    if (is_printed(o, p->pass[i]->name)) {
      hd_strbuf text = {0};
      hd_print(module, &text);
      printf("# after %s\n%s\n", p->pass[i]->name, hd_strbuf_text(&text));
      hd_strbuf_free(&text);
    }
    if (o->diff)
      pass_diff_add(diff, p->pass[i], module);
    if (o->verify_each || i + 1 == p->n)
      HD_TRY(hd_verify(ctx, module, p->pass[i]->name));
  }
  return HEDDLE_OK;
}

/* If a pass fails, the page still has the passes before it. */
heddle_status opt_run_passes(heddle_context *ctx, const opt_options *o, hd_module *module) {
  plan p = {.n = 0};
  pass_diff diff = {0};
  HD_TRY(make_plan(ctx, o, &p));
  if (o->diff)
    pass_diff_begin(&diff, module);
  heddle_status status = run_plan(ctx, o, &p, module, &diff);
  heddle_status written = o->diff ? pass_diff_write(ctx, &diff, o->diff) : HEDDLE_OK;
  pass_diff_free(&diff);
  return status != HEDDLE_OK ? status : written;
}
