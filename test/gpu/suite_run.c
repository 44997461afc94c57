/* Running cases: one at a time, on threads, and with injected faults. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/file.h"
#include "suite.h"

enum { HANG_SECONDS_GPU = 60, HANG_SECONDS_SIM = 600 };

/* ---- one case ---- */

static void fail(suite_outcome *outcome, const char *what, const char *why) {
  outcome->word = SUITE_FAILED;
  snprintf(outcome->why, sizeof outcome->why, "%s: %s", what, why);
}

/* NULL: none. */
static const heddle_diagnostic *last_diagnostic(const heddle_context *ctx) {
  int n = heddle_context_count(ctx);
  return n ? heddle_context_get(ctx, n - 1) : NULL;
}

static void fail_with_diagnostics(suite_outcome *outcome, const char *what, heddle_context *ctx,
                                  heddle_status status) {
  const heddle_diagnostic *d = last_diagnostic(ctx);
  char text[512];
  snprintf(text, sizeof text, "%s%s%s%s", d ? d->rule : heddle_status_text(status), d ? ": " : "",
           d ? d->text : "", "");
  fail(outcome, what, text);
}

static heddle_status compile_case(heddle_context *ctx, const suite_options *o, const suite_case *c,
                                  trial_kernel *kernel) {
  hd_strbuf text = {0}, schedule = {0};
  suite_case_problem(c, &text);
  suite_case_schedule(c, &schedule);
  heddle_compile_options options = o->compile;
  options.schedule = hd_strbuf_text(&schedule);
  if (!hd_act_is_user(c->value[CASE_act])) {
    options.user_epilogue = NULL;
    options.user_epilogue_bytes = 0;
  }
  heddle_status status =
      trial_kernel_compile(ctx, NULL, hd_strbuf_text(&text), text.len, &options, kernel);
  hd_strbuf_free(&text);
  hd_strbuf_free(&schedule);
  return status;
}

static trial_request request_of(const suite_options *o, const suite_case *c, bool exact) {
  trial_request r = {.seed = (uint64_t)o->seed, .exact = exact, .bare = o->bare};
  suite_case_request(c, &r);
  return r;
}

static bool run_one(heddle_context *ctx, const suite_options *o, const suite_case *c, bool exact,
                    trial_kernel *kernel, trial_device *device, suite_outcome *outcome) {
  const char *what = exact ? "exact" : "random";
  trial_request request = request_of(o, c, exact);
  trial_result result;
  heddle_status status = trial_run(ctx, kernel, &request, device, &result);
  if (status != HEDDLE_OK) {
    fail_with_diagnostics(outcome, what, ctx, status);
    return false;
  }
  snprintf(outcome->path, sizeof outcome->path, "%s", result.path);
  if (exact) {
    outcome->exact_seconds = result.launch_seconds;
  } else {
    outcome->random_seconds = result.launch_seconds;
    outcome->random_error = result.comparison.error;
    outcome->random_bound = result.bound;
  }
  const char *wanted = c->value[CASE_path];
  if (!result.ok)
    fail(outcome, what, result.why);
  else if (strcmp(wanted, "any") && strcmp(wanted, result.path))
    fail(outcome, "path", result.path);
  return outcome->word == SUITE_PASSED;
}

/* Hopper emulates mma.sp of fp8 and of 4-bit integers: the code that its driver makes of PTX for an
 * older chip spills, and the spill check refuses it. */
static bool is_emulated(const suite_case *c, const char *device) {
  static const char *const types[] = {"e4m3", "e5m2", "s4", "u4"};
  bool emulated = false;
  for (size_t i = 0; i < HD_COUNT(types); i++)
    emulated |= strcmp(c->value[CASE_type], types[i]) == 0;
  return emulated && strncmp(device, "sm_90", 5) == 0 &&
         strcmp(c->value[CASE_target], "sm_90a") != 0;
}

/* Sets the reason if the device cannot verify the case; false if it can. */
static bool skips(const suite_case *c, const trial_device *device, suite_outcome *outcome) {
  const char *is = trial_device_target(device);
  if (!trial_device_runs(device, c->value[CASE_target]))
    snprintf(outcome->why, sizeof outcome->why, "the device is %s", is);
  else if (is_emulated(c, is))
    snprintf(outcome->why, sizeof outcome->why, "%s emulates mma.sp of %s, and spills", is,
             c->value[CASE_type]);
  else
    return false;
  outcome->word = SUITE_SKIPPED;
  return true;
}

