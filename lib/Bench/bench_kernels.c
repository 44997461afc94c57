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

/* NULL if it cannot be compiled. dependent: even without the way's weights_ready. */
static heddle_compiled *compile_way(const compile_work *w, const hd_bench_way *way,
                                    const hd_bench_kernel *k, bool dependent) {
  heddle_compile_options options = {.target = w->target,
                                    .schedule = hd_bench_way_schedule(way, k->row_major),
                                    .ptxas = w->options->ptxas,
                                    .cache = w->options->cache,
                                    .schedule_is_choice = way->is_choice,
                                    .tuned = way->is_choice ? w->options->tuned : NULL};
  hd_bench_problem problem = *w->problem;
  heddle_compiled *compiled;
  problem.dependent = dependent;
  if (way->dynamic)
    problem.n = 0;
  char *text = hd_bench_text(&problem, w->target, k->row_major, way->weights_ready);
  if (heddle_compile(k->said, "bench", text, strlen(text), &options, &compiled) != HEDDLE_OK)
    compiled = NULL;
  hd_free(text);
  return compiled;
}

static void compile_one(void *user, int32_t i) {
  const compile_work *w = user;
  hd_bench_kernel *k = &w->list[i];
  k->compiled = compile_way(w, k->way, k, false);
  if (k->plain && k->compiled)
    k->ordinary = compile_way(w, k->plain, k, true);
}

/* The way without weights_ready at the same place of the list, whose second half has it. */
static const hd_bench_way *plain_way(const hd_bench_options *options, const hd_bench_way *way,
                                     int32_t n_ways, int32_t i) {
  bool behind = options->triggers && way[i].weights_ready && i >= n_ways / 2;
  return behind && !way[i - n_ways / 2].weights_ready ? &way[i - n_ways / 2] : NULL;
}

void hd_bench_compile(const hd_bench_problem *problem, const hd_bench_options *options,
                      const char *target, const hd_bench_way *way, int32_t n_ways,
                      hd_bench_kernel **list, int32_t *n) {
  compile_work w = {.problem = problem, .options = options, .target = target};
  w.list = hd_xmalloc(sizeof *w.list * 2 * (size_t)n_ways);
  for (int32_t i = 0; i < n_ways; i++) {
    hd_bench_kernel k = {.way = &way[i], .plain = plain_way(options, way, n_ways, i)};
    for (int32_t row_major = 0; row_major < 2; row_major++) {
      if (options->order == (row_major ? HD_BENCH_COL : HD_BENCH_ROW))
        continue;
      k.row_major = row_major;
      k.said = heddle_context_create();
      w.list[w.n++] = k;
    }
  }
  hd_parallel(options->n_jobs, w.n, compile_one, &w);
  *list = w.list;
  *n = w.n;
}

/* ---- loading ---- */

/* Loads both kernels as one, if there are two. A pair that is refused, because a schedule needs a
 * workspace, never overlaps. */
static heddle_status load(const hd_device *device, hd_bench_kernel *k) {
  heddle_kernel *overlapping = NULL;
  if (!k->ordinary)
    return hd_load_compiled(k->said, device->runtime, k->compiled, &k->loaded.kernel);
  HD_TRY(hd_load_compiled(k->said, device->runtime, k->ordinary, &k->loaded.kernel));
  heddle_status status = hd_load_compiled(k->said, device->runtime, k->compiled, &overlapping);
  if (status != HEDDLE_OK)
    return status;
  if (heddle_kernel_set_overlapping(NULL, k->loaded.kernel, overlapping) == HEDDLE_OK)
    return HEDDLE_OK;
  heddle_kernel_free(overlapping);
  return heddle_kernel_set_overlapping(k->said, k->loaded.kernel, NULL);
}

void hd_bench_load(const hd_device *device, const hd_bench_problem *problem,
                   hd_rotated_operands operands, hd_bench_kernel *k) {
  hd_product product = hd_bench_product(problem);
  operands.ldd = k->row_major ? product.n : hd_product_d_rows(&product);
  if (!k->compiled)
    return;
  heddle_status status = load(device, k);
  if (status == HEDDLE_OK)
    status = hd_rotated_give(k->said, device, &operands, &k->loaded);
  if (status != HEDDLE_OK)
    hd_rotated_free(device, &k->loaded);
}

void hd_bench_kernels_free(const hd_device *device, hd_bench_kernel *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    hd_rotated_free(device, &list[i].loaded);
    heddle_compiled_free(list[i].compiled);
    heddle_compiled_free(list[i].ordinary);
    heddle_context_free(list[i].said);
  }
  hd_free(list);
}
