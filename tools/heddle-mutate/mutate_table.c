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
}

static void count_shot(mutate_row *r, const mutate_shot *shot) {
  r->gpu[shot->gpu]++;
  for (int t = 0; t < MUTATE_N_TOOLS; t++) {
    r->tool[t] += shot->tool[t] == MUTATE_GPU_WRONG;
    r->tool_asked[t] += shot->tool[t] != MUTATE_GPU_NOT_ASKED;
  }
}

void mutate_table_add_device(mutate_table *t, const mutate_device *device) {
  for (size_t i = 0; i < device->n; i++) {
    const mutate_batch *batch = &device->batch[i];
    t->forms_launched += batch->launched;
    for (size_t j = 0; j < batch->n; j++)
      count_shot(row_of(t, batch->shot[j].op), &batch->shot[j]);
  }
}

/* "-" where none was asked. */
static void cell(int part, bool asked) {
  if (asked)
    printf(" %9d", part);
  else
    printf(" %9s", "-");
}

static void print_row(const mutate_options *o, const mutate_row *r) {
  printf("%-14s %8d %10d", r->name, r->mutants, r->equivalent);
  cell(r->check, r->check_asked);
  cell(r->sim, !o->no_sim);
  cell(r->ptxas, o->ptxas);
  printf("\n");
}

static void add_row(const mutate_row *r, mutate_row *sum) {
  sum->mutants += r->mutants;
  sum->equivalent += r->equivalent;
  sum->check += r->check;
  sum->check_asked += r->check_asked;
  sum->sim += r->sim;
  sum->ptxas += r->ptxas;
  for (int i = 0; i < MUTATE_N_GPU; i++)
    sum->gpu[i] += r->gpu[i];
  for (int t = 0; t < MUTATE_N_TOOLS; t++) {
    sum->tool[t] += r->tool[t];
    sum->tool_asked[t] += r->tool_asked[t];
  }
}

/* --- the device's
 * ------------------------------------------------------------------------------ */

static int launched(const mutate_row *r) {
  int n = 0;
  for (int i = MUTATE_GPU_SAME; i < MUTATE_N_GPU; i++)
    n += r->gpu[i];
  return n;
}

/* "12/40": found in 12 of the 40 that the tool was given. */
static void print_launches(const mutate_options *o, const mutate_row *r) {
  char text[32];
  printf("%-14s %8d", r->name, launched(r));
  for (int i = MUTATE_GPU_WRONG; i < MUTATE_N_GPU; i++)
    printf(" %9d", r->gpu[i]);
  printf(" %9d", r->gpu[MUTATE_GPU_SAME]);
  for (int t = 0; t < MUTATE_N_TOOLS && o->sanitizer; t++) {
    snprintf(text, sizeof text, "%d/%d", r->tool[t], r->tool_asked[t]);
    printf(" %9s", r->tool_asked[t] ? text : "-");
  }
  printf("\n");
}

static void print_device(const mutate_options *o, const mutate_table *t, const mutate_row *sum) {
  printf("\n%-14s %8s", "on the device", "launched");
  for (int i = MUTATE_GPU_WRONG; i < MUTATE_N_GPU; i++)
    printf(" %9s", mutate_gpu_name((mutate_gpu)i));
  printf(" %9s", "not-seen");
  for (int i = 0; i < MUTATE_N_TOOLS && o->sanitizer; i++)
    printf(" %9s", mutate_tool_name(i));
  printf("\n");
  for (int i = 0; i < t->n_rows; i++)
    print_launches(o, &t->row[i]);
  print_launches(o, sum);
  printf("kernels=%d of %d\n\n", t->forms_launched, t->forms);
}

static double percent(int part, int whole) { return whole ? 100.0 * part / whole : 100.0; }

int mutate_table_print(const mutate_options *o, const mutate_table *t) {
  mutate_row sum = {.name = "all"};
  printf("%-14s %8s %10s %9s %9s %9s\n", "operator", "mutants", "equivalent", "check", "sim",
         "ptxas");
  for (int i = 0; i < t->n_rows; i++) {
    print_row(o, &t->row[i]);
    add_row(&t->row[i], &sum);
  }
  print_row(o, &sum);
  if (o->gpu)
    print_device(o, t, &sum);
  int live = sum.mutants - sum.equivalent;
  printf("forms=%d\n", t->forms);
  printf("mutants=%d equivalent=%d check=%.1f%% sim=%.1f%% false_alarms=%d undecided=%d\n",
         sum.mutants, sum.equivalent, percent(sum.check, sum.check_asked),
         o->no_sim ? 0.0 : percent(sum.sim, live), t->false_alarms, t->undecided);
  bool all = sum.check == sum.check_asked && (o->no_sim || sum.sim == live);
  bool shown = !o->gpu || launched(&sum);
  return all && shown && !t->false_alarms && !t->undecided && sum.mutants ? 0 : 1;
}
