/* Compares Check and Sim on random kernels and schedules, correct and mutated. They are independent
 * of each other, so where they differ, one of them is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "Support/file.h"
#include "Support/memory.h"
#include "mutate.h"

enum { MAX_DRAWS = 100, MAX_TRIES = 2000, MAX_PATHS = 16, SAY_SECONDS = 5 };

typedef enum agree_kind { AGREE_SOUND, AGREE_ROLE, AGREE_PTX, AGREE_N_KINDS } agree_kind;

/* The verdicts on a kernel or a mutant. */
typedef struct verdict {
  uint64_t seed;
  char schedule[HD_SCHEDULE_TEXT], form[96], what[320]; /* what: the operator and its site */
  agree_kind kind;
  bool equivalent, agree;
  mutate_verdict check;
  char check_why[400], sim_why[400];
  mutate_verdict sim;
  hd_check_launch launch; /* that the checker names */
  double start;           /* hd_clock_seconds() */
} verdict;

/* How many kernels came by a way of B. */
typedef struct path_count {
  char path[24];
  int n;
} path_count;

typedef struct agreement {
  const mutate_agree_options *options;
  bool *done; /* of each kernel: nothing more will be said of it; owned */
  pthread_mutex_t lock; /* for what follows, and standard output and error */
  size_t n_done, n_first; /* n_first: all before it are done */
  int n_of[AGREE_N_KINDS], n_equivalent, n_refused, n_differ;
  path_count paths[MAX_PATHS];
  double start, said; /* hd_clock_seconds() */
} agreement;

/* --- breaking it ---------------------------------------------------------------------------- */

static const char *draw_operator(uint64_t *seed, agree_kind kind) {
  size_t n;
  if (kind == AGREE_ROLE) {
    const mutate_operator *ops = mutate_role_operators(&n);
    return ops[mutate_below(seed, (uint32_t)n)].name;
  }
  const mutate_line_operator *ops = mutate_line_operators(&n);
  return ops[mutate_below(seed, (uint32_t)n)].name;
}

static bool is_among(const mutate_mutant *m, const mutate_mutant *before, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (before[i].op == m->op && before[i].site == m->site)
      return true;
  return false;
}

/* Makes mutant number i of a form, different from the ones before it. Sites of all operators are
 * equally likely; with many mutants, operators with a site are equally likely. */
static bool break_form(uint64_t *seed, const mutate_form *form, agree_kind kind, bool many,
                       mutate_mutant *mutants, size_t i) {
  mutate_mutant *m = &mutants[i];
  int32_t sites =
      kind == AGREE_ROLE ? mutate_count_ops(form->module) : mutate_count_lines(form->ptx);
  for (int32_t t = 0; t < MAX_TRIES * (many ? MAX_DRAWS : 1); t++) {
    if (!many || t % MAX_TRIES == 0)
      *m = (mutate_mutant){.op = draw_operator(seed, kind)};
    m->site = (int32_t)mutate_below(seed, (uint32_t)sites);
    if (!is_among(m, mutants, i) && mutate_make(form, m))
      return true;
  }
  return false;
}

/* --- verifying it----------------------------------------------------------------------------- */

static bool is_blind(const mutate_agree_options *o, const char *detector) {
  return o->blind && !strcmp(o->blind, detector);
}

static void ask_check(const mutate_agree_options *o, const hd_module *module, verdict *v) {
  hd_strbuf why = {0};
  v->check = is_blind(o, "check") ? MUTATE_MISSED : mutate_check(module, &why, &v->launch);
  snprintf(v->check_why, sizeof v->check_why, "%s", hd_strbuf_text(&why));
  hd_strbuf_free(&why);
}

static void ask_sim(const mutate_agree_options *o, const mutate_form *form, const char *ptx,
                    mutate_runs *sound, verdict *v) {
  mutate_runs runs = {.verdict = MUTATE_CAUGHT}; /* no PTX: refused before it could run */
  if (ptx)
    mutate_simulate(form, ptx, MUTATE_PATIENCE * sound->n_instructions, &runs);
  bool same = ptx && !strcmp(ptx, form->ptx);
  if (v->check == MUTATE_CAUGHT && runs.verdict == MUTATE_MISSED && !same)
    mutate_simulate_launch(form, ptx, &v->launch, sound, &runs);
  v->equivalent = same || mutate_same_order(form, ptx, sound, &runs);
  v->sim = is_blind(o, "sim") ? MUTATE_MISSED : runs.verdict;
  snprintf(v->sim_why, sizeof v->sim_why, "%s", runs.why);
}

