/* The worker of mutate_gpu.c: launches mutants of one form in sequence, and reports whether D
 * equals the form's D bit for bit. The worker ends after a launch that hangs or that breaks the
 * context. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "mutate.h"

enum { RUNS = 4, POLL_US = 20000, START_SECONDS = 40, LOAD_SECONDS = 30, CLOSE_SECONDS = 5 };

typedef struct worker {
  heddle_context *ctx;
  const mutate_form *form;
  trial_device *device;
  uint8_t *wanted;  /* D of the form with its guards; owned */
  size_t n_bytes;
  double limit;
  char name[64];            /* of the current mutant */
  char line[200];           /* printed if the deadline passes */
  _Atomic double deadline;  /* 0: none */
  atomic_bool over;
} worker;

/* --- watchdog ------------------------------------------------------------------------------- */

static void say(const worker *w, const char *outcome, const char *why) {
  printf("end %s %s %.200s\n", w->name, outcome, why);
  fflush(stdout);
}

/* Sets a deadline, after which the process prints this line and exits. */
static void expect_end(worker *w, double seconds, const char *what, const char *why) {
  atomic_store(&w->deadline, 0.0);
  snprintf(w->line, sizeof w->line, "%s %s%s\n", what, w->name, why);
  atomic_store(&w->deadline, hd_clock_seconds() + seconds);
}

static void ended(worker *w) { atomic_store(&w->deadline, 0.0); }

/* A kernel that hangs can only be stopped by ending the process. */
static void *watch(void *user) {
  worker *w = user;
  while (!atomic_load(&w->over)) {
    double deadline = atomic_load(&w->deadline);
    if (deadline > 0 && hd_clock_seconds() > deadline) {
      fputs(w->line, stdout);
      fflush(stdout);
      _exit(3);
    }
    usleep(POLL_US);
  }
  return NULL;
}

/* --- one launch ----------------------------------------------------------------------------- */

static heddle_status load(worker *w, const char *ptx, trial_kernel *kernel) {
  heddle_image image = {.ptx = ptx, .ptx_bytes = strlen(ptx)};
  kernel->manifest = w->form->manifest;
  return hd_kernel_load(w->ctx, trial_device_runtime(w->device), &kernel->manifest, &image, true,
                        &kernel->loaded);
}

static heddle_status launch(worker *w, trial_kernel *kernel, trial_data *data) {
  trial_result result = {0};
  expect_end(w, w->limit, "end", " hang no end of the launch");
  heddle_status status = trial_launch_device(w->ctx, w->device, kernel, data, &result);
  ended(w);
  bool differs = status == HEDDLE_OK && result.why[0]; /* of two launches with one workspace */
  return differs ? HEDDLE_MISMATCH : status;
}

/* Launches, and returns all of D's block, and behind it that of aux; *d is owned. */
static heddle_status run_once(worker *w, trial_kernel *kernel, uint8_t **d, size_t *n_bytes) {
  trial_data data;
  heddle_status status = trial_data_make(w->ctx, &w->form->manifest, &w->form->request, &data);
  if (status == HEDDLE_OK)
    status = launch(w, kernel, &data);
  const trial_block *block = trial_data_block(&data, HD_ARG_D);
  const trial_block *aux = trial_data_block(&data, HD_ARG_AUX);
  if (status == HEDDLE_OK && block) {
    size_t more = aux ? aux->all_bytes : 0;
    *d = hd_xmalloc(block->all_bytes + more);
    memcpy(*d, block->all, block->all_bytes);
    if (aux)
      memcpy(*d + block->all_bytes, aux->all, more);
    *n_bytes = block->all_bytes + more;
  }
  trial_data_free(&data);
  return status;
}

/* HEDDLE_MISMATCH: D differs from that of the form. */
static heddle_status run_some(worker *w, trial_kernel *kernel) {
  heddle_status status = HEDDLE_OK;
  for (int i = 0; i < RUNS && status == HEDDLE_OK; i++) {
    uint8_t *d = NULL;
    size_t n_bytes = 0;
    status = run_once(w, kernel, &d, &n_bytes);
    if (status == HEDDLE_OK && (n_bytes != w->n_bytes || memcmp(d, w->wanted, n_bytes)))
      status = HEDDLE_MISMATCH;
    hd_free(d);
  }
  return status;
}

static const char *last_words(heddle_context *ctx) {
  size_t n = heddle_context_count(ctx);
  return n ? heddle_context_get(ctx, n - 1)->text : "";
}

/* False: the context is broken. */
static bool try_mutant(worker *w, const char *ptx) {
  trial_kernel kernel = {0};
  printf("begin %s\n", w->name);
  fflush(stdout);
  expect_end(w, LOAD_SECONDS, "end", " error no end of loading");
  if (load(w, ptx, &kernel) != HEDDLE_OK) {
    say(w, "refused", last_words(w->ctx));
    return true;
  }
  heddle_status status = run_some(w, &kernel);
  say(w, status == HEDDLE_OK ? "same" : status == HEDDLE_MISMATCH ? "wrong" : "error",
      status == HEDDLE_OK || status == HEDDLE_MISMATCH ? "" : last_words(w->ctx));
  if (status != HEDDLE_OK && status != HEDDLE_MISMATCH)
    return false;
  heddle_kernel_free(kernel.loaded);
  return true;
}

/* --- all ------------------------------------------------------------------------------------ */

static heddle_status open_worker(worker *w) {
  trial_kernel sound = {0};
  expect_end(w, START_SECONDS, "the device", " does not answer");
  HD_TRY(trial_device_open(w->ctx, &w->device));
  if (!trial_device_runs(w->device, w->form->target))
    return hd_error(w->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "mutate.device",
                    "%s is not run by this device: %s", w->form->target,
                    trial_device_target(w->device));
  HD_TRY(load(w, w->form->ptx, &sound));
  heddle_status status = run_once(w, &sound, &w->wanted, &w->n_bytes);
  heddle_kernel_free(sound.loaded);
  return status;
}

/* Launches "OP:SITE,OP:SITE…". */
static heddle_status launch_list(worker *w, const char *list) {
  bool good = true;
  for (const char *at = list; *at && good; at += strcspn(at, ","), at += *at == ',') {
    mutate_mutant m = {0};
    char op[32];
    snprintf(w->name, sizeof w->name, "%.*s", (int)strcspn(at, ","), at);
    if (sscanf(w->name, "%31[^:]:%d", op, &m.site) != 2)
      return hd_error(w->ctx, HEDDLE_INVALID, HD_NOWHERE, "mutate.launch",
                      "got '%s'; legal: OPERATOR:SITE, as the table's lines say", w->name);
    m.op = op;
    if (mutate_make(w->form, &m) && m.ptx)
      good = try_mutant(w, m.ptx);
    mutate_unmake(&m);
  }
  return HEDDLE_OK;
}

heddle_status mutate_worker(heddle_context *ctx, const mutate_options *options, mutate_form *form) {
  pthread_t watcher;
  worker w = {.ctx = ctx, .form = form, .limit = options->limit_seconds};
  form->request.bare = false;
  if (pthread_create(&watcher, NULL, watch, &w) != 0)
    return HEDDLE_ENVIRONMENT;
  heddle_status status = open_worker(&w);
  if (status == HEDDLE_OK)
    status = launch_list(&w, options->launch);
  expect_end(&w, CLOSE_SECONDS, "closing", " takes too long");
  trial_device_close(w.device);
  atomic_store(&w.over, true);
  pthread_join(watcher, NULL);
  hd_free(w.wanted);
  return status;
}
