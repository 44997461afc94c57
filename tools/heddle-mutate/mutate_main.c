/* heddle-mutate: breaks every kernel in every way that the operators know, and counts who sees
 * it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "cli.h"
#include "mutate.h"

enum { MAX_ROWS = 24 };

typedef struct tally { /* of an operator */
  const char *name;
  int mutants, equivalent, check, check_asked, sim, ptxas;
} tally;

typedef struct run {
  heddle_context *ctx;
  const char *schedule, *ptxas, *operator_name, *blind;
  bool no_sim, no_ptx, verbose;
  tally rows[MAX_ROWS];
  int n_rows, false_alarms, undecided, forms;
  mutate_runs sound; /* of the form at hand */
} run;

static tally *row_of(run *r, const char *name) {
  for (int i = 0; i < r->n_rows; i++)
    if (!strcmp(r->rows[i].name, name))
      return &r->rows[i];
  r->rows[r->n_rows] = (tally){.name = name};
  return &r->rows[r->n_rows++];
}

/* --- one mutant ----------------------------------------------------------------------------- */

typedef struct mutant {
  const char *op_name, *site;
  const hd_module *module; /* NULL: made in the PTX */
  char *ptx;               /* NULL: emission refused it */
} mutant;

/* The same PTX, or the same order of all conflicting pairs in every run. */
static bool is_equivalent(const run *r, const mutate_form *form, const mutant *m,
                          const mutate_runs *sound, const mutate_runs *runs) {
  if (m->ptx && !strcmp(m->ptx, form->ptx))
    return true;
  return !r->no_sim && runs->verdict == MUTATE_MISSED &&
         !memcmp(runs->order, sound->order, sizeof runs->order);
}

static void report(const run *r, const mutate_form *form, const mutant *m, bool equivalent,
                   mutate_verdict check, const char *check_why, const mutate_runs *runs) {
  static const char *const words[] = {"MISSED", "caught", "undecided"};
  bool missed = (m->module && check != MUTATE_CAUGHT) ||
                (!r->no_sim && runs->verdict != MUTATE_CAUGHT);
  if (!r->verbose && (equivalent || !missed))
    return;
  printf("%s: %s at %s%s\n", form->name, m->op_name, m->site, equivalent ? " (equivalent)" : "");
  if (m->module)
    printf("  check: %s %s\n", words[check], check_why);
  if (!r->no_sim)
    printf("  sim: %s %s\n", words[runs->verdict], runs->why);
}

/* A judge that says yes to everything, planted to see the count fail. */
static bool is_blind(const run *r, const char *judge) {
  return r->blind && !strcmp(r->blind, judge);
}

static void judge(run *r, const mutate_form *form, const mutant *m) {
  tally *t = row_of(r, m->op_name);
  mutate_runs runs = {.verdict = MUTATE_MISSED}, sound = r->sound;
  hd_strbuf why = {0};
  bool ask = m->module && !is_blind(r, "check");
  hd_check_launch launch;
  mutate_verdict check = ask ? mutate_check(m->module, &why, &launch) : MUTATE_MISSED;
  if (!r->no_sim && m->ptx && !is_blind(r, "sim"))
    mutate_simulate(form, m->ptx, 50 * r->sound.n_instructions, &runs);
  if (!r->no_sim && m->ptx && check == MUTATE_CAUGHT && runs.verdict == MUTATE_MISSED &&
      !is_blind(r, "sim") && strcmp(m->ptx, form->ptx))
    mutate_simulate_launch(form, m->ptx, &launch, &sound, &runs);
  if (!m->ptx)
    runs.verdict = MUTATE_CAUGHT; /* refused by name before it could run */
  bool equivalent = is_equivalent(r, form, m, &sound, &runs);
  t->mutants++;
  t->equivalent += equivalent;
  r->undecided += check == MUTATE_UNDECIDED || runs.verdict == MUTATE_UNDECIDED;
  r->false_alarms += equivalent && check == MUTATE_CAUGHT;
  if (!equivalent) {
    t->check_asked += m->module != NULL;
    t->check += check == MUTATE_CAUGHT;
    t->sim += runs.verdict == MUTATE_CAUGHT;
    t->ptxas += r->ptxas && m->ptx &&
                mutate_assemble(r->ptxas, m->ptx, form->target) == MUTATE_CAUGHT;
  }
  report(r, form, m, equivalent, check, hd_strbuf_text(&why), &runs);
  hd_strbuf_free(&why);
}