/* --- the report ----------------------------------------------------------------------------- */

/* Formats " --mutants N", or nothing. */
static const char *mutants_word(const mutate_agree_options *o, char out[32]) {
  snprintf(out, 32, o->n_mutants ? " --mutants %zu" : "", o->n_mutants);
  return out;
}

static void print_verdict(const agreement *a, const verdict *v) {
  static const char *const words[] = {"sound", "broken", "undecided"};
  if (v->agree && !a->options->verbose)
    return;
  printf("%s %s: %s%s\n  %s\n", v->agree ? "agree" : "DISAGREE", v->form,
         v->kind == AGREE_SOUND ? "the kernel itself" : v->what,
         v->equivalent ? " (equivalent)" : "", v->schedule);
  printf("  check: %s %s\n", v->kind == AGREE_PTX ? "-" : words[v->check],
         v->check == MUTATE_MISSED ? "" : v->check_why);
  printf("  sim: %s %s\n  %.1f s: heddle-mutate --agree 1 --seed %llu%s\n", words[v->sim],
         v->sim_why, hd_clock_seconds() - v->start, (unsigned long long)v->seed,
         mutants_word(a->options, (char[32]){0}));
  fflush(stdout);
}

static void say(agreement *a, const verdict *v) {
  pthread_mutex_lock(&a->lock);
  print_verdict(a, v);
  a->n_of[v->kind]++;
  a->n_equivalent += v->equivalent;
  a->n_differ += !v->agree;
  pthread_mutex_unlock(&a->lock);
}

/* Prints the progress from time to time, with the options that continue a killed run. */
static void say_progress(agreement *a) {
  double now = hd_clock_seconds(), elapsed = now - a->start;
  size_t n = a->options->n;
  if (now - a->said < SAY_SECONDS || a->n_done == n)
    return;
  a->said = now;
  fprintf(stderr,
          "%zu of %zu kernels verified, %d differ, %.0f s; %.0f s left; "
          "--agree %zu --seed %llu%s goes on from here\n",
          a->n_done, n, a->n_differ, elapsed, elapsed / (double)a->n_done * (double)(n - a->n_done),
          n - a->n_first, (unsigned long long)(a->options->seed + a->n_first),
          mutants_word(a->options, (char[32]){0}));
}

static void count_path(agreement *a, const char *path) {
  int at = 0;
  while (at < MAX_PATHS && a->paths[at].n && strcmp(a->paths[at].path, path))
    at++;
  if (at == MAX_PATHS)
    return;
  snprintf(a->paths[at].path, sizeof a->paths[at].path, "%s", path);
  a->paths[at].n++;
}

/* Prints "tma=310 gather8=…". */
static void print_paths(const agreement *a) {
  printf("paths:");
  for (int i = 0; i < MAX_PATHS && a->paths[i].n; i++)
    printf(" %s=%d", a->paths[i].path, a->paths[i].n);
  printf("\n");
}

/* Counts a verified kernel. n_refused: refused draws before it. */
static void finish_kernel(agreement *a, size_t i, int n_refused, const char *form) {
  const char *slash = strrchr(form, '/');
  pthread_mutex_lock(&a->lock);
  a->done[i] = true;
  a->n_done++;
  a->n_refused += n_refused;
  if (slash)
    count_path(a, slash + 1);
  while (a->n_first < a->options->n && a->done[a->n_first])
    a->n_first++;
  say_progress(a);
  pthread_mutex_unlock(&a->lock);
}

/* --- one kernel ----------------------------------------------------------------------------- */

/* Both detectors must accept the original kernel, with correct results. */
static void verify_sound(const mutate_agree_options *o, const mutate_form *form, mutate_runs *sound,
                         verdict *v) {
  ask_check(o, form->module, v);
  mutate_simulate(form, form->ptx, 0, sound);
  v->sim = sound->verdict;
  snprintf(v->sim_why, sizeof v->sim_why, "%s", sound->why);
  v->agree = v->check == MUTATE_MISSED && v->sim == MUTATE_MISSED;
}

/* Check and Sim must agree on a mutant. A mutant may be harmless if the ring is not filled twice.
 * Check does not see changes to PTX, so Sim must find them, unless the order of all accesses is
 * unchanged. */
