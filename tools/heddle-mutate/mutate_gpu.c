/* Launches mutants on the device in isolation: a worker process launches those of a kernel in
 * sequence. If a launch hangs, the worker reports it and exits, and a new worker continues with the
 * rest. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "mutate.h"

enum { MAX_WORKERS = 16, START_SECONDS = 60, EACH_SECONDS = 15, TOOL_LIMIT_SECONDS = 30 };

/* --- choosing ------------------------------------------------------------------------------- */

static size_t pick(uint64_t *seed, size_t from, size_t n) {
  return from + mutate_below(seed, (uint32_t)(n - from));
}

size_t *mutate_order(uint64_t seed, const mutate_records *records, size_t *n) {
  size_t *order = hd_xmalloc(sizeof *order * (records->n + 1));
  *n = 0;
  for (size_t i = 0; i < records->n; i++)
    if (records->kernel[i].visited)
      order[(*n)++] = i;
  for (size_t i = 0; i < *n; i++) {
    size_t *other = &order[pick(&seed, i, *n)], kept = order[i];
    order[i] = *other;
    *other = kept;
  }
  return order;
}

/* Moves `sample` random elements to the front (0: all elements count); returns their number. */
static size_t shuffle(uint64_t *seed, mutate_record **shot, size_t n, size_t sample) {
  for (size_t i = 0; i < sample && i < n; i++) {
    mutate_record **other = &shot[pick(seed, i, n)], *kept = shot[i];
    shot[i] = *other;
    *other = kept;
  }
  return sample && sample < n ? sample : n;
}

/* Operators whose mutants may wait forever. */
static bool starves(const char *op) {
  static const char *const words[] = {"bytes+",     "bytes-",     "count+",    "rank",
                                      "ptx-bytes+", "ptx-bytes-", "ptx-count+"};
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (!strcmp(op, words[i]))
      return true;
  return false;
}

/* The mutants of a form to launch; the first n_ending of them probably end. */
typedef struct target {
  mutate_kernel *kernel;
  mutate_record **shot; /* owned */
  size_t n, n_ending;
  bool refused; /* the form does not run on this device */
} target;

static void put_ending_first(target *t) {
  for (size_t i = 0; i < t->n; i++) {
    mutate_record *r = t->shot[i];
    if (starves(r->op))
      continue;
    t->shot[i] = t->shot[t->n_ending];
    t->shot[t->n_ending++] = r;
  }
}

/* Chooses an equal number for every operator, in random order, because time may run out; leaves out
 * those that were launched before. */
static target choose(const mutate_options *o, uint64_t seed, mutate_kernel *kernel) {
  target t = {.kernel = kernel, .shot = hd_xmalloc(sizeof *t.shot * (kernel->n + 1))};
  size_t chosen = 0;
  for (size_t i = 0; i < kernel->n;) {
    const char *op = kernel->mutant[i].op;
    size_t n = chosen;
    for (; i < kernel->n && kernel->mutant[i].op == op; i++)
      if (kernel->mutant[i].kind == MUTATE_LIVE)
        t.shot[n++] = &kernel->mutant[i];
    chosen += shuffle(&seed, t.shot + chosen, n - chosen, o->sample);
  }
  shuffle(&seed, t.shot, chosen, chosen);
  for (size_t i = 0; i < chosen; i++)
    if (t.shot[i]->gpu == MUTATE_GPU_NOT_ASKED)
      t.shot[t.n++] = t.shot[i];
  put_ending_first(&t);
  return t;
}

/* --- a worker ------------------------------------------------------------------------------- */

typedef struct command {
  const char *argv[20];
  int n;
  char found[8], limit[24];
  hd_strbuf list; /* owned */
} command;

static void push(command *c, const char *word) { c->argv[c->n++] = word; }

