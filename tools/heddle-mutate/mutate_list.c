/* Makes every mutant of a form, and verifies it with the checker, the simulator and ptxas. */
#include <stdio.h>
#include <string.h>

#include "mutate.h"
#include "Support/memory.h"

/* --- making --------------------------------------------------------------------------------- */

static char *emit(const mutate_form *form, const hd_module *module) {
  char *ptx = NULL;
  heddle_context *ctx = heddle_context_create();
  if (mutate_emit(ctx, form, module, &ptx) != HEDDLE_OK)
    ptx = NULL;
  heddle_context_free(ctx);
  return ptx;
}

static bool make_role(const mutate_form *form, const mutate_operator *op, mutate_mutant *m) {
  m->module = mutate_role(form->module, op, m->site);
  if (!m->module)
    return false;
  hd_strbuf site = {0};
  mutate_describe(form->module, m->site, &site);
  snprintf(m->where, sizeof m->where, "%s", hd_strbuf_text(&site));
  hd_strbuf_free(&site);
  m->ptx = emit(form, m->module);
  return true;
}

static bool make_line(const mutate_form *form, const mutate_line_operator *op, mutate_mutant *m) {
  const char *line = form->ptx;
  m->ptx = mutate_line(form->ptx, op, m->site);
  for (int32_t i = 0; m->ptx && i < m->site; i++)
    line += strcspn(line, "\n") + 1;
  line += strspn(line, " \t");
  snprintf(m->where, sizeof m->where, "PTX line %d: %.*s", m->site + 1, (int)strcspn(line, "\n"),
           line);
  return m->ptx != NULL;
}

bool mutate_make(const mutate_form *form, mutate_mutant *m) {
  size_t n_roles, n_lines;
  const mutate_operator *roles = mutate_role_operators(&n_roles);
  const mutate_line_operator *lines = mutate_line_operators(&n_lines);
  for (size_t i = 0; i < n_roles; i++)
    if (!strcmp(roles[i].name, m->op))
      return m->site < mutate_count_ops(form->module) && make_role(form, &roles[i], m);
  for (size_t i = 0; i < n_lines; i++)
    if (!strcmp(lines[i].name, m->op))
      return m->site < mutate_count_lines(form->ptx) && make_line(form, &lines[i], m);
  return false;
}

void mutate_unmake(mutate_mutant *m) {
  hd_module_free(m->module);
  hd_free(m->ptx);
}

typedef struct job {
  const mutate_options *options;
  const mutate_form *form;
  const mutate_runs *sound;
  mutate_list *list;
  bool ask_ptxas; /* ptxas accepts the form itself */
} job;

static void make_one(void *user, size_t i) {
  job *j = user;
  mutate_mutant *m = &j->list->mutant[i];
  m->made = mutate_make(j->form, m);
}

static void add_sites(const mutate_options *o, const char *name, int32_t n, mutate_list *list) {
  for (int32_t i = 0; i < n && (!o->operator_name || !strcmp(o->operator_name, name)); i++)
    HD_PUSH(list->mutant, list->n, list->cap, ((mutate_mutant){.op = name, .site = i}));
}

/* Drops sites where an operator does not apply, and finds the first mutant with each PTX. */
static void keep_made(mutate_list *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->n; i++)
    if (list->mutant[i].made)
      list->mutant[kept++] = list->mutant[i];
  list->n = kept;
  for (size_t i = 0; i < kept; i++) {
    size_t like = 0;
    const char *ptx = list->mutant[i].ptx;
    while (like < i && !(ptx && list->mutant[like].ptx && !strcmp(list->mutant[like].ptx, ptx)))
      like++;
    list->mutant[i].like = like;
  }
}