/* --- all of a form -------------------------------------------------------------------------- */

static bool is_wanted(const run *r, const char *name) {
  return !r->operator_name || !strcmp(r->operator_name, name);
}

static void mutate_op(run *r, mutate_form *form, const mutate_operator *op, int32_t i) {
  hd_module *module = mutate_role(form->module, op, i);
  if (!module)
    return;
  hd_strbuf site = {0};
  mutate_describe(form->module, i, &site);
  mutant m = {.op_name = op->name, .site = hd_strbuf_text(&site), .module = module};
  heddle_context *ctx = heddle_context_create();
  if (mutate_emit(ctx, form, module, &m.ptx) != HEDDLE_OK)
    m.ptx = NULL;
  heddle_context_free(ctx);
  judge(r, form, &m);
  free(m.ptx);
  hd_strbuf_free(&site);
  hd_module_free(module);
}

static void mutate_roles(run *r, mutate_form *form) {
  size_t n;
  const mutate_operator *ops = mutate_role_operators(&n);
  int32_t n_ops = mutate_count_ops(form->module);
  for (size_t o = 0; o < n; o++)
    for (int32_t i = 0; i < n_ops && is_wanted(r, ops[o].name); i++)
      mutate_op(r, form, &ops[o], i);
}

static void mutate_lines(run *r, mutate_form *form) {
  size_t n;
  const mutate_line_operator *ops = mutate_line_operators(&n);
  int32_t n_lines = mutate_count_lines(form->ptx);
  for (size_t o = 0; o < n; o++)
    for (int32_t i = 0; i < n_lines && is_wanted(r, ops[o].name); i++) {
      char site[32];
      snprintf(site, sizeof site, "PTX line %d", i + 1);
      mutant m = {.op_name = ops[o].name, .site = site};
      m.ptx = mutate_line(form->ptx, &ops[o], i);
      if (m.ptx)
        judge(r, form, &m);
      free(m.ptx);
    }
}

/* The kernel itself must be sound for both, or nothing that follows means anything. */
static void judge_sound(run *r, const mutate_form *form) {
  hd_strbuf why = {0};
  mutate_verdict check = mutate_check(form->module, &why, &(hd_check_launch){0});
  if (!r->no_sim)
    mutate_simulate(form, form->ptx, 0, &r->sound);
  if (check != MUTATE_MISSED)
    printf("%s: check: %s\n", form->name, hd_strbuf_text(&why));
  if (!r->no_sim && r->sound.verdict != MUTATE_MISSED)
    printf("%s: sim: %s\n", form->name, r->sound.why);
  r->false_alarms += check == MUTATE_CAUGHT;
  r->false_alarms += !r->no_sim && r->sound.verdict == MUTATE_CAUGHT;
  r->undecided += check == MUTATE_UNDECIDED || r->sound.verdict == MUTATE_UNDECIDED;
  hd_strbuf_free(&why);
}

static heddle_status visit_form(void *user, mutate_form *form) {
  run *r = user;
  r->forms++;
  r->sound = (mutate_runs){.verdict = MUTATE_MISSED};
  fprintf(stderr, "%s\n", form->name);
  judge_sound(r, form);
  mutate_roles(r, form);
  if (!r->no_ptx && !r->no_sim)
    mutate_lines(r, form);
  return HEDDLE_OK;
}

/* --- the table ------------------------------------------------------------------------------ */

static double percent(int part, int whole) { return whole ? 100.0 * part / whole : 100.0; }

static void print_table(const run *r, tally *sum) {
  printf("%-14s %8s %10s %8s %8s %8s\n", "operator", "mutants", "equivalent", "check", "sim",
         "ptxas");
  for (int i = 0; i < r->n_rows; i++) {
    const tally *t = &r->rows[i];
    char check[16] = "-", sim[16] = "-", ptxas[16] = "-";
    if (t->check_asked)
      snprintf(check, sizeof check, "%d", t->check);
    if (!r->no_sim)
      snprintf(sim, sizeof sim, "%d", t->sim);
    if (r->ptxas)
      snprintf(ptxas, sizeof ptxas, "%d", t->ptxas);
    printf("%-14s %8d %10d %8s %8s %8s\n", t->name, t->mutants, t->equivalent, check, sim, ptxas);
    sum->mutants += t->mutants;
    sum->equivalent += t->equivalent;
    sum->check += t->check;
    sum->check_asked += t->check_asked;
    sum->sim += t->sim;
  }
}

