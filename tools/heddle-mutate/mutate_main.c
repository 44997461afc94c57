/* heddle-mutate: breaks every kernel in every way that the operators know, and counts who sees
 * it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "cli.h"
#include "find_program.h"
#include "mutate.h"

typedef struct run {
  heddle_context *ctx;
  mutate_options options;
  mutate_records records;
  bool tool[MUTATE_N_TOOLS]; /* of the sanitizer, asked for */
  bool found;                /* the form that --form names */
} run;

/* --- one form ------------------------------------------------------------------------------- */

static void print_mutant(const run *r, const mutate_form *form, const mutate_mutant *m) {
  static const char *const words[] = {"MISSED", "caught", "undecided"};
  const mutate_options *o = &r->options;
  bool missed = (m->module && m->check != MUTATE_CAUGHT) ||
                (!o->no_sim && m->runs.verdict != MUTATE_CAUGHT);
  if (!o->verbose && (m->equivalent || !missed))
    return;
  printf("%s: %s:%d at %s%s\n", form->name, m->op, m->site, m->where,
         m->equivalent ? " (equivalent)" : "");
  if (m->module)
    printf("  check: %s %s\n", words[m->check], m->check_why);
  if (!o->no_sim)
    printf("  sim: %s %s\n", words[m->runs.verdict], m->runs.why);
}

/* The kernel itself must be sound for both, or nothing that follows means anything. */
static void judge_sound(const run *r, const mutate_form *form, mutate_runs *sound,
                        mutate_record *self) {
  hd_strbuf why = {0};
  mutate_verdict check = mutate_check(form->module, &why, &(hd_check_launch){0});
  if (!r->options.no_sim)
    mutate_simulate(form, form->ptx, 0, sound);
  if (check != MUTATE_MISSED)
    printf("%s: check: %s\n", form->name, hd_strbuf_text(&why));
  if (sound->verdict != MUTATE_MISSED)
    printf("%s: sim: %s\n", form->name, sound->why);
  self->judge[MUTATE_CHECK] = check;
  self->judge[MUTATE_SIM] = r->options.no_sim ? MUTATE_UNASKED : sound->verdict;
  hd_strbuf_free(&why);
}

static void judge_form(run *r, const mutate_form *form, mutate_kernel *kernel) {
  mutate_runs sound = {.verdict = MUTATE_MISSED};
  mutate_list list = {0};
  fprintf(stderr, "%s\n", form->name);
  kernel->n = 0;
  judge_sound(r, form, &sound, &kernel->self);
  mutate_list_judge(&r->options, form, &sound, &list);
  for (size_t i = 0; i < list.n; i++) {
    print_mutant(r, form, &list.mutant[i]);
    mutate_kernel_add(&r->options, &list.mutant[i], kernel);
  }
  mutate_list_free(&list);
  mutate_records_save(&r->options, &r->records);
}

static heddle_status visit_form(void *user, mutate_form *form) {
  run *r = user;
  const mutate_options *o = &r->options;
  if (o->form_name && strcmp(o->form_name, form->name))
    return HEDDLE_OK;
  r->found = true;
  if (o->launch)
    return mutate_worker(r->ctx, o, form);
  mutate_kernel *kernel = mutate_records_visit(o, form, &r->records);
  if (kernel->self.judge[MUTATE_CHECK] == MUTATE_UNASKED)
    judge_form(r, form, kernel);
  return HEDDLE_OK;
}

static void print_launched(const mutate_kernel *kernel) {
  for (size_t i = 0; i < kernel->n; i++)
    if (kernel->mutant[i].gpu)
      printf("%s: %s:%d on the device: %s\n", kernel->name, kernel->mutant[i].op,
             kernel->mutant[i].site, mutate_gpu_name(kernel->mutant[i].gpu));
}

/* After all judges on the host, so that no worker waits for them. A table after each part: what
 * follows may take longer than the caller has. */