/* [SANITIZER --tool TOOL --error-exitcode N] heddle-mutate FILE --form NAME --launch OP:SITE,… */
static void build(command *c, const mutate_options *o, int tool, const mutate_kernel *kernel,
                  mutate_record *const *shot, size_t n) {
  for (size_t i = 0; i < n; i++)
    hd_strbuf_printf(&c->list, "%s%s:%d", i ? "," : "", shot[i]->op, shot[i]->site);
  snprintf(c->found, sizeof c->found, "%d", MUTATE_FOUND);
  snprintf(c->limit, sizeof c->limit, "%d", tool < 0 ? (int)o->limit_seconds : TOOL_LIMIT_SECONDS);
  if (tool >= 0) {
    push(c, o->sanitizer);
    push(c, "--tool");
    push(c, mutate_tool_name(tool));
    push(c, "--error-exitcode");
    push(c, c->found);
  }
  push(c, o->worker);
  push(c, kernel->path);
  if (o->schedule) {
    push(c, "--schedule");
    push(c, o->schedule);
  }
  push(c, "--form");
  push(c, kernel->name);
  push(c, "--limit");
  push(c, c->limit);
  push(c, "--launch");
  push(c, hd_strbuf_text(&c->list));
  push(c, NULL);
}

int mutate_run_worker(const mutate_options *o, int tool, const mutate_kernel *kernel,
                      mutate_record *const *shot, size_t n, double seconds, hd_strbuf *output) {
  heddle_context *ctx = heddle_context_create();
  command c = {0};
  int code = MUTATE_NOT_STARTED;
  double start = hd_clock_seconds();
  build(&c, o, tool, kernel, shot, n);
  if (hd_process_run(ctx, c.argv, seconds, output, &code) != HEDDLE_OK) {
    code = hd_clock_seconds() - start < seconds ? MUTATE_NOT_STARTED : MUTATE_LATE;
    hd_strbuf_add(output, hd_first_error_text(ctx, "it could not be run"));
  }
  hd_strbuf_free(&c.list);
  heddle_context_free(ctx);
  return code;
}

/* Reads lines "begin OP:SITE" and "end OP:SITE OUTCOME why"; returns the number of mutants that
 * were begun. If one has no end, the worker died with it. */
static size_t read_lines(mutate_record **shot, size_t n, const char *text) {
  size_t begun = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    if (begun < n && !strncmp(line, "begin ", 6))
      shot[begun++]->gpu = MUTATE_GPU_ERROR;
    if (!begun || strncmp(line, "end ", 4))
      continue;
    const char *word = strchr(line + 4, ' ');
    if (word)
      shot[begun - 1]->gpu = mutate_gpu_named(word + 1, strcspn(word + 1, " \n"));
  }
  return begun;
}

/* --- all ------------------------------------------------------------------------------------ */

/* A list for one worker; a new worker gets the rest if it dies. */
typedef struct task {
  target *target;
  size_t from, n;
} task;

typedef struct session {
  const mutate_options *options;
  mutate_records *records;
  target *target;
  task *task;
  size_t n_targets, n_tasks, task_cap, n_shots, n_done, n_hung;
  double start, end;
  pthread_mutex_t lock; /* for the records and for reports */
} session;

double mutate_end_after(double seconds) {
  return seconds > 0 ? hd_clock_seconds() + seconds : 1e300;
}

/* Records the results of a worker that ended; returns the number of mutants that it launched. 0:
 * the form itself does not run on this device, or the time ran out. */
static size_t settle(session *s, mutate_kernel *kernel, mutate_record **shot, size_t n, int code,
                     bool cut, const char *text) {
  pthread_mutex_lock(&s->lock);
  size_t begun = read_lines(shot, n, text);
  mutate_record *last = begun ? shot[begun - 1] : NULL;
  if (code == MUTATE_LATE && last && last->gpu == MUTATE_GPU_ERROR)
    last->gpu = cut ? MUTATE_GPU_NOT_ASKED : MUTATE_GPU_HANG; /* it did not return */
  if (begun)
    kernel->self.gpu = MUTATE_GPU_SAME;
  else if (!cut)
    fprintf(stderr, "%s: not launched: the worker ended with %d: %.300s\n", kernel->name, code,
            text);
  for (size_t i = 0; i < begun; i++)
    s->n_hung += shot[i]->gpu == MUTATE_GPU_HANG;
  mutate_records_save(s->options, s->records);
  pthread_mutex_unlock(&s->lock);
  return begun;
}

