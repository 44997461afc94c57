#include "Bench/bench_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/parallel.h"

/* ---- compiling ---- */

typedef struct compile_work {
  const hd_bench_problem *problem;
  const hd_bench_options *options;
  const char *target;
  hd_bench_kernel *list;
  int32_t n;
} compile_work;

static void compile_one(void *user, int32_t i) {
  const compile_work *w = user;
  hd_bench_kernel *k = &w->list[i];
  heddle_compile_options options = {.target = w->target,
                                    .schedule = hd_bench_way_schedule(k->way, k->row_major),
                                    .ptxas = w->options->ptxas,
                                    .cache = w->options->cache,
                                    .schedule_is_choice = k->way->is_choice,
                                    .tuned = k->way->is_choice ? w->options->tuned : NULL};
  hd_bench_problem problem = *w->problem;
  if (k->way->dynamic)
    problem.n = 0;
  char *text = hd_bench_text(&problem, w->target, k->row_major, k->way->weights_ready);
  if (heddle_compile(k->said, "bench", text, strlen(text), &options, &k->compiled) != HEDDLE_OK)
    k->compiled = NULL;
  hd_free(text);
}

void hd_bench_compile(const hd_bench_problem *problem, const hd_bench_options *options,
                      const char *target, const hd_bench_way *way, int32_t n_ways,
                      hd_bench_kernel **list, int32_t *n) {
  compile_work w = {.problem = problem, .options = options, .target = target};
  w.list = hd_xmalloc(sizeof *w.list * 2 * (size_t)n_ways);
  for (int32_t i = 0; i < n_ways; i++) {
    if (options->order != HD_BENCH_ROW)
      w.list[w.n++] = (hd_bench_kernel){.way = &way[i], .said = heddle_context_create()};
    if (options->order != HD_BENCH_COL)
      w.list[w.n++] =
          (hd_bench_kernel){.way = &way[i], .row_major = true, .said = heddle_context_create()};
  }
  hd_parallel(options->n_jobs, w.n, compile_one, &w);
  *list = w.list;
  *n = w.n;
}

/* ---- loading ---- */

void hd_bench_load(const hd_device *device, const hd_bench_problem *problem,
                   hd_rotated_operands operands, hd_bench_kernel *k) {
  hd_product product = hd_bench_product(problem);
  operands.ldd = k->row_major ? product.n : hd_product_d_rows(&product);
  if (!k->compiled)
    return;
  heddle_status status = hd_load_compiled(k->said, device->runtime, k->compiled, &k->loaded.kernel);
  if (status == HEDDLE_OK)
    status = hd_rotated_give(k->said, device, &operands, &k->loaded);
  if (status != HEDDLE_OK)
    hd_rotated_free(device, &k->loaded);
}

void hd_bench_kernels_free(const hd_device *device, hd_bench_kernel *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    hd_rotated_free(device, &list[i].loaded);
    heddle_compiled_free(list[i].compiled);
    heddle_context_free(list[i].said);
  }
  hd_free(list);
}
