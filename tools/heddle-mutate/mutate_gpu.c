/* Mutants on the device, each where it can harm nobody: a worker process launches them one after the
 * other; what it cannot end it reports and dies with, and a fresh worker takes the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "mutate.h"

enum { MAX_WORKERS = 8, START_SECONDS = 60, EACH_SECONDS = 10, SANITIZE_SECONDS = 60 };

static const char *const names[MUTATE_N_GPU] = {"not-asked", "same",  "wrong",
                                                "hang",      "error", "refused"};

const char *mutate_gpu_name(mutate_gpu outcome) { return names[outcome]; }

static mutate_gpu outcome_of(const char *word, size_t len) {
  for (int i = 0; i < MUTATE_N_GPU; i++)
    if (strlen(names[i]) == len && !memcmp(names[i], word, len))
      return (mutate_gpu)i;
  return MUTATE_GPU_NOT_ASKED;
}

/* --- a worker ------------------------------------------------------------------------------- */

typedef struct batch { /* mutants of one form for one worker at a time */
  const mutate_options *options;
  const mutate_form *form;
  mutate_mutant **mutant;
  size_t n;
} batch;

/* heddle-mutate FILE --form NAME --launch OP:SITE,OP:SITE… */
typedef struct command {
  const char *argv[20];
  int n;
  hd_strbuf list;
} command;

static void push(command *c, const char *word) { c->argv[c->n++] = word; }

static void build(command *c, const mutate_options *o, const mutate_form *form,
                  mutate_mutant *const *mutant, size_t n, const char *limit) {
  for (size_t i = 0; i < n; i++)
    hd_strbuf_printf(&c->list, "%s%s:%d", i ? "," : "", mutant[i]->op, mutant[i]->site);
  push(c, o->worker);
  push(c, form->path);
  if (o->schedule) {
    push(c, "--schedule");
    push(c, o->schedule);
  }
  push(c, "--form");
  push(c, form->name);
  push(c, "--limit");
  push(c, limit);
  push(c, "--launch");
  push(c, hd_strbuf_text(&c->list));
  push(c, NULL);
}

/* The worker's lines are "begin OP:SITE" and "end OP:SITE OUTCOME why": how many mutants were begun.
 * One that was begun and never ended took the worker with it. */
static size_t read_lines(const batch *b, size_t from, const char *text) {
  size_t begun = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    if (from + begun < b->n && !strncmp(line, "begin ", 6))
      b->mutant[from + begun++]->gpu = MUTATE_GPU_ERROR;
    if (!begun || strncmp(line, "end ", 4))
      continue;
    const char *word = strchr(line + 4, ' ');
    if (word)
      b->mutant[from + begun - 1]->gpu = outcome_of(word + 1, strcspn(word + 1, " \n"));
  }
  return begun;
}

/* Launches mutants from `from` on; how many are dealt with. 0: no worker could start. */
static size_t run_worker(batch *b, size_t from) {
  heddle_context *ctx = heddle_context_create();
  command c = {0};
  hd_strbuf output = {0};
  int code = 0;
  size_t n = b->n - from;
  build(&c, b->options, b->form, b->mutant + from, n, "2");
  double limit = START_SECONDS + (double)n * EACH_SECONDS;
  bool late = hd_process_run(ctx, c.argv, limit, &output, &code) != HEDDLE_OK;
  size_t begun = read_lines(b, from, hd_strbuf_text(&output));
  if (late && begun) /* killed: what ran last did not come back */
    b->mutant[from + begun - 1]->gpu = MUTATE_GPU_HANG;
  if (!begun)
    fprintf(stderr, "%s: the worker ended with %d: %.300s\n", b->form->name, code,
            hd_strbuf_text(&output));
  hd_strbuf_free(&output);
  hd_strbuf_free(&c.list);
  heddle_context_free(ctx);
  return begun;
}

static void run_batch(void *user, size_t i) {
  batch *b = (batch *)user + i;
  size_t done = 0, step = 1;
  while (done < b->n && step) {
    step = run_worker(b, done);
    done += step;
  }
}

/* --- the sanitizer -------------------------------------------------------------------------- */

enum { FOUND = 86 }; /* the exit code that it is told to end with */

static bool sanitize(const batch *b, const char *tool, mutate_mutant *m) {
  heddle_context *ctx = heddle_context_create();
  command c = {0};
  int code = 0;
  push(&c, b->options->sanitizer);
  push(&c, "--tool");
  push(&c, tool);
  push(&c, "--error-exitcode");
  push(&c, "86"); /* FOUND */
  build(&c, b->options, b->form, &m, 1, "30");
  heddle_status status = hd_process_run(ctx, c.argv, SANITIZE_SECONDS, NULL, &code);
  hd_strbuf_free(&c.list);
  heddle_context_free(ctx);
  return status == HEDDLE_OK && code == FOUND;
}

static void sanitize_batch(void *user, size_t i) {
  static const char *const tools[] = {"racecheck", "synccheck", "memcheck"};
  batch *b = (batch *)user + i;
  for (size_t j = 0; j < b->n; j++) {
    b->mutant[j]->sanitizer = MUTATE_GPU_SAME;
    for (size_t t = 0; t < HD_COUNT(tools) && b->mutant[j]->sanitizer == MUTATE_GPU_SAME; t++)
      if (sanitize(b, tools[t], b->mutant[j]))
        b->mutant[j]->sanitizer = MUTATE_GPU_ERROR;
  }
}

/* --- all of a form -------------------------------------------------------------------------- */

/* Those that run: not equivalent, the first of their PTX; `sample` of them, by seed. */
static size_t choose(const mutate_options *o, mutate_list *list, mutate_mutant **out) {
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++)
    if (list->mutant[i].ptx && !list->mutant[i].equivalent && list->mutant[i].like == i)
      out[n++] = &list->mutant[i];
  uint64_t seed = o->seed;
  for (size_t i = 0; o->sample && i < o->sample && i < n; i++) {
    size_t j = i + mutate_below(&seed, (uint32_t)(n - i));
    mutate_mutant *m = out[i];
    out[i] = out[j];
    out[j] = m;
  }
  return o->sample && o->sample < n ? o->sample : n;
}

void mutate_list_launch(const mutate_options *options, const mutate_form *form,
                        mutate_list *list) {
  mutate_mutant **mutant = hd_xmalloc(sizeof *mutant * (list->n + 1));
  size_t n = choose(options, list, mutant), at = 0;
  size_t n_workers = options->n_threads < MAX_WORKERS ? (size_t)options->n_threads : MAX_WORKERS;
  batch batches[MAX_WORKERS];
  for (size_t i = 0; i < n_workers; i++) {
    size_t end = n * (i + 1) / n_workers;
    batches[i] = (batch){options, form, mutant + at, end - at};
    at = end;
  }
  mutate_pool((int)n_workers, n_workers, run_batch, batches);
  if (options->sanitizer)
    mutate_pool((int)n_workers, n_workers, sanitize_batch, batches);
  for (size_t i = 0; i < list->n; i++) {
    list->mutant[i].gpu = list->mutant[list->mutant[i].like].gpu;
    list->mutant[i].sanitizer = list->mutant[list->mutant[i].like].sanitizer;
  }
  free(mutant);
}
