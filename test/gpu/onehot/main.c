/* heddle-onehot [--row NAME] [--quick] [--shard I/N] [--plant] [--dump [--target T]]: every matrix
 * row of specs/ that the device runs, one element at a time: each lane, register, field, metadata
 * code and selector; then shared-memory forms, transposes, negation and ldmatrix. One line a row, a
 * total at the end; exit code 1 on a mismatch.
 * --plant swaps two metadata codes, or two rows of a matrix: the run must then report mismatches.
 * --dump prints PTX only, for --target T (sm_90a). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "forms.h"
#include "matrix_move.h"

typedef struct options {
  const char *row, *target; /* of --dump */
  bool quick, dump, plant;
  unsigned shard, n_shards; /* every n_shards-th row from number `shard` */
} options;

typedef struct session {
  gpu *g;
  const hd_target *target;
  options o;
  totals all;
  unsigned n_rows, n_failed;
} session;

static bool run_form(session *s, const form *f, bool (*cases)(batch *, problem *), totals *t) {
  static problem p; /* large; one thread */
  if (s->o.dump) {
    char *text = kernel_text(f, s->target, 88);
    printf("// %s selector %u\n%s\n", f->row->name, f->selector, text);
    free(text);
    return true;
  }
  problem_init(&p, f->row, s->o.plant);
  batch *b = batch_open(s->g, f, s->target, t);
  if (!b)
    return false;
  bool ok = cases(b, &p);
  return batch_close(b) && ok;
}

static bool sixteen(batch *b, problem *p) {
  return cases_random(b, p, 16);
}

typedef struct visit {
  session *s;
  totals *t;
} visit;

static bool try_form(void *user, const form *f) {
  visit *v = user;
  return run_form(v->s, f, sixteen, v->t);
}

/* ---- rows ---- */

static bool run_mma(session *s, const hd_spec_row *row, totals *t) {
  bool whole = row->family == HD_FAMILY_MMA_SP || row->n == 64 || row->n == 8, ok = true;
  for (unsigned sel = 0; sel < row->n_selectors; sel++) {
    form f = form_plain(row, sel);
    ok &= run_form(s, &f, whole ? cases_full : cases_light, t);
  }
  if (row->family == HD_FAMILY_WGMMA_SP && row->n == 64 && !s->o.dump)
    ok &= forms_of_wgmma(row, try_form, &(visit){s, t});
  if (whole && row->modifiers & HD_MOD_SATFINITE && !s->o.dump)
    ok &= forms_of_overflow(row, try_form, &(visit){s, t});
  return ok;
}

static bool run_move(session *s, const hd_spec_row *row, totals *t) {
  if (!s->o.dump)
    return matrix_move_run(s->g, row, s->target, s->o.plant, t);
  char *text = matrix_move_text(row, s->target);
  printf("// %s\n%s\n", row->name, text);
  free(text);
  return true;
}

static bool wanted(const session *s, const hd_spec_row *row) {
  bool quick_n = row->family != HD_FAMILY_WGMMA_SP || row->n == 64 || row->n == 192;
  if (!row_runs(row, s->target))
    return false;
  return s->o.row ? !strcmp(s->o.row, row->name) : quick_n || !s->o.quick;
}

static void run_row(session *s, const hd_spec_row *row) {
  totals t = {0, 0, 0};
  bool ok = row->family <= HD_FAMILY_WGMMA_SP
                ? run_mma(s, row, &t)
                : run_move(s, row, &t);
  if (s->o.dump)
    return;
  printf("row %s cases=%llu checks=%llu mismatches=%llu%s\n", row->name,
         (unsigned long long)t.cases, (unsigned long long)t.checks,
         (unsigned long long)t.mismatches, ok ? "" : " NOT-RUN");
  fflush(stdout);
  s->all.cases += t.cases;
  s->all.checks += t.checks;
  s->all.mismatches += t.mismatches;
  s->n_rows++;
  s->n_failed += !ok || t.mismatches || !t.checks;
}

static bool read_options(int argc, char **argv, options *o) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick"))
      o->quick = true;
    else if (!strcmp(argv[i], "--dump"))
      o->dump = true;
    else if (!strcmp(argv[i], "--plant"))
      o->plant = true;
    else if (!strcmp(argv[i], "--row") && i + 1 < argc)
      o->row = argv[++i];
    else if (!strcmp(argv[i], "--target") && i + 1 < argc)
      o->target = argv[++i];
    else if (!strcmp(argv[i], "--shard") && i + 1 < argc &&
             sscanf(argv[i + 1], "%u/%u", &o->shard, &o->n_shards) == 2 && o->n_shards > 0)
      i++;
    else
      return false;
  }
  return true;
}

static bool find_target(session *s) {
  char name[16];
  int sm = s->o.dump ? 90 : gpu_capability(s->g);
  if (s->o.dump && s->o.target)
    return hd_target_parse(s->o.target, &s->target) == HEDDLE_OK;
  snprintf(name, sizeof name, "sm_%da", sm);
  if (hd_target_parse(name, &s->target) == HEDDLE_OK)
    return true;
  snprintf(name, sizeof name, "sm_%d", sm);
  return hd_target_parse(name, &s->target) == HEDDLE_OK;
}

int main(int argc, char **argv) {
  session s = {.o = {.n_shards = 1}};
  unsigned n_wanted = 0;
  if (!read_options(argc, argv, &s.o)) {
    fprintf(stderr, "usage: heddle-onehot [--row NAME] [--quick] [--shard I/N] [--plant] [--dump "
                    "[--target T]]\n");
    return 2;
  }
  if (!s.o.dump && !(s.g = gpu_open()))
    return 4;
  if (!find_target(&s)) {
    fprintf(stderr, "no spec target for this device\n");
    return 3;
  }
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (wanted(&s, hd_spec_get(i)) && n_wanted++ % s.o.n_shards == s.o.shard)
      run_row(&s, hd_spec_get(i));
  if (!s.o.dump)
    printf("total target=%s rows=%u failed=%u cases=%llu checks=%llu mismatches=%llu\n",
           s.target->name, s.n_rows, s.n_failed, (unsigned long long)s.all.cases,
           (unsigned long long)s.all.checks, (unsigned long long)s.all.mismatches);
  gpu_close(s.g);
  return s.n_failed ? 1 : 0;
}
