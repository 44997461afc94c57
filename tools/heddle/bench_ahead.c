#include "bench_ahead.h"

#include "Support/diag.h"
#include "cli.h"

void bench_ahead_open(bench_ahead *a, const hd_device *device, const char *target) {
  *a = (bench_ahead){.device = device, .target = target};
  for (int i = 0; i < 2; i++)
    a->host[i] = hd_bench_host_create();
}

hd_bench_host *bench_ahead_host(const bench_ahead *a) { return a->host[a->turn]; }

static void *prepare(void *user) {
  bench_ahead *a = user;
  a->status = hd_bench_prepare(a->said, a->problem, &a->options, a->target, &a->next);
  return NULL;
}

void bench_ahead_begin(bench_ahead *a, const hd_bench_problem *problem,
                       const hd_bench_options *options) {
  a->problem = problem;
  a->options = *options;
  a->next = (hd_bench_prepared){.host = a->host[!a->turn]};
  a->said = heddle_context_create();
  if (pthread_create(&a->thread, NULL, prepare, a) == 0)
    return;
  heddle_context_free(a->said);
  a->problem = NULL;
}

/* Waits for the case that is being prepared. */
static heddle_status join(bench_ahead *a) {
  pthread_join(a->thread, NULL);
  a->problem = NULL;
  return a->status;
}

static void drop(bench_ahead *a) {
  hd_bench_prepared_clear(a->device, &a->next);
  heddle_context_free(a->said);
}

heddle_status bench_ahead_take(heddle_context *ctx, bench_ahead *a,
                               const hd_bench_problem *problem, const hd_bench_options *options,
                               hd_bench_prepared *prepared) {
  bool begun = a->problem != NULL, is_it = a->problem == problem;
  if (begun && join(a) == HEDDLE_OK && is_it) {
    cli_print_diagnostics(a->said);
    heddle_context_free(a->said);
    a->turn = !a->turn;
    *prepared = a->next;
    return HEDDLE_OK;
  }
  if (begun) /* another case, or it failed: prepare again, so that ctx gets the diagnostics */
    drop(a);
  *prepared = (hd_bench_prepared){.host = bench_ahead_host(a)};
  heddle_status status = hd_bench_prepare(ctx, problem, options, a->target, prepared);
  if (status != HEDDLE_OK)
    hd_bench_prepared_clear(a->device, prepared);
  return status;
}

void bench_ahead_close(bench_ahead *a) {
  if (a->problem) {
    (void)join(a);
    drop(a);
  }
  for (int i = 0; i < 2; i++)
    hd_bench_host_free(a->host[i]);
}