static void verify_broken(const mutate_agree_options *o, const mutate_form *form,
                          const mutate_mutant *m, mutate_runs sound, verdict *v) {
  v->kind = m->module ? AGREE_ROLE : AGREE_PTX;
  v->start = hd_clock_seconds();
  snprintf(v->what, sizeof v->what, "%s:%d at %s", m->op, m->site, m->where);
  if (m->module)
    ask_check(o, m->module, v);
  ask_sim(o, form, m->ptx, &sound, v);
  v->agree = v->sim != MUTATE_UNDECIDED &&
             (m->module ? v->check == v->sim : v->sim == MUTATE_CAUGHT || v->equivalent);
}

static agree_kind draw_broken(uint64_t *seed) {
  return mutate_below(seed, 6) ? AGREE_ROLE : AGREE_PTX;
}

/* A kernel that is being drawn. */
typedef struct visitor {
  agreement *a;
  uint64_t *seed;
  verdict v; /* of the original kernel */
  bool verified, differs;
} visitor;

static void verify_mutants(visitor *at, const mutate_form *form, const mutate_runs *sound) {
  size_t n = at->a->options->n_mutants;
  mutate_mutant *mutants = hd_xzalloc(n * sizeof *mutants);
  for (size_t i = 0; i < n; i++) {
    verdict v = at->v;
    if (!break_form(at->seed, form, draw_broken(at->seed), true, mutants, i))
      break;
    verify_broken(at->a->options, form, &mutants[i], *sound, &v);
    mutate_unmake(&mutants[i]);
    at->differs |= !v.agree;
    say(at->a, &v);
  }
  hd_free(mutants);
}

/* For six kernels in ten, verifies a mutant instead of the kernel. */
static void verify_one(visitor *at, const mutate_form *form, agree_kind kind,
                       const mutate_runs *sound) {
  mutate_mutant m = {0};
  if (kind != AGREE_SOUND && at->v.agree && break_form(at->seed, form, kind, false, &m, 0))
    verify_broken(at->a->options, form, &m, *sound, &at->v);
  mutate_unmake(&m);
}

static heddle_status visit(void *user, mutate_form *form) {
  visitor *at = user;
  const mutate_agree_options *o = at->a->options;
  agree_kind kind = o->n_mutants || mutate_below(at->seed, 10) < 4 ? AGREE_SOUND
                                                                   : draw_broken(at->seed);
  mutate_runs sound;
  at->verified = true;
  snprintf(at->v.form, sizeof at->v.form, "%s", form->name);
  verify_sound(o, form, &sound, &at->v);
  verify_one(at, form, kind, &sound);
  say(at->a, &at->v);
  at->differs = !at->v.agree;
  if (at->v.agree && o->n_mutants)
    verify_mutants(at, form, &sound);
  return HEDDLE_OK;
}

/* Draws until the compiler accepts a kernel. */
static void draw_one(void *user, size_t i) {
  agreement *a = user;
  uint64_t seed = a->options->seed + i;
  visitor at = {.a = a, .seed = &seed, .v = {.seed = seed, .start = hd_clock_seconds()}};
  int n_refused = 0;
  for (; n_refused < MAX_DRAWS && !at.verified; n_refused += !at.verified) {
    heddle_context *ctx = heddle_context_create();
    mutate_problem problem;
    mutate_draw(&seed, &problem);
    snprintf(at.v.schedule, sizeof at.v.schedule, "%s", problem.schedule);
    heddle_status status = mutate_drawn_kernel(ctx, &problem, visit, &at);
    if (!at.verified && a->options->verbose)
      fprintf(stderr, "seed %llu: refused: %s: %s\n", (unsigned long long)at.v.seed,
              problem.schedule, hd_first_error_text(ctx, heddle_status_text(status)));
    if (a->options->verbose && at.differs)
      fprintf(stderr, "%s", hd_strbuf_text(&problem.text));
    hd_strbuf_free(&problem.text);
    heddle_context_free(ctx);
  }
  if (!at.verified)
    say(a, &at.v);
  finish_kernel(a, i, n_refused, at.v.form);
}

int mutate_agree(const mutate_agree_options *options) {
  agreement a = {.options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
  a.done = hd_xzalloc(sizeof *a.done * options->n);
  a.start = hd_clock_seconds();
  a.said = a.start - SAY_SECONDS;
  mutate_pool(options->n_threads, options->n, draw_one, &a);
  print_paths(&a);
  printf("kernels=%zu sound=%d broken=%d ptx=%d equivalent=%d refused_draws=%d disagree=%d\n",
         options->n, a.n_of[AGREE_SOUND], a.n_of[AGREE_ROLE], a.n_of[AGREE_PTX], a.n_equivalent,
         a.n_refused, a.n_differ);
  hd_free(a.done);
  return a.n_differ ? 1 : 0;
}
