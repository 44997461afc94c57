/* heddle-simhw [--row NAME]... [--shard I/N] [--dry [--target T]] [--plant]: every matrix row of
 * specs/ that the device runs, the same PTX text on the device and in the simulator: D from small
 * integers must agree bit for bit, from random normal values the largest difference is printed (an
 * infinite one fails). Exit code 1 when a row disagrees or did not run. --dry: the product in
 * double precision stands for the device. --plant: the simulator sees one bit of A inverted; every
 * row must then fail. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forms.h"
#include "simhw_form.h"

enum { MAX_ROWS = 32 };

typedef struct session {
  sides sides;
  const char *row[MAX_ROWS], *target; /* of --dry */
  unsigned n_named, shard, n_shards;
  bool dry;
  unsigned n_rows, n_failed;
  apart all;
} session;

typedef struct visit {
  session *s;
  apart *r;
} visit;

static bool try_form(void *user, const form *f) {
  visit *v = user;
  return simhw_form(&v->s->sides, f, v->r);
}

/* The form that kernels use under every selector; for one N of wgmma all forms. */
static bool run_mma(session *s, const hd_spec_row *row, apart *r) {
  bool ok = true;
  for (unsigned selector = 0; selector < row->n_selectors; selector++) {
    form f = form_plain(row, selector);
    ok &= simhw_form(&s->sides, &f, r);
  }
  if (row->family == HD_FAMILY_WGMMA_SP && row->n == 64)
    ok &= forms_of_wgmma(row, try_form, &(visit){s, r});
  if (row->modifiers & HD_MOD_SATFINITE && (row->family == HD_FAMILY_MMA_SP || row->n == 64))
    ok &= forms_of_overflow(row, try_form, &(visit){s, r});
  return ok;
}

static void run_row(session *s, const hd_spec_row *row) {
  apart r = {0};
  bool ran = row->family <= HD_FAMILY_WGMMA_SP ? run_mma(s, row, &r)
                                               : simhw_move(&s->sides, row, &r);
  bool exact = ran && r.n_exact && !r.n_unequal, finite = isfinite(r.max_abs);
  printf("row %s exact=%s max_abs=%.3g max_rel=%.3g%s%s\n", row->name, exact ? "ok" : "FAIL",
         r.max_abs, r.max_rel, ran ? "" : " NOT-RUN", finite ? "" : " NOT-FINITE");
  fflush(stdout);
  s->n_rows++;
  s->n_failed += !exact || !finite;
  s->all.max_abs = fmax(s->all.max_abs, r.max_abs);
  s->all.max_rel = fmax(s->all.max_rel, r.max_rel);
}

static bool wanted(const session *s, const hd_spec_row *row) {
  if (!row_runs(row, s->sides.target))
    return false;
  for (unsigned i = 0; i < s->n_named; i++)
    if (!strcmp(s->row[i], row->name))
      return true;
  return s->n_named == 0;
}

static bool read_options(int argc, char **argv, session *s) {
  char end;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--dry"))
      s->dry = true;
    else if (!strcmp(argv[i], "--plant"))
      s->sides.plant = true;
    else if (!strcmp(argv[i], "--target") && i + 1 < argc)
      s->target = argv[++i];
    else if (!strcmp(argv[i], "--row") && i + 1 < argc && s->n_named < MAX_ROWS)
      s->row[s->n_named++] = argv[++i];
    else if (!strcmp(argv[i], "--shard") && i + 1 < argc &&
             sscanf(argv[i + 1], "%u/%u%c", &s->shard, &s->n_shards, &end) == 2 &&
             s->shard < s->n_shards)
      i++;
    else
      return false;
  }
  return s->dry || !s->target;
}

static bool find_target(session *s) {
  char name[16];
  int sm = s->dry ? 90 : gpu_capability(s->sides.g);
  if (s->target)
    return hd_target_parse(s->target, &s->sides.target) == HEDDLE_OK;
  snprintf(name, sizeof name, "sm_%da", sm);
  if (hd_target_parse(name, &s->sides.target) == HEDDLE_OK)
    return true;
  snprintf(name, sizeof name, "sm_%d", sm);
  return hd_target_parse(name, &s->sides.target) == HEDDLE_OK;
}

/* A named row that is not there must not pass for one that agrees. */
static void run_rows(session *s) {
  unsigned n_wanted = 0;
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (wanted(s, hd_spec_get(i)) && n_wanted++ % s->n_shards == s->shard)
      run_row(s, hd_spec_get(i));
  printf("total target=%s rows=%u exact_failed=%u largest_abs=%.3g largest_rel=%.3g shards=1/%u\n",
         s->sides.target->name, s->n_rows, s->n_failed, s->all.max_abs, s->all.max_rel,
         s->n_shards);
  if (n_wanted < s->n_named) {
    fprintf(stderr, "%u of %u named rows do not run on %s\n", s->n_named - n_wanted, s->n_named,
            s->sides.target->name);
    s->n_failed++;
  }
}

int main(int argc, char **argv) {
  session s = {.n_shards = 1};
  if (!read_options(argc, argv, &s)) {
    fprintf(stderr,
            "usage: heddle-simhw [--row NAME]... [--shard I/N] [--dry [--target T]] [--plant]\n");
    return 2;
  }
  if (!s.dry && !(s.sides.g = gpu_open()))
    return 4;
  if (!find_target(&s)) {
    fprintf(stderr, "no spec target for this device\n");
    gpu_close(s.sides.g);
    return 3;
  }
  run_rows(&s);
  gpu_close(s.sides.g);
  return s.n_failed ? 1 : 0;
}