static void launch_chosen(run *r) {
  mutate_launch(&r->options, &r->records);
  for (size_t i = 0; i < r->records.n && r->options.verbose; i++)
    if (r->records.kernel[i].visited)
      print_launched(&r->records.kernel[i]);
  mutate_table_print_device(&r->records);
  for (int i = 0; i < MUTATE_N_TOOLS && r->options.sanitizer; i++)
    if (r->tool[i]) {
      mutate_ask_tool(&r->options, i, &r->records);
      mutate_table_print_device(&r->records);
    }
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
  if (n == 0)
    status = hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, "mutate.folder",
                      "%s holds no .heddle file; nearest legal: --examples examples", folder);
  for (int i = 0; i < n; i++) {
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%s/%s", folder, entries[i]->d_name);
    if (status == HEDDLE_OK)
      status = mutate_each_form(r->ctx, path.text, r->options.schedule, visit_form, r);
    hd_strbuf_free(&path);
    free(entries[i]);
  }
  free(entries);
  return status;
}

/* What the file has, and whether it can be written at all. */
static heddle_status open_records(run *r, bool resume) {
  if (!r->options.out)
    return HEDDLE_OK;
  if (resume)
    HD_TRY(mutate_records_read(r->ctx, r->options.out, &r->records));
  return mutate_records_write(r->ctx, r->options.out, &r->records);
}

/* Refuses at once where no mutant could be launched. */
static heddle_status check_driver(run *r, const char *self) {
  if (!r->options.gpu || r->options.worker)
    return HEDDLE_OK;
  heddle_runtime *runtime = NULL;
  HD_TRY(heddle_runtime_create(r->ctx, NULL, &runtime));
  heddle_runtime_free(runtime);
  r->options.worker = self;
  return HEDDLE_OK;
}

static heddle_status mutate_files(run *r, const char *const *files, int n_files) {
  for (int i = 0; i < n_files; i++)
    HD_TRY(mutate_each_form(r->ctx, files[i], r->options.schedule, visit_form, r));
  if (n_files && !r->found)
    return hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, "mutate.form",
                    "no kernel is called %s; legal: FILE/VARIANT, as standard error names them",
                    r->options.form_name ? r->options.form_name : "so");
  return HEDDLE_OK;
}

static int run_all(run *r, bool all, bool resume, const char *examples, const char *self,
                   const char *const *files, int n_files) {
  char *found = r->options.ptxas || !all ? NULL : compile_find_ptxas();
  if (found)
    r->options.ptxas = found;
  else if (r->options.ptxas && !strcmp(r->options.ptxas, "none"))
    r->options.ptxas = NULL;
  heddle_status status = check_driver(r, self);
  if (status == HEDDLE_OK)
    status = open_records(r, resume);
  if (status == HEDDLE_OK && all)
    status = mutate_folder(r, examples);
  if (status == HEDDLE_OK)
    status = mutate_files(r, files, n_files);
  if (status == HEDDLE_OK && r->options.gpu)
    launch_chosen(r);
  int code = status == HEDDLE_OK && !r->options.launch
                 ? mutate_table_print(&r->options, &r->records)
                 : 0;
  int finish = cli_finish(r->ctx, status);
  mutate_records_free(&r->records);
  free(found);
  return finish ? finish : code;
}

/* CLI_GO, or the exit code. */
static int choose_tools(const char *list, bool tool[MUTATE_N_TOOLS]) {
  const char *names[MUTATE_N_TOOLS];
  for (int i = 0; i < MUTATE_N_TOOLS; i++)
    names[i] = mutate_tool_name(i);
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    char word[32];
    int i = 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
    while (i < MUTATE_N_TOOLS && strcmp(word, names[i]))
      i++;
    if (i == MUTATE_N_TOOLS)
      return cli_usage_error("mutate.tools", "got '%s'; nearest legal: %s", word,
                             cli_nearest(word, names, MUTATE_N_TOOLS));
    tool[i] = true;
  }
  return CLI_GO;
}

