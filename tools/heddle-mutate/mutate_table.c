/* The table: who has noticed how many. */
#include <stdio.h>
#include <string.h>

#include "mutate.h"

static mutate_row *row_of(mutate_table *t, const char *name) {
  for (int i = 0; i < t->n_rows; i++)
    if (!strcmp(t->row[i].name, name))
      return &t->row[i];
  if (t->n_rows == MUTATE_MAX_ROWS)
    return &t->row[MUTATE_MAX_ROWS - 1];
  t->row[t->n_rows] = (mutate_row){.name = name};
  return &t->row[t->n_rows++];
}

static void count_device(mutate_row *r, mutate_table *t, const mutate_mutant *m) {
  t->outcomes[m->gpu]++;
  r->gpu_asked += m->gpu != MUTATE_GPU_NOT_ASKED;
  r->gpu += m->gpu > MUTATE_GPU_SAME;
  r->sanitizer_asked += m->sanitizer != MUTATE_GPU_NOT_ASKED;
  r->sanitizer += m->sanitizer > MUTATE_GPU_SAME;
}

void mutate_table_add(mutate_table *t, const mutate_mutant *m) {
  mutate_row *r = row_of(t, m->op);
  r->mutants++;
  r->equivalent += m->equivalent;
  t->undecided += m->check == MUTATE_UNDECIDED || m->runs.verdict == MUTATE_UNDECIDED;
  t->false_alarms += m->equivalent && m->check == MUTATE_CAUGHT;
  if (m->equivalent)
    return;
  r->check_asked += m->module != NULL;
  r->check += m->check == MUTATE_CAUGHT;
  r->sim += m->runs.verdict == MUTATE_CAUGHT;
  r->ptxas += m->ptxas == MUTATE_CAUGHT;
  count_device(r, t, m);
}

/* "12", "12/40" where only some were asked, "-" where none was. */
static void cell(int part, int asked, int of) {
  char text[32];
  if (!asked)
    snprintf(text, sizeof text, "-");
  else if (asked == of)
    snprintf(text, sizeof text, "%d", part);
  else
    snprintf(text, sizeof text, "%d/%d", part, asked);
  printf(" %9s", text);
}

static void print_row(const mutate_options *o, const mutate_row *r) {
  int of = r->mutants - r->equivalent;
  printf("%-14s %8d %10d", r->name, r->mutants, r->equivalent);
  cell(r->check, r->check_asked, r->check_asked);
  cell(r->sim, o->no_sim ? 0 : 1, 1);
  cell(r->ptxas, o->ptxas ? 1 : 0, 1);
  if (o->gpu)
    cell(r->gpu, r->gpu_asked, of);
  if (o->sanitizer)
    cell(r->sanitizer, r->sanitizer_asked, of);
  printf("\n");
}

static void add_row(const mutate_row *r, mutate_row *sum) {
  sum->mutants += r->mutants;
  sum->equivalent += r->equivalent;
  sum->check += r->check;
  sum->check_asked += r->check_asked;
  sum->sim += r->sim;
  sum->ptxas += r->ptxas;
  sum->gpu += r->gpu;
  sum->gpu_asked += r->gpu_asked;
  sum->sanitizer += r->sanitizer;
  sum->sanitizer_asked += r->sanitizer_asked;
}

static void print_outcomes(const mutate_table *t) {
  printf("gpu:");
  for (int i = 0; i < MUTATE_N_GPU; i++)
    printf(" %s=%d", mutate_gpu_name((mutate_gpu)i), t->outcomes[i]);
  printf("\n");
}

static double percent(int part, int whole) { return whole ? 100.0 * part / whole : 100.0; }

int mutate_table_print(const mutate_options *o, const mutate_table *t) {
  mutate_row sum = {.name = "all"};
  printf("%-14s %8s %10s %9s %9s %9s%s%s\n", "operator", "mutants", "equivalent", "check", "sim",
         "ptxas", o->gpu ? "       gpu" : "", o->sanitizer ? " sanitizer" : "");
  for (int i = 0; i < t->n_rows; i++) {
    print_row(o, &t->row[i]);
    add_row(&t->row[i], &sum);
  }
  print_row(o, &sum);
  if (o->gpu)
    print_outcomes(t);
  int live = sum.mutants - sum.equivalent;
  printf("forms=%d\n", t->forms);
  printf("mutants=%d equivalent=%d check=%.1f%% sim=%.1f%% false_alarms=%d undecided=%d\n",
         sum.mutants, sum.equivalent, percent(sum.check, sum.check_asked),
         o->no_sim ? 0.0 : percent(sum.sim, live), t->false_alarms, t->undecided);
  bool all = sum.check == sum.check_asked && (o->no_sim || sum.sim == live);
  bool launched = !o->gpu || sum.gpu_asked;
  return all && launched && !t->false_alarms && !t->undecided && sum.mutants ? 0 : 1;
}