static size_t launch_some(session *s, mutate_kernel *kernel, mutate_record **shot, size_t n) {
  hd_strbuf output = {0};
  double left = s->end - hd_clock_seconds(), enough = START_SECONDS + (double)n * EACH_SECONDS;
  if (left <= 0)
    return 0;
  int code = mutate_run_worker(s->options, -1, kernel, shot, n, left < enough ? left : enough,
                               &output);
  bool cut = code == MUTATE_LATE && left < enough;
  size_t begun = settle(s, kernel, shot, n, code, cut, hd_strbuf_text(&output));
  hd_strbuf_free(&output);
  return begun;
}

static void report(session *s, size_t n_launched, size_t n_given_up) {
  pthread_mutex_lock(&s->lock);
  double seconds = hd_clock_seconds() - s->start;
  s->n_done += n_launched;
  s->n_shots -= n_given_up;
  fprintf(stderr, "%zu of %zu mutants launched, %zu hung, %.0f s", s->n_done, s->n_shots,
          s->n_hung, seconds);
  if (s->n_done)
    fprintf(stderr, "; %.0f s left",
            seconds * (double)(s->n_shots - s->n_done) / (double)s->n_done);
  fprintf(stderr, "\n");
  pthread_mutex_unlock(&s->lock);
}

static void launch_task(void *user, size_t i) {
  session *s = user;
  const task *t = &s->task[i];
  target *at = t->target;
  size_t done = 0, step = !at->refused;
  for (; done < t->n && step; done += step)
    step = launch_some(s, at->kernel, at->shot + t->from + done, t->n - done);
  bool over = hd_clock_seconds() >= s->end;
  at->refused |= done == 0 && !over;
  report(s, done, over ? 0 : t->n - done);
}

static void add_task(session *s, target *t, size_t from, size_t n) {
  task fresh = {t, from, n};
  if (n)
    HD_PUSH(s->task, s->n_tasks, s->task_cap, fresh);
}

/* First a list per form with the mutants that end; then one of each form that may hang, then a
 * second of each, and so on. Each of those costs a worker, and the time limit must not leave out
 * whole groups of forms. */
static void make_tasks(session *s) {
  size_t left = 1;
  for (size_t i = 0; i < s->n_targets; i++) {
    add_task(s, &s->target[i], 0, s->target[i].n_ending);
    s->n_shots += s->target[i].n;
  }
  for (size_t turn = 0; left; turn++) {
    left = 0;
    for (size_t i = 0; i < s->n_targets; i++) {
      size_t at = s->target[i].n_ending + turn;
      add_task(s, &s->target[i], at, at < s->target[i].n);
      left += at < s->target[i].n;
    }
  }
}

void mutate_launch(const mutate_options *o, mutate_records *records) {
  session s = {.options = o,
               .records = records,
               .start = hd_clock_seconds(),
               .end = mutate_end_after(o->gpu_seconds),
               .lock = PTHREAD_MUTEX_INITIALIZER};
  size_t *order = mutate_order(o->seed, records, &s.n_targets);
  s.target = hd_xmalloc(sizeof *s.target * (s.n_targets + 1));
  for (size_t i = 0; i < s.n_targets; i++)
    s.target[i] = choose(o, o->seed + order[i], &records->kernel[order[i]]);
  make_tasks(&s);
  mutate_pool(o->n_threads < MAX_WORKERS ? o->n_threads : MAX_WORKERS, s.n_tasks, launch_task, &s);
  for (size_t i = 0; i < s.n_targets; i++)
    hd_free(s.target[i].shot);
  hd_free(s.target);
  hd_free(s.task);
  hd_free(order);
}
