/* Runs mutants under the tools of compute-sanitizer, one process each. A tool must first accept the
 * form itself, otherwise its findings on mutants are meaningless: forms are run first, then mutants
 * of the accepted ones. */
#include <pthread.h>
#include <stdio.h>

#include "Support/file.h"
#include "Support/memory.h"
#include "mutate.h"

enum { MAX_WORKERS = 16, EACH_SECONDS = 30 };

typedef struct question {
  mutate_kernel *kernel;
  mutate_record *record; /* of a mutant, or of the form itself */
} question;

typedef struct session {
  const mutate_options *options;
  mutate_records *records;
  int tool;
  double end; /* deadline of the forms, then of their mutants */
  question *question; /* owned */
  size_t n, cap;
  pthread_mutex_t lock; /* for the records */
} session;

/* Runs one process. If the deadline stops it, the result is NOT_ASKED. */
static mutate_gpu ask(const session *s, const question *q) {
  bool itself = q->record->kind == MUTATE_KERNEL;
  double left = s->end - hd_clock_seconds(), seconds = left < EACH_SECONDS ? left : EACH_SECONDS;
  if (left <= 0)
    return MUTATE_GPU_NOT_ASKED;
  hd_strbuf output = {0};
  int code = mutate_run_worker(s->options, s->tool, q->kernel, &q->record, !itself, seconds,
                               &output);
  mutate_gpu outcome = code == MUTATE_FOUND  ? MUTATE_GPU_WRONG
                       : code == 0           ? MUTATE_GPU_SAME
                       : code != MUTATE_LATE ? MUTATE_GPU_ERROR
                       : left < EACH_SECONDS ? MUTATE_GPU_NOT_ASKED
                                             : MUTATE_GPU_HANG;
  if (itself && outcome > MUTATE_GPU_SAME)
    fprintf(stderr, "%s: under %s the kernel itself ends as: %s (%d) %.300s\n", q->kernel->name,
            mutate_tool_name(s->tool), mutate_gpu_name(outcome), code, hd_strbuf_text(&output));
  hd_strbuf_free(&output);
  return outcome;
}

static void ask_one(void *user, size_t i) {
  session *s = user;
  mutate_gpu outcome = ask(s, &s->question[i]);
  if (outcome == MUTATE_GPU_NOT_ASKED)
    return;
  pthread_mutex_lock(&s->lock);
  s->question[i].record->tool[s->tool] = outcome;
  mutate_records_save(s->options, s->records);
  pthread_mutex_unlock(&s->lock);
}

static void ask_all(session *s, double seconds) {
  int n_threads = s->options->n_threads;
  s->end = mutate_end_after(seconds);
  mutate_pool(n_threads < MAX_WORKERS ? n_threads : MAX_WORKERS, s->n, ask_one, s);
  s->n = 0;
}

/* --- choosing ------------------------------------------------------------------------------- */

/* Number of mutants of an operator that have been chosen for the tool. */
typedef struct tally {
  const char *op;
  size_t n;
} tally;

typedef struct tallies {
  tally *of; /* owned */
  size_t n, cap;
} tallies;

static size_t *given(tallies *t, const char *op) {
  for (size_t i = 0; i < t->n; i++)
    if (t->of[i].op == op)
      return &t->of[i].n;
  HD_PUSH(t->of, t->n, t->cap, ((tally){.op = op}));
  return &t->of[t->n - 1].n;
}

static bool is_chosen(const session *s, const mutate_record *record) {
  for (size_t i = 0; i < s->n; i++)
    if (s->question[i].record == record)
      return true;
  return false;
}

/* Leaves out mutants that hang, because they would hang longer under a tool. */
static bool is_candidate(const mutate_record *r) {
  return r->gpu == MUTATE_GPU_SAME || r->gpu == MUTATE_GPU_WRONG || r->gpu == MUTATE_GPU_ERROR;
}

/* Chooses a mutant for each operator that has `round` of them. */
static void choose_of(session *s, mutate_kernel *kernel, size_t round, tallies *t) {
  for (size_t i = 0; i < kernel->n && kernel->self.tool[s->tool] == MUTATE_GPU_SAME; i++) {
    mutate_record *r = &kernel->mutant[i];
    if (!is_candidate(r) || r->tool[s->tool] || *given(t, r->op) != round ||
        is_chosen(s, r))
      continue;
    ++*given(t, r->op);
    HD_PUSH(s->question, s->n, s->cap, ((question){kernel, r}));
  }
}

/* Rounds with one mutant per operator, so that running out of time affects all operators equally.
 * Each round starts at another form. Mutants of an earlier run count. */
static void choose(session *s, const size_t *order, size_t n) {
  tallies t = {0};
  size_t rounds = s->options->tool_sample;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < s->records->kernel[order[i]].n; j++) {
      const mutate_record *r = &s->records->kernel[order[i]].mutant[j];
      *given(&t, r->op) += r->tool[s->tool] != MUTATE_GPU_NOT_ASKED;
    }
  for (size_t round = 0; round < rounds; round++)
    for (size_t i = 0; i < n; i++)
      choose_of(s, &s->records->kernel[order[(i + round * n / rounds) % n]], round, &t);
  hd_free(t.of);
}

void mutate_ask_tool(const mutate_options *o, int tool, mutate_records *records) {
  session s = {.options = o, .records = records, .tool = tool, .lock = PTHREAD_MUTEX_INITIALIZER};
  double start = hd_clock_seconds();
  size_t n;
  size_t *order = mutate_order(o->seed, records, &n);
  for (size_t i = 0; i < n; i++) {
    mutate_kernel *kernel = &records->kernel[order[i]];
    if (kernel->self.gpu == MUTATE_GPU_SAME && !kernel->self.tool[tool])
      HD_PUSH(s.question, s.n, s.cap, ((question){kernel, &kernel->self}));
  }
  ask_all(&s, o->tool_seconds / 2);
  choose(&s, order, n);
  double elapsed = hd_clock_seconds() - start, left = o->tool_seconds - elapsed;
  fprintf(stderr, "%s: kernels asked in %.0f s, %zu mutants next\n", mutate_tool_name(tool),
          elapsed, s.n);
  ask_all(&s, o->tool_seconds > 0 && left < 1 ? 1 : left);
  hd_free(s.question);
  hd_free(order);
}
