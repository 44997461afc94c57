/* Mutants on the device, each where it can harm nobody: a worker process launches those of a kernel
 * one after the other; what it cannot end it reports and dies with, and a fresh worker takes the
 * rest. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "mutate.h"

enum { MAX_WORKERS = 8, START_SECONDS = 60, EACH_SECONDS = 15, SANITIZE_SECONDS = 60 };

static const char *const outcomes[MUTATE_N_GPU] = {"not-asked", "same",  "wrong",
                                                   "hang",      "error", "refused"};
static const char *const tools[MUTATE_N_TOOLS] = {"racecheck", "synccheck", "memcheck"};

const char *mutate_gpu_name(mutate_gpu outcome) { return outcomes[outcome]; }
const char *mutate_tool_name(int tool) { return tools[tool]; }

static mutate_gpu outcome_of(const char *word, size_t len) {
  for (int i = 0; i < MUTATE_N_GPU; i++)
    if (strlen(outcomes[i]) == len && !memcmp(outcomes[i], word, len))
      return (mutate_gpu)i;
  return MUTATE_GPU_NOT_ASKED;
}

/* --- choosing ------------------------------------------------------------------------------- */

static uint32_t pick(uint64_t *seed, size_t from, size_t n) {
  return (uint32_t)from + mutate_below(seed, (uint32_t)(n - from));
}

/* `sample` of them, drawn at random, to the front (0: all are); how many there are. */
static size_t shuffle(uint64_t *seed, mutate_shot *shot, size_t n, size_t sample) {
  for (size_t i = 0; i < sample && i < n; i++) {
    mutate_shot *other = &shot[pick(seed, i, n)], kept = shot[i];
    shot[i] = *other;
    *other = kept;
  }
  return sample && sample < n ? sample : n;
}

void mutate_device_add(const mutate_options *o, const mutate_form *form, const mutate_list *list,
                       mutate_device *device) {
  mutate_batch batch = {.shot = hd_xmalloc(sizeof *batch.shot * (list->n + 1))};
  uint64_t seed = o->seed + device->n;
  snprintf(batch.form, sizeof batch.form, "%s", form->name);
  snprintf(batch.path, sizeof batch.path, "%s", form->path);
  for (size_t i = 0; i < list->n;) {
    const char *op = list->mutant[i].op;
    size_t first = batch.n, n = first;
    for (; i < list->n && list->mutant[i].op == op; i++)
      if (list->mutant[i].ptx && !list->mutant[i].equivalent)
        batch.shot[n++] = (mutate_shot){.op = op, .site = list->mutant[i].site};
    batch.n = first + shuffle(&seed, batch.shot + first, n - first, o->sample);
  }
  shuffle(&seed, batch.shot, batch.n, batch.n); /* time may end before they do */
  HD_PUSH(device->batch, device->n, device->cap, batch);
}

void mutate_device_free(mutate_device *device) {
  for (size_t i = 0; i < device->n; i++)
    free(device->batch[i].shot);
  free(device->batch);
  *device = (mutate_device){0};
}

/* --- a worker ------------------------------------------------------------------------------- */

typedef struct session {
  const mutate_options *options;
  mutate_device *device;
  double start, end; /* no worker starts after it */
  pthread_mutex_t turn; /* to report */
  size_t n_done, n_hung;
} session;

/* heddle-mutate FILE --form NAME --launch OP:SITE,OP:SITE… */
typedef struct command {
  const char *argv[20];
  int n;
  hd_strbuf list;
} command;

static void push(command *c, const char *word) { c->argv[c->n++] = word; }

static void build(command *c, const mutate_options *o, const mutate_batch *batch,
                  const mutate_shot *shot, size_t n, const char *limit) {
  for (size_t i = 0; i < n; i++)
    hd_strbuf_printf(&c->list, "%s%s:%d", i ? "," : "", shot[i].op, shot[i].site);
  push(c, o->worker);
  push(c, batch->path);
  if (o->schedule) {
    push(c, "--schedule");
    push(c, o->schedule);
  }
  push(c, "--form");
  push(c, batch->form);
  push(c, "--limit");
  push(c, limit);
  push(c, "--launch");
  push(c, hd_strbuf_text(&c->list));
  push(c, NULL);
}

/* The worker's lines are "begin OP:SITE" and "end OP:SITE OUTCOME why": how many mutants were
 * begun. One that was begun and never ended took the worker with it. */
static size_t read_lines(mutate_shot *shot, size_t n, const char *text) {
  size_t begun = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    if (begun < n && !strncmp(line, "begin ", 6))
      shot[begun++].gpu = MUTATE_GPU_ERROR;
    if (!begun || strncmp(line, "end ", 4))
      continue;
    const char *word = strchr(line + 4, ' ');
    if (word)
      shot[begun - 1].gpu = outcome_of(word + 1, strcspn(word + 1, " \n"));
  }
  return begun;
}

/* Launches mutants from `from` on; how many are dealt with. 0: the kernel itself does not run
 * here. */