/* A word that is in none of the two lists: CLI_GO, or the exit code. */
static int check_operator(const char *name) {
  const char *names[64];
  size_t n_roles, n_lines, n = 0;
  const mutate_operator *roles = mutate_role_operators(&n_roles);
  const mutate_line_operator *lines = mutate_line_operators(&n_lines);
  for (size_t i = 0; i < n_roles; i++)
    names[n++] = roles[i].name;
  for (size_t i = 0; i < n_lines; i++)
    names[n++] = lines[i].name;
  for (size_t i = 0; name && i < n; i++)
    if (!strcmp(name, names[i]))
      return CLI_GO;
  return name ? cli_usage_error("mutate.operator", "got '%s'; nearest legal: %s", name,
                                cli_nearest(name, names, n))
              : CLI_GO;
}

/* What would be taken for something else, or for nothing: CLI_GO, or the exit code. */
static int check_words(const mutate_options *o) {
  if (o->blind && strcmp(o->blind, "check") && strcmp(o->blind, "sim"))
    return cli_usage_error("mutate.blind", "got '%s'; legal: check, sim", o->blind);
  if (o->ptxas && strcmp(o->ptxas, "none") && access(o->ptxas, X_OK) != 0)
    return cli_usage_error("mutate.ptxas", "'%s' cannot be run; legal: a path of ptxas, or none",
                           o->ptxas);
  return check_operator(o->operator_name);
}

