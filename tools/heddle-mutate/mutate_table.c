/* The tables: how many mutants each detector caught. */
#include <stdio.h>
#include <string.h>

#include "mutate.h"

enum { MAX_ROWS = 64 };

typedef struct row { /* of an operator */
  const char *name;
  int mutants, equivalent;
  int caught[MUTATE_N_DETECTORS], asked[MUTATE_N_DETECTORS]; /* without equivalent ones */
  int gpu[MUTATE_N_GPU], found[MUTATE_N_TOOLS], given[MUTATE_N_TOOLS];
} row;

typedef struct table {
  row row[MAX_ROWS], sum;
  int n_rows, forms, forms_launched, false_alarms, undecided;
  int accepts[MUTATE_N_TOOLS], tried[MUTATE_N_TOOLS]; /* the forms themselves */
} table;

/* --- counting ------------------------------------------------------------------------------- */

static row *row_of(table *t, const char *name) {
  for (int i = 0; i < t->n_rows; i++)
    if (!strcmp(t->row[i].name, name))
      return &t->row[i];
  if (t->n_rows == MAX_ROWS)
    return &t->row[MAX_ROWS - 1];
  t->row[t->n_rows] = (row){.name = name};
  return &t->row[t->n_rows++];
}

static void count_in_row(row *r, const mutate_record *record) {
  r->mutants++;
  r->equivalent += record->kind == MUTATE_EQUIVALENT;
  for (int i = 0; i < MUTATE_N_DETECTORS && record->kind != MUTATE_EQUIVALENT; i++) {
    r->asked[i] += record->verdict[i] != MUTATE_UNASKED;
    r->caught[i] += record->verdict[i] == MUTATE_CAUGHT;
  }
  r->gpu[record->gpu]++;
  for (int i = 0; i < MUTATE_N_TOOLS; i++) {
    r->given[i] += record->tool[i] != MUTATE_GPU_NOT_ASKED;
    r->found[i] += record->tool[i] == MUTATE_GPU_WRONG;
  }
}

static bool is_undecided(const mutate_verdict *verdict) {
  return verdict[MUTATE_CHECK] == MUTATE_UNDECIDED || verdict[MUTATE_SIM] == MUTATE_UNDECIDED;
}

static void count_mutant(table *t, const mutate_record *record) {
  const mutate_verdict *verdict = record->verdict;
  count_in_row(row_of(t, record->op), record);
  count_in_row(&t->sum, record);
  t->undecided += is_undecided(verdict);
  t->false_alarms += record->kind == MUTATE_EQUIVALENT && verdict[MUTATE_CHECK] == MUTATE_CAUGHT;
}

static void count_kernel(table *t, const mutate_record *self) {
  const mutate_verdict *verdict = self->verdict;
  t->forms++;
  t->forms_launched += self->gpu == MUTATE_GPU_SAME;
  t->undecided += is_undecided(verdict);
  t->false_alarms += verdict[MUTATE_CHECK] == MUTATE_CAUGHT;
  t->false_alarms += verdict[MUTATE_SIM] == MUTATE_CAUGHT;
  for (int i = 0; i < MUTATE_N_TOOLS; i++) {
    t->tried[i] += self->tool[i] != MUTATE_GPU_NOT_ASKED;
    t->accepts[i] += self->tool[i] == MUTATE_GPU_SAME;
  }
}

static void count_all(const mutate_records *records, table *t) {
  *t = (table){.sum = {.name = "all"}};
  for (size_t i = 0; i < records->n; i++) {
    const mutate_kernel *kernel = &records->kernel[i];
    if (!kernel->visited)
      continue;
    count_kernel(t, &kernel->self);
    for (size_t j = 0; j < kernel->n; j++)
      count_mutant(t, &kernel->mutant[j]);
  }
}

/* --- the detectors ---------------------------------------------------------------------------- */

/* Prints "-" for a detector that was not used. */
static void print_row(const row *r) {
  printf("%-14s %8d %10d", r->name, r->mutants, r->equivalent);
  for (int i = 0; i < MUTATE_N_DETECTORS; i++)
    if (r->asked[i])
      printf(" %9d", r->caught[i]);
    else
      printf(" %9s", "-");
  printf("\n");
}