static int print_summary(const run *r) {
  tally sum = {0};
  print_table(r, &sum);
  double check = percent(sum.check, sum.check_asked);
  double sim = r->no_sim ? 0 : percent(sum.sim, sum.mutants - sum.equivalent);
  printf("forms=%d\n", r->forms);
  printf("mutants=%d equivalent=%d check=%.1f%% sim=%.1f%% false_alarms=%d undecided=%d\n",
         sum.mutants, sum.equivalent, check, sim, r->false_alarms, r->undecided);
  bool all = sum.check == sum.check_asked &&
             (r->no_sim || sum.sim == sum.mutants - sum.equivalent);
  return all && !r->false_alarms && !r->undecided && sum.mutants ? 0 : 1;
}

/* --- command line --------------------------------------------------------------------------- */

static int is_problem(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && !strcmp(dot, ".heddle");
}

static heddle_status mutate_folder(run *r, const char *folder) {
  struct dirent **entries;
  int n = scandir(folder, &entries, is_problem, alphasort);
  heddle_status status = HEDDLE_OK;
  if (n < 0)
    return hd_error(r->ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "mutate.folder", "cannot read %s",
                    folder);
  for (int i = 0; i < n; i++) {
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%s/%s", folder, entries[i]->d_name);
    if (status == HEDDLE_OK)
      status = mutate_each_form(r->ctx, path.text, r->schedule, visit_form, r);
    hd_strbuf_free(&path);
    free(entries[i]);
  }
  free(entries);
  return status;
}

int main(int argc, char **argv) {
  run r = {0};
  bool all = false;
  int64_t agree = 0, seed = 1, threads = sysconf(_SC_NPROCESSORS_ONLN);
  const char *examples = "examples";
  cli_option options[] = {
      {"all", CLI_FLAG, &all, NULL, "every kernel of every example"},
      {"examples", CLI_TEXT, &examples, "DIR", "where they are (default: examples)"},
      {"schedule", CLI_TEXT, &r.schedule, "S", "instead of a small tile of the default"},
      {"operator", CLI_TEXT, &r.operator_name, "NAME", "this one only"},
      {"no-sim", CLI_FLAG, &r.no_sim, NULL, "ask the checker only"},
      {"no-ptx", CLI_FLAG, &r.no_ptx, NULL, "leave the operators on PTX lines out"},
      {"ptxas", CLI_TEXT, &r.ptxas, "PATH", "also count what ptxas notices (C75xx)"},
      {"blind", CLI_TEXT, &r.blind, "JUDGE", "check or sim: says yes to all, to test the count"},
      {"agree", CLI_INT, &agree, "N", "N kernels drawn at random: do check and sim agree?"},
      {"seed", CLI_INT, &seed, "S", "of the first of them (default 1)"},
      {"threads", CLI_INT, &threads, "N", "how many judge at once (default: the machine's)"},
      {"verbose", CLI_FLAG, &r.verbose, NULL, "a line for every mutant, not only the missed"},
      {0}};
  cli_command command = {
      .usage = "heddle-mutate [FILE…] [--all]",
      .about = "Breaks kernels in every way that the operators know and counts who notices: the\n"
               "static checker, the simulator, ptxas. Exit code 1 when a mutant that is not\n"
               "equivalent is missed, or a sound kernel is not found sound.",
      .examples = "heddle-mutate --all\n"
                  "heddle-mutate examples/linear_bf16.heddle --no-sim --verbose\n",
      .options = options,
      .min_args = 0,
      .max_args = CLI_MAX_ARGS};
  const char *files[CLI_MAX_ARGS];
  int n_files = 0, code = cli_parse(&command, argc, argv, files, &n_files);
  if (code != CLI_GO)
    return code;
  if (agree > 0)
    return mutate_agree(&(mutate_agree_options){(size_t)agree, (uint64_t)seed, (int)threads,
                                                r.blind, r.verbose});
  if (!all && !n_files)
    return cli_usage_error("mutate.files", "got no file; nearest legal: --all");
  r.ctx = heddle_context_create();
  heddle_status status = all ? mutate_folder(&r, examples) : HEDDLE_OK;
  for (int i = 0; i < n_files && status == HEDDLE_OK; i++)
    status = mutate_each_form(r.ctx, files[i], r.schedule, visit_form, &r);
  if (status != HEDDLE_OK)
    return cli_finish(r.ctx, status);
  code = print_summary(&r);
  cli_finish(r.ctx, HEDDLE_OK);
  return code;
}