void suite_run_case(const suite_options *o, const suite_case *c, size_t i, trial_device *device,
                    suite_outcome *outcome) {
  bool exact = !o->alternate || i % 2 == 0, random = !o->alternate || i % 2 == 1;
  *outcome = (suite_outcome){.path = "-"};
  if (device && skips(c, device, outcome))
    return;
  heddle_context *ctx = heddle_context_create();
  trial_kernel kernel = {0};
  heddle_status status = compile_case(ctx, o, c, &kernel);
  if (status != HEDDLE_OK)
    fail_with_diagnostics(outcome, "compile", ctx, status);
  else if ((!exact || run_one(ctx, o, c, true, &kernel, device, outcome)) && random)
    run_one(ctx, o, c, false, &kernel, device, outcome);
  trial_kernel_free(&kernel);
  heddle_context_free(ctx);
}

/* ---- injected faults ---- */

static void run_fault(const suite_options *o, const suite_case *c, trial_kernel *kernel,
                      trial_device *device, trial_fault fault, suite_faults *f) {
  static const char *const names[] = {
      [TRIAL_FAULT_METADATA] = "metadata",   [TRIAL_FAULT_K_STEP] = "k-step",
      [TRIAL_FAULT_ROWS] = "rows",           [TRIAL_FAULT_SCALE] = "scale",
      [TRIAL_FAULT_SCALE_B] = "scale of B",  [TRIAL_FAULT_OFFSETS] = "offsets",
      [TRIAL_FAULT_GATHER] = "gather",       [TRIAL_FAULT_SCATTER] = "scatter",
      [TRIAL_FAULT_COMBINE] = "combine",     [TRIAL_FAULT_STATISTIC] = "statistic",
      [TRIAL_FAULT_COLUMNS] = "columns",     [TRIAL_FAULT_PAIRS] = "pairs",
      [TRIAL_FAULT_AUX] = "aux"};
  heddle_context *ctx = heddle_context_create();
  trial_request request = request_of(o, c, true);
  request.fault = fault;
  trial_result result;
  heddle_status status = trial_run(ctx, kernel, &request, device, &result);
  bool seen = status == HEDDLE_OK && !result.ok &&
              (result.comparison.n_wrong > 0 || result.n_statistics_wrong > 0);
  const heddle_diagnostic *d = status == HEDDLE_OK ? NULL : last_diagnostic(ctx);
  bool skipped = d && !strcmp(d->rule, "trial.fault");
  hd_strbuf_printf(&f->lines, "injected %-9s %s: %s\n", names[fault],
                   seen      ? "seen"
                   : skipped ? "skipped"
                             : "MISSED",
                   status == HEDDLE_OK ? result.why : d ? d->text : heddle_status_text(status));
  *(seen ? &f->seen : skipped ? &f->skipped : &f->missed) += 1;
  heddle_context_free(ctx);
}

/* Whether the kernel has what the fault is injected into. */
static bool takes_fault(const hd_manifest *m, trial_fault fault) {
  switch (fault) {
  case TRIAL_FAULT_PAIRS:
    return hd_act_is_pair(m->act);
  case TRIAL_FAULT_SCALE:
  case TRIAL_FAULT_SCALE_B:
    return m->scale_block > 0;
  case TRIAL_FAULT_OFFSETS:
    return hd_manifest_is_grouped(m);
  case TRIAL_FAULT_GATHER:
    return hd_manifest_arg(m, HD_ARG_GATHER_B) != NULL;
  case TRIAL_FAULT_SCATTER:
    return hd_manifest_arg(m, HD_ARG_SCATTER_D) != NULL;
  case TRIAL_FAULT_COMBINE:
    return m->slots > 0;
  case TRIAL_FAULT_STATISTIC:
    return m->statistic != NULL;
  case TRIAL_FAULT_COLUMNS:
    return m->scale_b_statistic != NULL;
  case TRIAL_FAULT_AUX:
    return m->aux != NULL;
  default:
    return true;
  }
}

