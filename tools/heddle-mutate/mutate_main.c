/* heddle-mutate: breaks every kernel in every way that the operators know, and counts who sees
 * it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "cli.h"
#include "find_ptxas.h"
#include "mutate.h"

typedef struct run {
  heddle_context *ctx;
  mutate_options options;
  mutate_table table;
  mutate_device device;
  bool found; /* the form that --form names */
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
static void judge_sound(run *r, const mutate_form *form, mutate_runs *sound) {
  hd_strbuf why = {0};
  mutate_verdict check = mutate_check(form->module, &why, &(hd_check_launch){0});
  if (!r->options.no_sim)
    mutate_simulate(form, form->ptx, 0, sound);
  if (check != MUTATE_MISSED)
    printf("%s: check: %s\n", form->name, hd_strbuf_text(&why));
  if (sound->verdict != MUTATE_MISSED)
    printf("%s: sim: %s\n", form->name, sound->why);
  r->table.false_alarms += check == MUTATE_CAUGHT;
  r->table.false_alarms += sound->verdict == MUTATE_CAUGHT;
  r->table.undecided += check == MUTATE_UNDECIDED || sound->verdict == MUTATE_UNDECIDED;
  hd_strbuf_free(&why);
}

static heddle_status visit_form(void *user, mutate_form *form) {
  run *r = user;
  const mutate_options *o = &r->options;
  if (o->form_name && strcmp(o->form_name, form->name))
    return HEDDLE_OK;
  r->found = true;
  if (o->launch)
    return mutate_worker(r->ctx, o, form);
  mutate_runs sound = {.verdict = MUTATE_MISSED};
  mutate_list list = {0};
  r->table.forms++;
  fprintf(stderr, "%s\n", form->name);
  judge_sound(r, form, &sound);
  mutate_list_judge(o, form, &sound, &list);
  if (o->gpu)
    mutate_device_add(o, form, &list, &r->device);
  for (size_t i = 0; i < list.n; i++) {
    print_mutant(r, form, &list.mutant[i]);
    mutate_table_add(&r->table, &list.mutant[i]);
  }
  mutate_list_free(&list);
  return HEDDLE_OK;
}

/* After all judges on the host, so that no worker waits for them. */
static void launch_chosen(run *r) {
  mutate_device_launch(&r->options, &r->device);
  mutate_table_add_device(&r->table, &r->device);
  for (size_t i = 0; i < r->device.n && r->options.verbose; i++)
    for (size_t j = 0; j < r->device.batch[i].n; j++) {
      const mutate_shot *shot = &r->device.batch[i].shot[j];
      printf("%s: %s:%d on the device: %s\n", r->device.batch[i].form, shot->op, shot->site,
             mutate_gpu_name(shot->gpu));
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

static int run_all(run *r, bool all, const char *examples, const char *self,
                   const char *const *files, int n_files) {
  char *found = r->options.ptxas || !all ? NULL : compile_find_ptxas();
  if (found)
    r->options.ptxas = found;
  else if (r->options.ptxas && !strcmp(r->options.ptxas, "none"))
    r->options.ptxas = NULL;
  heddle_status status = check_driver(r, self);
  if (status == HEDDLE_OK && all)
    status = mutate_folder(r, examples);
  if (status == HEDDLE_OK)
    status = mutate_files(r, files, n_files);
  if (status == HEDDLE_OK && r->options.gpu)
    launch_chosen(r);
  int code = status == HEDDLE_OK && !r->options.launch
                 ? mutate_table_print(&r->options, &r->table)
                 : 0;
  int finish = cli_finish(r->ctx, status);
  mutate_device_free(&r->device);
  free(found);
  return finish ? finish : code;
}

int main(int argc, char **argv) {
  run r = {0};
  mutate_options *o = &r.options;
  bool all = false;
  int64_t agree = 0, seed = 1, threads = sysconf(_SC_NPROCESSORS_ONLN), sample = 0, limit = 2,
          seconds = 0;
  const char *examples = "examples";
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
      {"sanitizer", CLI_TEXT, &o->sanitizer, "PATH",
       "with --gpu: compute-sanitizer; racecheck, synccheck and memcheck are asked, too"},
      {"sample", CLI_INT, &sample, "N",
       "with --gpu: N mutants of each operator and kernel, by --seed"},
      {"seconds", CLI_INT, &seconds, "S",
       "with --gpu: start no launch after S (with --sanitizer half of it)"},
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
          "heddle-mutate --all --gpu --sample 1 --sanitizer compute-sanitizer --seconds 120\n"
          "heddle-mutate --agree 1000\n"
          "heddle-mutate examples/linear_bf16.heddle --no-sim --verbose\n",
      .options = options,
      .min_args = 0,
      .max_args = CLI_MAX_ARGS};
  const char *files[CLI_MAX_ARGS];
  int n_files = 0, code = cli_parse(&command, argc, argv, files, &n_files);
  if (code != CLI_GO)
    return code;
  o->n_threads = threads < 1 ? 1 : threads > 64 ? 64 : (int)threads;
  o->seed = (uint64_t)seed;
  o->sample = sample > 0 ? (size_t)sample : 0;
  o->limit_seconds = (double)limit;
  o->gpu_seconds = (double)seconds;
  if (agree > 0)
    return mutate_agree(&(mutate_agree_options){(size_t)agree, (uint64_t)seed, o->n_threads,
                                                o->blind, o->verbose});
  if (!all && !n_files)
    return cli_usage_error("mutate.files", "got no file; nearest legal: --all");
  if (o->sanitizer && !o->gpu)
    return cli_usage_error("mutate.sanitizer", "--sanitizer goes with --gpu");
  r.ctx = heddle_context_create();
  return run_all(&r, all, examples, argv[0], files, n_files);
}
