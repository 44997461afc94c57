/* heddle-simhw: runs every matrix row of specs/ that the device supports, with the same PTX on both
 * the device and the simulator. D of small integers must agree bit for bit. For random normal
 * values the largest difference is printed (an infinite one fails). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "forms.h"
#include "shard.h"
#include "simhw_form.h"

typedef struct session {
  sides sides;
  cli_texts named;
  const char *target; /* of --dry */
  unsigned shard, n_shards;
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

/* The form that kernels use, with every selector; for one N of wgmma all forms. */
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
  for (int i = 0; i < s->named.n; i++)
    if (!strcmp(s->named.text[i], row->name))
      return true;
  return s->named.n == 0;
}

static const char about[] =
    "Runs every matrix row of specs/ that the device has, the same PTX on the device and in the\n"
    "simulator: small integers must agree bit for bit; of normal values the largest difference is\n"
    "printed. One line a row, a total at the end; exit code 1 when a row disagrees or did not run.";
static const char examples[] = "heddle-simhw --row wgmma_sp_ss_m64n64k32_f32_bf16_bf16\n"
                               "heddle-simhw --dry --target sm_120a\n"
                               "test/gpu/simhw/run_simhw build/bin/heddle-simhw 8\n";

/* CLI_GO, or the exit code. */
static int read_options(int argc, char **argv, session *s) {
  const char *shard = NULL;
  const cli_option list[] = {
      {"row", CLI_MORE, &s->named, "NAME", "this one only; may be repeated"},
      {"shard", CLI_TEXT, &shard, "I/N", "every N-th row, from the I-th (0) on"},
      {"dry", CLI_FLAG, &s->dry, NULL, "no device: a product in double precision instead"},
      {"target", CLI_TEXT, &s->target, "T", "of --dry (sm_90a)"},
      {"inject", CLI_FLAG, &s->sides.inject, NULL, "invert a bit of A in the simulator: must fail"},
      {0}};
  const cli_command command = {"heddle-simhw [OPTIONS]", about, examples, list, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code == CLI_GO && s->target && !s->dry)
    code = cli_usage_error("simhw.target", "--target goes with --dry");
  return code == CLI_GO ? bare_shard_read(shard, &s->shard, &s->n_shards) : code;
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

/* An unknown row must not count as agreeing. */
static void run_rows(session *s) {
  unsigned n_wanted = 0;
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (wanted(s, hd_spec_get(i)) && n_wanted++ % s->n_shards == s->shard)
      run_row(s, hd_spec_get(i));
  printf("total target=%s rows=%u exact_failed=%u largest_abs=%.3g largest_rel=%.3g shards=1/%u\n",
         s->sides.target->name, s->n_rows, s->n_failed, s->all.max_abs, s->all.max_rel,
         s->n_shards);
  unsigned n_named = (unsigned)s->named.n;
  if (n_wanted < n_named) {
    fprintf(stderr, "%u of %u named rows do not run on %s\n", n_named - n_wanted, n_named,
            s->sides.target->name);
    s->n_failed++;
  }
}

int main(int argc, char **argv) {
  session s = {.dry = false};
  int code = read_options(argc, argv, &s);
  if (code != CLI_GO)
    return code;
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
