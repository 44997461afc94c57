/* heddle-onehot: every matrix row of specs/ that the device supports, one element at a time: each
 * lane, register, field, metadata code and selector; then shared-memory forms, transposes, negation
 * and ldmatrix. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cli.h"
#include "forms.h"
#include "matrix_move.h"
#include "shard.h"

typedef struct options {
  const char *row, *target; /* of --dump */
  bool quick, dump, inject;
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
  problem_init(&p, f->row, s->o.inject);
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
    return matrix_move_run(s->g, row, s->target, s->o.inject, t);
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

static const char about[] =
    "Runs every matrix row of specs/ that the device has, one element at a time: each lane,\n"
    "register, field, metadata code and selector. One line a row, a total at the end; exit code 1\n"
    "on a mismatch, or when the row did not run.";
static const char examples[] = "heddle-onehot\n"
                               "heddle-onehot --row wgmma_sp_ss_m64n64k32_f32_bf16_bf16\n"
                               "heddle-onehot --row mma_sp_ordered_m16n8k64_s32_s8_s8 --dump\n"
                               "test/gpu/onehot/run_onehot build/bin/heddle-onehot 8\n";

/* CLI_GO, or the exit code. */
static int read_options(int argc, char **argv, options *o) {
  const char *shard = NULL;
  const cli_option list[] = {
      {"row", CLI_TEXT, &o->row, "NAME", "only this operator"},
      {"quick", CLI_FLAG, &o->quick, NULL, "of wgmma n64 and n192 only"},
      {"shard", CLI_TEXT, &shard, "I/N", "every N-th row, from the I-th (0) on"},
      {"inject", CLI_FLAG, &o->inject, NULL, "swap two metadata codes, or rows: must mismatch"},
      {"dump", CLI_FLAG, &o->dump, NULL, "print the PTX; needs no device"},
      {"target", CLI_TEXT, &o->target, "T", "of --dump (sm_90a)"},
      {0}};
  const cli_command command = {"heddle-onehot [OPTIONS]", about, examples, list, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO && o->target && !o->dump)
    code = cli_usage_error("onehot.target", "--target goes with --dump");
  return code == CLI_GO ? bare_shard_read(shard, &o->shard, &o->n_shards) : code;
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
  session s = {.o = {.quick = false}};
  unsigned n_wanted = 0;
  int code = read_options(argc, argv, &s.o);
  if (code != CLI_GO)
    return code;
  if (!s.o.dump && !(s.g = gpu_open()))
    return 4;
  if (!find_target(&s)) {
    fprintf(stderr, "no spec target for this device\n");
    return 3;
  }
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (wanted(&s, hd_spec_get(i)) && n_wanted++ % s.o.n_shards == s.o.shard)
      run_row(&s, hd_spec_get(i));
  if (s.o.row && n_wanted == 0) { /* an unknown row must not count as a match */
    fprintf(stderr, "row %s does not run on %s\n", s.o.row, s.target->name);
    s.n_failed++;
  }
  if (!s.o.dump)
    printf("total target=%s rows=%u failed=%u cases=%llu checks=%llu mismatches=%llu\n",
           s.target->name, s.n_rows, s.n_failed, (unsigned long long)s.all.cases,
           (unsigned long long)s.all.checks, (unsigned long long)s.all.mismatches);
  gpu_close(s.g);
  return s.n_failed ? 1 : 0;
}
