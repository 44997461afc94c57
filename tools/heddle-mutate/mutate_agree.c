/* The two judges against each other: kernels and schedules drawn at random, sound and broken. Each
 * judge knows nothing of the other, so that where they differ, one of them is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "mutate.h"

enum { MAX_DRAWS = 100, MAX_TRIES = 2000, MAX_PATHS = 16, SAY_SECONDS = 5 };

typedef enum agree_kind { AGREE_SOUND, AGREE_ROLE, AGREE_PTX } agree_kind;

/* One kernel, and what was said of it. */
typedef struct verdict {
  uint64_t seed;
  char schedule[HD_SCHEDULE_TEXT], form[96], what[160]; /* what: the operator and its site */
  agree_kind kind;
  int n_refused;
  bool judged, equivalent, agree, done; /* done: nothing more will be said of it */
  mutate_verdict check;
  char check_why[400], sim_why[400];
  mutate_verdict sim;
  hd_check_launch launch; /* that the checker names */
  double seconds;         /* that it took */
} verdict;

typedef struct agreement {
  const mutate_agree_options *options;
  verdict *verdicts;
  pthread_mutex_t lock; /* for what follows, and standard output and error */
  size_t n_done, n_first; /* n_first: all before it are done */
  int n_differ;
  double start, said; /* hd_clock_seconds() */
} agreement;

/* --- breaking it ---------------------------------------------------------------------------- */

typedef struct broken {
  hd_module *module; /* owned; NULL: broken in the PTX */
  char *ptx;         /* owned; NULL: emission refused it */
} broken;

static void free_broken(broken *b) {
  hd_module_free(b->module);
  free(b->ptx);
}

static bool break_role(uint64_t *seed, const mutate_form *form, verdict *v, broken *b) {
  size_t n;
  const mutate_operator *ops = mutate_role_operators(&n),
                        *op = &ops[mutate_below(seed, (uint32_t)n)];
  int32_t i = (int32_t)mutate_below(seed, (uint32_t)mutate_count_ops(form->module));
  b->module = mutate_role(form->module, op, i);
  if (!b->module)
    return false;
  hd_strbuf site = {0};
  mutate_describe(form->module, i, &site);
  snprintf(v->what, sizeof v->what, "%s at %s", op->name, hd_strbuf_text(&site));
  hd_strbuf_free(&site);
  heddle_context *ctx = heddle_context_create();
  if (mutate_emit(ctx, form, b->module, &b->ptx) != HEDDLE_OK)
    b->ptx = NULL;
  heddle_context_free(ctx);
  return true;
}

static bool break_line(uint64_t *seed, const mutate_form *form, verdict *v, broken *b) {
  size_t n;
  const mutate_line_operator *ops = mutate_line_operators(&n),
                             *op = &ops[mutate_below(seed, (uint32_t)n)];
  int32_t i = (int32_t)mutate_below(seed, (uint32_t)mutate_count_lines(form->ptx));
  b->ptx = mutate_line(form->ptx, op, i);
  snprintf(v->what, sizeof v->what, "%s at PTX line %d", op->name, i + 1);
  return b->ptx != NULL;
}

static bool break_form(uint64_t *seed, const mutate_form *form, verdict *v, broken *b) {
  bool done = false;
  for (int32_t i = 0; i < MAX_TRIES && !done; i++)
    done = v->kind == AGREE_ROLE ? break_role(seed, form, v, b) : break_line(seed, form, v, b);
  return done;
}

/* --- judging it ----------------------------------------------------------------------------- */

