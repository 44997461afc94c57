#include "Bench/compile_ahead.h"

#include <pthread.h>
#include <stdatomic.h>

#include "Bench/bench_kernels.h"
#include "Support/memory.h"
#include "Support/parallel.h"

struct hd_compile_ahead {
  const hd_bench_problem *list;
  int32_t n;
  const hd_bench_options *options;
  const char *target;
  atomic_bool stopped;
  pthread_t thread;
  bool joined;
};

/* A kernel whose n is known at launch is the same for every n: of cases behind each other the first
 * one compiles it. */
static void compile_case(void *user, int32_t i) {
  const hd_compile_ahead *a = user;
  const hd_bench_problem *p = &a->list[i];
  bool again = i > 0 && hd_bench_same_but_n(p - 1, p);
  hd_bench_way *way = NULL;
  hd_bench_kernel *kernel = NULL;
  int32_t n_ways = 0, n_kernels = 0;
  if (a->stopped)
    return;
  hd_bench_options options = *a->options;
  options.n_jobs = 1;
  options.dynamic &= !again;
  heddle_context *said = heddle_context_create();
  if (hd_bench_ways(said, p, &options, a->target, &way, &n_ways) == HEDDLE_OK)
    hd_bench_compile(p, &options, a->target, way, n_ways, &kernel, &n_kernels);
  hd_bench_kernels_free(NULL, kernel, n_kernels);
  hd_bench_ways_free(way, n_ways);
  heddle_context_free(said);
}

static void *compile_all(void *user) {
  hd_compile_ahead *a = user;
  hd_parallel(a->options->n_jobs, a->n, compile_case, a);
  return NULL;
}

heddle_status hd_compile_ahead_start(heddle_context *ctx, const hd_bench_problem *list, int32_t n,
                                     const hd_bench_options *options, const char *target,
                                     hd_compile_ahead **ahead) {
  *ahead = NULL;
  if (!options->cache)
    return HEDDLE_OK;
  hd_compile_ahead *a = hd_try_zalloc(ctx, sizeof *a, "the cases ahead");
  if (!a)
    return HEDDLE_NO_MEMORY;
  a->list = list;
  a->n = n;
  a->options = options;
  a->target = target;
  if (pthread_create(&a->thread, NULL, compile_all, a) == 0)
    *ahead = a;
  else
    hd_free(a);
  return HEDDLE_OK;
}

void hd_compile_ahead_wait(hd_compile_ahead *a) {
  if (a && !a->joined)
    pthread_join(a->thread, NULL);
  if (a)
    a->joined = true;
}

void hd_compile_ahead_stop(hd_compile_ahead *a) {
  if (!a)
    return;
  a->stopped = true;
  hd_compile_ahead_wait(a);
  hd_free(a);
}