static void print_detectors(const table *t) {
  printf("%-14s %8s %10s %9s %9s %9s\n", "operator", "mutants", "equivalent", "check", "sim",
         "ptxas");
  for (int i = 0; i < t->n_rows; i++)
    print_row(&t->row[i]);
  print_row(&t->sum);
}

/* --- the device ----------------------------------------------------------------------------- */

static int launched(const row *r) {
  int n = 0;
  for (int i = MUTATE_GPU_SAME; i < MUTATE_N_GPU; i++)
    n += r->gpu[i];
  return n;
}

/* "12/40": found in 12 of the 40 mutants that were run under the tool. A tool that accepts no form
 * has no column. */
static void print_launches(const table *t, const row *r) {
  char text[32];
  printf("%-14s %8d", r->name, launched(r));
  for (int i = MUTATE_GPU_WRONG; i < MUTATE_N_GPU; i++)
    printf(" %9d", r->gpu[i]);
  printf(" %9d", r->gpu[MUTATE_GPU_SAME]);
  for (int i = 0; i < MUTATE_N_TOOLS; i++) {
    snprintf(text, sizeof text, "%d/%d", r->found[i], r->given[i]);
    if (t->accepts[i])
      printf(" %9s", r->given[i] ? text : "-");
  }
  printf("\n");
}

static void print_device(const table *t) {
  printf("\n%-14s %8s", "on the device", "launched");
  for (int i = MUTATE_GPU_WRONG; i < MUTATE_N_GPU; i++)
    printf(" %9s", mutate_gpu_name((mutate_gpu)i));
  printf(" %9s", "not-seen");
  for (int i = 0; i < MUTATE_N_TOOLS; i++)
    if (t->accepts[i])
      printf(" %9s", mutate_tool_name(i));
  printf("\n");
  for (int i = 0; i < t->n_rows; i++)
    print_launches(t, &t->row[i]);
  print_launches(t, &t->sum);
  printf("kernels=%d of %d\n", t->forms_launched, t->forms);
  for (int i = 0; i < MUTATE_N_TOOLS; i++)
    if (t->accepts[i])
      printf("%s: accepts %d of %d kernels; sees %d of %d of their mutants\n", mutate_tool_name(i),
             t->accepts[i], t->tried[i], t->sum.found[i], t->sum.given[i]);
    else if (t->tried[i])
      printf("%s: no column, since it accepts none of %d kernels\n", mutate_tool_name(i),
             t->tried[i]);
  printf("\n");
}

void mutate_table_print_device(const mutate_records *records) {
  table t;
  count_all(records, &t);
  print_device(&t);
  fflush(stdout);
}

/* --- all ------------------------------------------------------------------------------------ */

static double percent(int part, int whole) { return whole ? 100.0 * part / whole : 100.0; }

int mutate_table_print(const mutate_options *o, const mutate_records *records) {
  table t;
  count_all(records, &t);
  const row *sum = &t.sum;
  const int *caught = sum->caught, *asked = sum->asked;
  print_detectors(&t);
  if (o->gpu)
    print_device(&t);
  printf("forms=%d\n", t.forms);
  printf("mutants=%d equivalent=%d check=%.1f%% sim=%.1f%% false_alarms=%d undecided=%d\n",
         sum->mutants, sum->equivalent, percent(caught[MUTATE_CHECK], asked[MUTATE_CHECK]),
         o->no_sim ? 0.0 : percent(caught[MUTATE_SIM], asked[MUTATE_SIM]), t.false_alarms,
         t.undecided);
  fflush(stdout);
  bool all = caught[MUTATE_CHECK] == asked[MUTATE_CHECK] && caught[MUTATE_SIM] == asked[MUTATE_SIM];
  bool shown = !o->gpu || launched(sum);
  return all && shown && !t.false_alarms && !t.undecided && sum->mutants ? 0 : 1;
}