static void make_all(job *j) {
  size_t n_roles, n_lines;
  const mutate_operator *roles = mutate_role_operators(&n_roles);
  const mutate_line_operator *lines = mutate_line_operators(&n_lines);
  for (size_t i = 0; i < n_roles; i++)
    add_sites(j->options, roles[i].name, mutate_count_ops(j->form->module), j->list);
  for (size_t i = 0; i < n_lines && !j->options->no_ptx && !j->options->no_sim; i++)
    add_sites(j->options, lines[i].name, mutate_count_lines(j->form->ptx), j->list);
  mutate_pool(j->options->n_threads, j->list->n, make_one, j);
  keep_made(j->list);
}

/* --- verifying -------------------------------------------------------------------------------- */

/* A detector that accepts everything, injected to see the count fail. */
static bool is_blind(const mutate_options *o, const char *detector) {
  return o->blind && !strcmp(o->blind, detector);
}

/* Whether the PTX is equal, or the order of all conflicting accesses in every run. */
static bool is_equivalent(const job *j, const mutate_mutant *m, const mutate_runs *sound) {
  if (m->ptx && !strcmp(m->ptx, j->form->ptx))
    return true;
  return !j->options->no_sim && mutate_same_order(j->form, m->ptx, sound, &m->runs);
}

static void ask_check(const job *j, mutate_mutant *m, hd_check_launch *launch) {
  hd_strbuf why = {0};
  if (m->module && !is_blind(j->options, "check"))
    m->check = mutate_check(m->module, &why, launch);
  snprintf(m->check_why, sizeof m->check_why, "%s", hd_strbuf_text(&why));
  hd_strbuf_free(&why);
}

static void ask_sim(const job *j, mutate_mutant *m, const hd_check_launch *launch) {
  mutate_runs sound = *j->sound;
  if (!m->ptx) {
    m->runs.verdict = MUTATE_CAUGHT; /* could not be emitted */
    return;
  }
  if (!j->options->no_sim && !is_blind(j->options, "sim")) {
    mutate_simulate(j->form, m->ptx, MUTATE_PATIENCE * sound.n_instructions, &m->runs);
    if (m->check == MUTATE_CAUGHT && m->runs.verdict == MUTATE_MISSED &&
        strcmp(m->ptx, j->form->ptx))
      mutate_simulate_launch(j->form, m->ptx, launch, &sound, &m->runs);
  }
  m->equivalent = is_equivalent(j, m, &sound);
}

/* Only the first of the mutants with equal PTX is run. */
static void verify_one(void *user, size_t i) {
  job *j = user;
  mutate_mutant *m = &j->list->mutant[i];
  hd_check_launch launch = {0};
  ask_check(j, m, &launch);
  if (m->like != i)
    return;
  ask_sim(j, m, &launch);
  if (j->ask_ptxas && m->ptx && !m->equivalent)
    m->ptxas = mutate_assemble(j->options->ptxas, m->ptx, j->form->target);
}

static void copy_like(mutate_list *list) {
  for (size_t i = 0; i < list->n; i++) {
    mutate_mutant *m = &list->mutant[i], *first = &list->mutant[m->like];
    m->runs = first->runs;
    m->equivalent = first->equivalent;
    m->ptxas = first->ptxas;
  }
}

void mutate_list_verify(const mutate_options *options, const mutate_form *form,
                        const mutate_runs *sound, mutate_list *list) {
  job j = {.options = options, .form = form, .sound = sound, .list = list};
  j.ask_ptxas = options->ptxas &&
                mutate_assemble(options->ptxas, form->ptx, form->target) == MUTATE_MISSED;
  if (options->ptxas && !j.ask_ptxas)
    fprintf(stderr, "%s: ptxas objects to the kernel itself\n", form->name);
  make_all(&j);
  mutate_pool(options->n_threads, list->n, verify_one, &j);
  copy_like(list);
}

void mutate_list_free(mutate_list *list) {
  for (size_t i = 0; i < list->n; i++)
    mutate_unmake(&list->mutant[i]);
  hd_free(list->mutant);
  *list = (mutate_list){0};
}