void suite_run_injected(const suite_options *o, const suite_case *c, trial_device *device,
                        suite_faults *f) {
  suite_outcome outcome = {0};
  heddle_context *ctx = heddle_context_create();
  trial_kernel kernel = {0};
  if (device && skips(c, device, &outcome)) {
    hd_strbuf_printf(&f->lines, "injected faults skipped: %s\n", outcome.why);
    f->skipped += TRIAL_FAULT_ROWS;
  } else if (compile_case(ctx, o, c, &kernel) != HEDDLE_OK) {
    fail_with_diagnostics(&outcome, "compile", ctx, HEDDLE_INVALID);
    hd_strbuf_printf(&f->lines, "injected faults MISSED: %s\n", outcome.why);
    f->missed += TRIAL_FAULT_ROWS;
  } else {
    for (trial_fault fault = TRIAL_FAULT_NONE + 1; fault < TRIAL_N_FAULTS; fault++)
      if (takes_fault(&kernel.manifest, fault))
        run_fault(o, c, &kernel, device, fault, f);
  }
  trial_kernel_free(&kernel);
  heddle_context_free(ctx);
}

/* ---- threads ---- */

typedef struct pool {
  const suite_options *options;
  const suite_case *cases;
  size_t n;
  trial_device *device;
  suite_outcome *outcomes; /* of the cases, or */
  suite_faults *faults;    /* of injected faults */
  atomic_size_t next, done;
  _Atomic double *started; /* when each case began; 0: not running */
} pool;

static void *work(void *user) {
  pool *p = user;
  for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) {
    atomic_store(&p->started[i], hd_clock_seconds());
    if (p->options->verbose) {
      hd_strbuf text = {0};
      suite_case_print(&p->cases[i], &text);
      fprintf(stderr, "begin %s\n", hd_strbuf_text(&text));
      hd_strbuf_free(&text);
    }
    if (p->faults)
      suite_run_injected(p->options, &p->cases[i], p->device, &p->faults[i]);
    else
      suite_run_case(p->options, &p->cases[i], i, p->device, &p->outcomes[i]);
    atomic_store(&p->started[i], 0.0);
    atomic_fetch_add(&p->done, 1);
  }
  return NULL;
}

/* A kernel that never ends cannot be stopped from here: name it and exit. */
static void end_hung(const pool *p, size_t i) {
  hd_strbuf text = {0};
  suite_case_print(&p->cases[i], &text);
  printf("timeout: %s\n  heddle-gpu-suite --backend %s --seed %lld --case '%s'\n"
         "0 passed, 1 failed, 0 skipped (ended by the time-out)\n",
         hd_strbuf_text(&text), p->options->backend, (long long)p->options->seed,
         hd_strbuf_text(&text));
  fflush(stdout);
  _exit(1);
}

static void watch(pool *p) {
  double limit = p->device ? HANG_SECONDS_GPU * p->options->n_threads : HANG_SECONDS_SIM;
  while (atomic_load(&p->done) < p->n) {
    usleep(20000);
    double now = hd_clock_seconds();
    for (size_t i = 0; i < p->n; i++) {
      double start = atomic_load(&p->started[i]);
      if (start > 0 && now - start > limit)
        end_hung(p, i);
    }
  }
}

static void run_pool(pool *p) {
  int n_threads = p->options->n_threads;
  p->started = calloc(p->n ? p->n : 1, sizeof *p->started);
  pthread_t *threads = hd_xmalloc(sizeof *threads * (size_t)n_threads);
  for (int t = 0; t < n_threads; t++)
    pthread_create(&threads[t], NULL, work, p);
  watch(p);
  for (int t = 0; t < n_threads; t++)
    pthread_join(threads[t], NULL);
  free(threads);
  free((void *)p->started);
}

void suite_run_all(const suite_options *o, const suite_case *cases, size_t n,
                   trial_device *device, suite_outcome *outcomes) {
  pool p = {.options = o, .cases = cases, .n = n, .device = device, .outcomes = outcomes};
  run_pool(&p);
}

void suite_inject_all(const suite_options *o, const suite_case *cases, size_t n,
                      trial_device *device, suite_faults *faults) {
  pool p = {.options = o, .cases = cases, .n = n, .device = device, .faults = faults};
  run_pool(&p);
}
