/* heddle-mutate: mutates every kernel with every operator, and counts the mutants that each
 * detector catches. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "find_program.h"
#include "mutate_arguments.h"

typedef struct run {
  heddle_context *ctx;
  const mutate_arguments *arguments;
  mutate_options options; /* the arguments' options, with paths of programs */
  mutate_records records;
  mutate_generic generic;
  bool found; /* the form of --form exists */
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

/* All detectors must accept the form itself; otherwise the results are meaningless. */
static void verify_sound(const run *r, const mutate_form *form, mutate_runs *sound,
                         mutate_record *self) {
  hd_strbuf why = {0};
  mutate_verdict check = mutate_check(form->module, &why, &(hd_check_launch){0});
  if (!r->options.no_sim)
    mutate_simulate(form, form->ptx, 0, sound);
  if (check != MUTATE_MISSED)
    printf("%s: check: %s\n", form->name, hd_strbuf_text(&why));
  if (sound->verdict != MUTATE_MISSED)
    printf("%s: sim: %s\n", form->name, sound->why);
  self->verdict[MUTATE_CHECK] = check;
  self->verdict[MUTATE_SIM] = r->options.no_sim ? MUTATE_UNASKED : sound->verdict;
  hd_strbuf_free(&why);
}

static void verify_form(run *r, const mutate_form *form, mutate_kernel *kernel) {
  mutate_runs sound = {.verdict = MUTATE_MISSED};
  mutate_list list = {0};
  fprintf(stderr, "%s\n", form->name);
  kernel->n = 0;
  verify_sound(r, form, &sound, &kernel->self);
  mutate_list_verify(&r->options, form, &sound, &list);
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
  if (o->generic) {
    mutate_generic_form(o, form, &r->generic);
    return HEDDLE_OK;
  }
  mutate_kernel *kernel = mutate_records_visit(o, form, &r->records);
  if (kernel->self.verdict[MUTATE_CHECK] == MUTATE_UNASKED)
    verify_form(r, form, kernel);
  return HEDDLE_OK;
}

static void print_launched(const mutate_kernel *kernel) {
  for (size_t i = 0; i < kernel->n; i++)
    if (kernel->mutant[i].gpu)
      printf("%s: %s:%d on the device: %s\n", kernel->name, kernel->mutant[i].op,
             kernel->mutant[i].site, mutate_gpu_name(kernel->mutant[i].gpu));
}

/* Runs after the detectors on the host, so that they do not delay workers. Prints a table after
 * each part, because the caller may stop the program. */
static void launch_chosen(run *r) {
  mutate_launch(&r->options, &r->records);
  for (size_t i = 0; i < r->records.n && r->options.verbose; i++)
    if (r->records.kernel[i].visited)
      print_launched(&r->records.kernel[i]);
  mutate_table_print_device(&r->records);
  for (int i = 0; i < MUTATE_N_TOOLS && r->options.sanitizer; i++)
    if (r->arguments->tool[i]) {
      mutate_ask_tool(&r->options, i, &r->records);
      mutate_table_print_device(&r->records);
    }
}

/* --- all of them ----------------------------------------------------------------------------- */

static int is_problem(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && !strcmp(dot, ".heddle");
}

static heddle_status mutate_folder(run *r) {
  const char *folder = r->arguments->examples;
  struct dirent **entries;
  int n = scandir(folder, &entries, is_problem, alphasort);
  heddle_status status = HEDDLE_OK;
  if (n < 0)
    return hd_error(r->ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "mutate.folder", "cannot read %s",
                    folder);
  if (n == 0)
    status = hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, "mutate.folder",
                      "%s holds no .heddle file; nearest: --examples examples", folder);
  for (int i = 0; i < n; i++) {
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%s/%s", folder, entries[i]->d_name);
    if (status == HEDDLE_OK)
      status = mutate_each_form(r->ctx, path.text, r->options.schedule, visit_form, r);
    hd_strbuf_free(&path);
    hd_free(entries[i]);
  }
  hd_free(entries);
  return status;
}

/* Reads the file, and checks that it can be written. */
static heddle_status open_records(run *r) {
  if (!r->options.out)
    return HEDDLE_OK;
  if (r->arguments->resume)
    HD_TRY(mutate_records_read(r->ctx, r->options.out, &r->records));
  return mutate_records_write(r->ctx, r->options.out, &r->records);
}

/* Fails early if mutants cannot be launched. */
static heddle_status check_driver(run *r, const char *self) {
  if (!r->options.gpu || r->options.worker)
    return HEDDLE_OK;
  heddle_runtime *runtime = NULL;
  HD_TRY(heddle_runtime_create(r->ctx, NULL, &runtime));
  heddle_runtime_free(runtime);
  r->options.worker = self;
  return HEDDLE_OK;
}

static heddle_status mutate_files(run *r) {
  const mutate_arguments *a = r->arguments;
  for (int i = 0; i < a->n_files; i++)
    HD_TRY(mutate_each_form(r->ctx, a->files[i], r->options.schedule, visit_form, r));
  if (a->n_files && !r->found)
    return hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, "mutate.form",
                    "no kernel is called %s; legal: FILE/VARIANT, as standard error names them",
                    r->options.form_name ? r->options.form_name : "so");
  return HEDDLE_OK;
}

/* With --all, ptxas is used if it is found; *found is owned. */
static void choose_ptxas(run *r, char **found) {
  if (!r->options.ptxas && r->arguments->all)
    r->options.ptxas = *found = compile_find_ptxas();
  else if (r->options.ptxas && !strcmp(r->options.ptxas, "none"))
    r->options.ptxas = NULL;
}

static heddle_status verify_all(run *r, const char *self) {
  HD_TRY(check_driver(r, self));
  HD_TRY(open_records(r));
  if (r->arguments->all)
    HD_TRY(mutate_folder(r));
  HD_TRY(mutate_files(r));
  if (r->options.gpu)
    launch_chosen(r);
  return HEDDLE_OK;
}

static int run_all(run *r, const char *self) {
  char *found = NULL;
  choose_ptxas(r, &found);
  heddle_status status = verify_all(r, self);
  int code =
      status == HEDDLE_OK && r->options.generic ? mutate_generic_print(&r->generic, r->options.seed)
      : status == HEDDLE_OK && !r->options.launch ? mutate_table_print(&r->options, &r->records)
                                                  : 0;
  int finish = cli_finish(r->ctx, status);
  mutate_records_free(&r->records);
  hd_free(found);
  return finish ? finish : code;
}

static int mutate(int argc, char **argv) {
  mutate_arguments a;
  int code = mutate_arguments_read(argc, argv, &a);
  if (code != CLI_GO)
    return code;
  if (a.agrees)
    return mutate_agree(&(mutate_agree_options){.n = (size_t)a.agree,
                                                .seed = a.options.seed,
                                                .n_mutants = (size_t)a.mutants,
                                                .n_threads = a.options.n_threads,
                                                .blind = a.options.blind,
                                                .verbose = a.options.verbose});
  run r = {.ctx = heddle_context_create(), .arguments = &a, .options = a.options};
  return run_all(&r, argv[0]);
}

int main(int argc, char **argv) { return cli_close(mutate(argc, argv)); }