int main(int argc, char **argv) {
  run r = {0};
  mutate_options *o = &r.options;
  bool all = false, resume = false;
  int64_t agree = INT64_MIN /* not given */, seed = 1, threads = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t sample = 0, limit = 2, seconds = 0, tool_seconds = 0, tool_sample = 3;
  const char *examples = "examples", *tools = "memcheck,synccheck,racecheck,initcheck";
  cli_option options[] = {
      {"all", CLI_FLAG, &all, NULL, "every kernel of every example"},
      {"examples", CLI_TEXT, &examples, "DIR", "where they are (default: examples)"},
      {"schedule", CLI_TEXT, &o->schedule, "S", "instead of a small tile of the default"},
      {"operator", CLI_TEXT, &o->operator_name, "NAME", "this one only"},
      {"form", CLI_TEXT, &o->form_name, "NAME", "this kernel only: FILE/VARIANT"},
      {"no-sim", CLI_FLAG, &o->no_sim, NULL, "ask the checker only"},
      {"no-ptx", CLI_FLAG, &o->no_ptx, NULL, "leave the operators on PTX lines out"},
      {"ptxas", CLI_TEXT, &o->ptxas, "PATH",
       "count what ptxas notices (with --all where it is found; none: do without)"},
      {"gpu", CLI_FLAG, &o->gpu, NULL, "launch the mutants on the device, too"},
      {"sample", CLI_INT, &sample, "N",
       "with --gpu: N mutants of each operator and kernel, by --seed (default: all)"},
      {"seconds", CLI_INT, &seconds, "S", "with --gpu: for all launches (default: no end)"},
      {"sanitizer", CLI_TEXT, &o->sanitizer, "PATH",
       "with --gpu: compute-sanitizer; launches once more under each of its tools"},
      {"tools", CLI_TEXT, &tools, "LIST",
       "these of them (default: memcheck,synccheck,racecheck,initcheck)"},
      {"tool-sample", CLI_INT, &tool_sample, "N",
       "a tool is given N mutants of each operator, over the kernels it accepts (default 3)"},
      {"tool-seconds", CLI_INT, &tool_seconds, "S", "for each tool (default: no end)"},
      {"out", CLI_TEXT, &o->out, "FILE",
       "a line with commas for each kernel and mutant, written anew after every step"},
      {"resume", CLI_FLAG, &resume, NULL,
       "go on from what --out has of these kernels and options"},
      {"launch", CLI_TEXT, &o->launch, "LIST",
       "launch OPERATOR:SITE,… of --form on the device, no more"},
      {"limit", CLI_INT, &limit, "S", "seconds until a launch counts as hung (default 2)"},
      {"worker", CLI_TEXT, &o->worker, "PATH", "the program that launches (default: this one)"},
      {"agree", CLI_INT, &agree, "N", "N kernels drawn at random: do check and sim agree?"},
      {"seed", CLI_INT, &seed, "S", "of the first of them, and of --sample (default 1)"},
      {"threads", CLI_INT, &threads, "N", "how many judge at once (default: the machine's)"},
      {"blind", CLI_TEXT, &o->blind, "JUDGE", "check or sim: says yes to all, to test the count"},
      {"verbose", CLI_FLAG, &o->verbose, NULL, "a line for every mutant, not only the missed"},
      {0}};
  cli_command command = {
      .usage = "heddle-mutate [FILE…] [--all]",
      .about =
          "Breaks kernels in every way that the operators know and counts who notices: the\n"
          "static checker, the simulator, ptxas, the device. Exit code 1 when check or sim miss\n"
          "a mutant that is not equivalent, or do not find a sound kernel sound; with --agree,\n"
          "when they differ.",
      .examples =
          "heddle-mutate --all\n"
          "heddle-mutate --all --out mutants.csv\n"
          "heddle-mutate --all --out mutants.csv --resume --gpu --sample 1 --seconds 60\n"
          "heddle-mutate --all --out mutants.csv --resume --gpu --sample 1 \\\n"
          "    --sanitizer compute-sanitizer --tool-seconds 30\n"
          "heddle-mutate --agree 1000\n"
          "heddle-mutate examples/linear_bf16.heddle --no-sim --verbose\n",
      .options = options,
      .min_args = 0,
      .max_args = CLI_MAX_ARGS};
  const char *files[CLI_MAX_ARGS];
  int n_files = 0, code = cli_parse(&command, argc, argv, files, &n_files);
  if (code != CLI_GO)
    return code;
  bool agrees = agree != INT64_MIN;
  const cli_number numbers[] = {{"--agree", agrees ? agree : 1, 1, INT32_MAX},
                                {"--threads", threads, 1, INT32_MAX},
                                {"--limit", limit, 1, INT32_MAX},
                                {"--sample", sample, 0, INT32_MAX},
                                {"--seconds", seconds, 0, INT32_MAX},
                                {"--tool-sample", tool_sample, 1, INT32_MAX},
                                {"--tool-seconds", tool_seconds, 0, INT32_MAX}};
  code = cli_check_numbers("mutate.number", numbers, HD_COUNT(numbers));
  if (code == CLI_GO)
    code = check_words(o);
  if (code != CLI_GO)
    return code;
  o->n_threads = threads > 64 ? 64 : (int)threads;
  o->seed = (uint64_t)seed;
  o->sample = (size_t)sample;
  o->limit_seconds = (double)limit;
  o->gpu_seconds = (double)seconds;
  o->tool_seconds = (double)tool_seconds;
  o->tool_sample = (size_t)tool_sample;
  if (agrees)
    return mutate_agree(&(mutate_agree_options){(size_t)agree, (uint64_t)seed, o->n_threads,
                                                o->blind, o->verbose});
  if (!all && !n_files)
    return cli_usage_error("mutate.files", "got no file; nearest legal: --all");
  if (o->sanitizer && !o->gpu)
    return cli_usage_error("mutate.sanitizer", "--sanitizer goes with --gpu");
  if (resume && !o->out)
    return cli_usage_error("mutate.resume", "--resume goes with --out");
  code = choose_tools(tools, r.tool);
  if (code != CLI_GO)
    return code;
  r.ctx = heddle_context_create();
  return run_all(&r, all, resume, examples, argv[0], files, n_files);
}