static size_t run_worker(const mutate_options *o, const mutate_batch *batch, size_t from) {
  heddle_context *ctx = heddle_context_create();
  command c = {0};
  hd_strbuf output = {0};
  int code = 0;
  size_t n = batch->n - from;
  char limit[24];
  snprintf(limit, sizeof limit, "%d", (int)o->limit_seconds);
  build(&c, o, batch, batch->shot + from, n, limit);
  double seconds = START_SECONDS + (double)n * EACH_SECONDS;
  bool late = hd_process_run(ctx, c.argv, seconds, &output, &code) != HEDDLE_OK;
  size_t begun = read_lines(batch->shot + from, n, hd_strbuf_text(&output));
  if (late && begun) /* killed: what ran last did not come back */
    batch->shot[from + begun - 1].gpu = MUTATE_GPU_HANG;
  if (!begun)
    fprintf(stderr, "%s: not launched: the worker ended with %d: %.300s\n", batch->form, code,
            hd_strbuf_text(&output));
  hd_strbuf_free(&output);
  hd_strbuf_free(&c.list);
  heddle_context_free(ctx);
  return begun;
}

static void report(session *s, const mutate_batch *batch) {
  pthread_mutex_lock(&s->turn);
  for (size_t i = 0; i < batch->n; i++)
    s->n_hung += batch->shot[i].gpu == MUTATE_GPU_HANG;
  size_t n = s->device->n, left = n - ++s->n_done;
  double seconds = hd_clock_seconds() - s->start;
  fprintf(stderr, "%zu of %zu kernels launched, %zu mutants hung, %.0f s; %.0f s left\n", s->n_done,
          n, s->n_hung, seconds, seconds * (double)left / (double)s->n_done);
  pthread_mutex_unlock(&s->turn);
}

static void run_batch(void *user, size_t i) {
  session *s = user;
  mutate_batch *batch = &s->device->batch[i];
  size_t done = 0, step = 1;
  while (done < batch->n && step && hd_clock_seconds() < s->end) {
    step = run_worker(s->options, batch, done);
    done += step;
  }
  batch->launched = done > 0;
  report(s, batch);
}

/* --- the sanitizer -------------------------------------------------------------------------- */

enum { FOUND = 86 }; /* the exit code that it is told to end with */

/* shot NULL: the kernel itself. */
static mutate_gpu sanitize(const mutate_options *o, const mutate_batch *batch,
                           const mutate_shot *shot, const char *tool) {
  heddle_context *ctx = heddle_context_create();
  command c = {0};
  int code = 0;
  push(&c, o->sanitizer);
  push(&c, "--tool");
  push(&c, tool);
  push(&c, "--error-exitcode");
  push(&c, "86"); /* FOUND */
  build(&c, o, batch, shot, shot != NULL, "30");
  heddle_status status = hd_process_run(ctx, c.argv, SANITIZE_SECONDS, NULL, &code);
  hd_strbuf_free(&c.list);
  heddle_context_free(ctx);
  return status != HEDDLE_OK ? MUTATE_GPU_HANG
         : code == FOUND     ? MUTATE_GPU_WRONG
         : code              ? MUTATE_GPU_ERROR
                             : MUTATE_GPU_SAME;
}

/* A tool that cannot run the kernel itself in peace has nothing to say of its mutants. Under a tool
 * a mutant that hangs would only hang for longer. */
static void sanitize_batch(void *user, size_t i) {
  session *s = user;
  mutate_batch *batch = &s->device->batch[i];
  for (int t = 0; t < MUTATE_N_TOOLS && batch->launched && hd_clock_seconds() < s->end; t++) {
    batch->sound[t] = sanitize(s->options, batch, NULL, tools[t]);
    if (batch->sound[t] != MUTATE_GPU_SAME)
      fprintf(stderr, "%s: under %s the kernel itself ends as: %s\n", batch->form, tools[t],
              mutate_gpu_name(batch->sound[t]));
  }
  for (size_t j = 0; j < batch->n; j++)
    for (int t = 0; t < MUTATE_N_TOOLS && batch->shot[j].gpu != MUTATE_GPU_HANG; t++)
      if (batch->sound[t] == MUTATE_GPU_SAME && hd_clock_seconds() < s->end)
        batch->shot[j].tool[t] = sanitize(s->options, batch, &batch->shot[j], tools[t]);
}

/* --- all ------------------------------------------------------------------------------------ */

/* Kernels in random order, so that those that time leaves out are no family. */
static void shuffle_batches(uint64_t seed, mutate_device *device) {
  for (size_t i = 0; i < device->n; i++) {
    mutate_batch *other = &device->batch[pick(&seed, i, device->n)], kept = device->batch[i];
    device->batch[i] = *other;
    *other = kept;
  }
}

static double end_after(double start, double seconds) {
  return seconds > 0 ? start + seconds : 1e300;
}

void mutate_device_launch(const mutate_options *o, mutate_device *device) {
  double start = hd_clock_seconds(), seconds = o->gpu_seconds;
  session s = {.options = o, .device = device, .start = start, .turn = PTHREAD_MUTEX_INITIALIZER};
  int n_workers = o->n_threads < MAX_WORKERS ? o->n_threads : MAX_WORKERS;
  shuffle_batches(o->seed, device);
  s.end = end_after(start, o->sanitizer ? seconds / 2 : seconds);
  mutate_pool(n_workers, device->n, run_batch, &s);
  s.end = end_after(start, seconds);
  if (o->sanitizer)
    mutate_pool(n_workers, device->n, sanitize_batch, &s);
}
