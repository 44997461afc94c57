/* heddle-onehot [--row NAME] [--quick] [--shard I/N] [--plant] [--dump]: every matrix row of specs/ that the device runs, one
 * element at a time: each lane, register, field, metadata code and selector; then shared-memory forms,
 * transposes, negation and ldmatrix. One line a row, a total at the end; exit code 1 on a mismatch.
 * --plant swaps two metadata codes: the run must then report mismatches. --dump prints PTX only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "matrix_move.h"

typedef struct options {
  const char *row;
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

/* The forms that kernels use: A in core matrices without swizzle, B in 128-byte rows. */
static form plain_form(const hd_spec_row *row, unsigned selector) {
  form f = {.row = row, .selector = selector};
  f.a = (shared_form){{.lbo_bytes = 128, .sbo_bytes = 256}, 1, 0};
  f.b = (shared_form){{.swizzle = HD_SMEM_128B, .sbo_bytes = 1024}, 2, selector & 1};
  return f;
}

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

/* ---- forms of operands in shared memory (wgmma, one N a type) ---- */

static bool try_form(session *s, form f, totals *t) {
  return run_form(s, &f, sixteen, t);
}

static bool k_major_forms(session *s, const hd_spec_row *row, totals *t) {
  bool ok = true;
  for (unsigned swizzle = HD_SMEM_32B; swizzle <= HD_SMEM_128B; swizzle++)
    for (unsigned step = 0; !row->a_in_registers && step < 1u << (swizzle - 1); step++) {
      form f = plain_form(row, 0);
      f.a = (shared_form){{.swizzle = swizzle, .sbo_bytes = 128u << swizzle}, 1u << (swizzle - 1), step};
      ok &= try_form(s, f, t);
    }
  form none = plain_form(row, 0), gaps = none, narrow = none, second = none;
  none.b = (shared_form){{.lbo_bytes = 128, .sbo_bytes = 512}, 1, 0};
  gaps.b = (shared_form){{.lbo_bytes = row->n * 16u + 256, .sbo_bytes = 128}, 1, 0};
  narrow.b = (shared_form){{.swizzle = HD_SMEM_64B, .sbo_bytes = 512}, 1, 0};
  second.b.step = 1;
  return try_form(s, none, t) && try_form(s, gaps, t) && try_form(s, narrow, t) &&
         try_form(s, second, t) && ok;
}

/* 16-bit types: A and B with M or N contiguous. S bytes of it a pattern of eight k rows. */
static bool mn_major_forms(session *s, const hd_spec_row *row, totals *t) {
  bool ok = true;
  for (unsigned swizzle = HD_SMEM_NONE; swizzle <= HD_SMEM_128B; swizzle++) {
    uint32_t atom = 128u << swizzle, n_atoms = row->n * 2u / (16u << swizzle);
    shared_form b = {{true, swizzle, swizzle ? atom * (row->k / 8u) : atom * n_atoms, atom}, 1, 0};
    form f = plain_form(row, 0);
    f.trans_b = true;
    f.b = b;
    ok &= try_form(s, f, t);
    if (row->a_in_registers)
      continue;
    f = plain_form(row, 0);
    f.trans_a = true;
    n_atoms = row->m * 2u / (16u << swizzle);
    f.a = (shared_form){{true, swizzle, swizzle ? atom * (row->k / 16u) : atom * n_atoms, atom}, 1, 0};
    ok &= try_form(s, f, t);
  }
  return ok;
}

static bool negated(session *s, const hd_spec_row *row, totals *t) {
  bool ok = true;
  for (unsigned i = 1; i < 4; i++) {
    form f = plain_form(row, 0);
    f.negate_a = i & 1;
    f.negate_b = i >> 1;
    ok &= try_form(s, f, t);
  }
  return ok;
}

static bool wgmma_forms(session *s, const hd_spec_row *row, totals *t) {
  bool ok = k_major_forms(s, row, t);
  if (row->modifiers & HD_MOD_TRANS_B)
    ok &= mn_major_forms(s, row, t);
  if (row->modifiers & HD_MOD_NEGATE_A)
    ok &= negated(s, row, t);
  return ok;
}

/* ---- rows ---- */

static bool run_mma(session *s, const hd_spec_row *row, totals *t) {
  bool whole = row->family == HD_FAMILY_MMA_SP || row->n == 64 || row->n == 8, ok = true;
  for (unsigned sel = 0; sel < row->n_selectors; sel++) {
    form f = plain_form(row, sel);
    ok &= run_form(s, &f, whole ? cases_full : cases_light, t);
  }
  if (row->family == HD_FAMILY_WGMMA_SP && row->n == 64 && !s->o.dump)
    ok &= wgmma_forms(s, row, t);
  return ok;
}

static bool wanted(const session *s, const hd_spec_row *row) {
  bool quick_n = row->family != HD_FAMILY_WGMMA_SP || row->n == 64 || row->n == 192;
  if (row->family == HD_FAMILY_TCGEN05_SP || row->family > HD_FAMILY_STMATRIX ||
      row->scale_vec || row->layout_judge == HD_JUDGE_NONE || !hd_spec_min_ptx(row, s->target))
    return false;
  return s->o.row ? !strcmp(s->o.row, row->name) : quick_n || !s->o.quick;
}

static void run_row(session *s, const hd_spec_row *row) {
  totals t = {0, 0, 0};
  bool ok = row->family <= HD_FAMILY_WGMMA_SP
                ? run_mma(s, row, &t)
                : s->o.dump || matrix_move_run(s->g, row, s->target, &t);
  if (s->o.dump)
    return;
  printf("row %s cases=%llu checks=%llu mismatches=%llu%s\n", row->name, (unsigned long long)t.cases,
         (unsigned long long)t.checks, (unsigned long long)t.mismatches, ok ? "" : " NOT-RUN");
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
    fprintf(stderr, "usage: heddle-onehot [--row NAME] [--quick] [--shard I/N] [--plant] [--dump]\n");
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