static bool is_blind(const mutate_agree_options *o, const char *judge) {
  return o->blind && !strcmp(o->blind, judge);
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

/* The sound kernel computes right numbers and satisfies both, always. Of a broken one both say the
 * same: where the ring is not filled twice a slip may do no harm. Of a line of PTX the checker has
 * no word: the simulator finds it, unless the order of all accesses is unchanged. */
static void judge(const mutate_agree_options *o, uint64_t *seed, const mutate_form *form,
                  verdict *v) {
  mutate_runs sound;
  broken b = {0};
  v->kind = mutate_below(seed, 10) < 4 ? AGREE_SOUND
            : mutate_below(seed, 6)    ? AGREE_ROLE
                                       : AGREE_PTX;
  snprintf(v->form, sizeof v->form, "%s", form->name);
  ask_check(o, form->module, v);
  mutate_simulate(form, form->ptx, 0, &sound);
  v->judged = true;
  v->sim = sound.verdict;
  snprintf(v->sim_why, sizeof v->sim_why, "%s", sound.why);
  v->agree = v->check == MUTATE_MISSED && v->sim == MUTATE_MISSED;
  if (!v->agree || v->kind == AGREE_SOUND || !break_form(seed, form, v, &b)) {
    v->kind = AGREE_SOUND;
    return;
  }
  if (b.module)
    ask_check(o, b.module, v);
  ask_sim(o, form, b.ptx, &sound, v);
  v->agree = v->sim != MUTATE_UNDECIDED &&
             (b.module ? v->check == v->sim : v->sim == MUTATE_CAUGHT || v->equivalent);
  free_broken(&b);
}

typedef struct visitor {
  const mutate_agree_options *options;
  uint64_t *seed;
  verdict *v;
} visitor;

static heddle_status visit(void *user, mutate_form *form) {
  visitor *at = user;
  judge(at->options, at->seed, form, at->v);
  return HEDDLE_OK;
}

/* Draws until the compiler takes it. */
static void draw_one(agreement *a, verdict *v) {
  uint64_t seed = v->seed;
  double start = hd_clock_seconds();
  for (v->n_refused = 0; v->n_refused < MAX_DRAWS && !v->judged; v->n_refused += !v->judged) {
    heddle_context *ctx = heddle_context_create();
    mutate_problem problem;
    mutate_draw(&seed, &problem);
    snprintf(v->schedule, sizeof v->schedule, "%s", problem.schedule);
    visitor at = {a->options, &seed, v};
    heddle_status status = mutate_drawn_kernel(ctx, &problem, visit, &at);
    if (!v->judged && a->options->verbose)
      fprintf(stderr, "seed %llu: refused: %s: %s\n", (unsigned long long)v->seed, problem.schedule,
              hd_first_error_text(ctx, heddle_status_text(status)));
    if (a->options->verbose && v->judged && !v->agree)
      fprintf(stderr, "%s", hd_strbuf_text(&problem.text));
    hd_strbuf_free(&problem.text);
    heddle_context_free(ctx);
  }
  v->seconds = hd_clock_seconds() - start;
}

/* --- the report ----------------------------------------------------------------------------- */

static void print_verdict(const agreement *a, const verdict *v) {
  static const char *const words[] = {"sound", "broken", "undecided"};
  if (v->judged && v->agree && !a->options->verbose)
    return;
  printf("%s %s: %s%s\n  %s\n", v->agree ? "agree" : "DISAGREE", v->form,
         v->kind == AGREE_SOUND ? "the kernel itself" : v->what,
         v->equivalent ? " (equivalent)" : "", v->schedule);
  printf("  check: %s %s\n", v->kind == AGREE_PTX ? "-" : words[v->check],
         v->check == MUTATE_MISSED ? "" : v->check_why);
  printf("  sim: %s %s\n  %.1f s: heddle-mutate --agree 1 --seed %llu\n", words[v->sim], v->sim_why,
         v->seconds, (unsigned long long)v->seed);
  fflush(stdout);
}

/* How far it is, now and then, and how a killed run would go on. */
static void say_progress(agreement *a) {
  double now = hd_clock_seconds(), spent = now - a->start;
  size_t n = a->options->n;
  if (now - a->said < SAY_SECONDS || a->n_done == n)
    return;
  a->said = now;
  fprintf(stderr, "%zu of %zu kernels judged, %d differ, %.0f s; %.0f s left; "
          "--agree %zu --seed %llu goes on from here\n", a->n_done, n, a->n_differ, spent,
          spent / (double)a->n_done * (double)(n - a->n_done), n - a->n_first,
          (unsigned long long)(a->options->seed + a->n_first));
}

static void judge_one(void *user, size_t i) {
  agreement *a = user;
  verdict *v = &a->verdicts[i];
  v->seed = a->options->seed + i;
  draw_one(a, v);
  pthread_mutex_lock(&a->lock);
  print_verdict(a, v);
  v->done = true;
  a->n_done++;
  a->n_differ += !v->judged || !v->agree;
  while (a->n_first < a->options->n && a->verdicts[a->n_first].done)
    a->n_first++;
  say_progress(a);
  pthread_mutex_unlock(&a->lock);
}

typedef struct path_count {
  const char *path;
  int n;
} path_count;

/* How many of which way of B: "tma=310 gather8=…". */
static void print_paths(const agreement *a) {
  path_count paths[MAX_PATHS] = {{0}};
  int n = 0;
  for (size_t i = 0; i < a->options->n; i++) {
    const char *slash = strrchr(a->verdicts[i].form, '/');
    int at = 0;
    while (slash && at < n && strcmp(paths[at].path, slash + 1))
      at++;
    if (!slash || at == MAX_PATHS)
      continue;
    paths[at].path = slash + 1;
    paths[at].n++;
    n = at == n ? n + 1 : n;
  }
  for (int i = 0; i < n; i++)
    printf("%s%s=%d", i ? " " : "paths: ", paths[i].path, paths[i].n);
  printf("\n");
}

int mutate_agree(const mutate_agree_options *options) {
  agreement a = {.options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
  a.verdicts = hd_xzalloc(sizeof(verdict) * options->n);
  a.start = hd_clock_seconds();
  a.said = a.start - SAY_SECONDS;
  mutate_pool(options->n_threads, options->n, judge_one, &a);
  int count[3] = {0}, equivalent = 0, refused = 0;
  for (size_t i = 0; i < options->n; i++) {
    const verdict *v = &a.verdicts[i];
    count[v->kind] += v->judged;
    equivalent += v->equivalent;
    refused += v->n_refused;
  }
  print_paths(&a);
  printf("kernels=%zu sound=%d broken=%d ptx=%d equivalent=%d refused_draws=%d disagree=%d\n",
         options->n, count[AGREE_SOUND], count[AGREE_ROLE], count[AGREE_PTX], equivalent, refused,
         a.n_differ);
  free(a.verdicts);
  return a.n_differ ? 1 : 0;
}
