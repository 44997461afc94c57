#include "Tune/bench_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/parallel.h"

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
                                    .schedule = k->way->schedule,
                                    .ptxas = w->options->ptxas,
                                    .cache = w->options->cache};
  char *text = hd_bench_text(w->problem, w->target, k->row_major, k->way->weights_ready);
  if (heddle_compile(k->said, "bench", text, strlen(text), &options, &k->compiled) != HEDDLE_OK)
    k->compiled = NULL;
  free(text);
}

static void add_orders(const hd_bench_way *way, hd_bench_order order, hd_bench_kernel *list,
                       int32_t *n) {
  if (order != HD_BENCH_ROW)
    list[(*n)++] = (hd_bench_kernel){.way = way, .said = heddle_context_create()};
  if (order != HD_BENCH_COL)
    list[(*n)++] =
        (hd_bench_kernel){.way = way, .row_major = true, .said = heddle_context_create()};
}

void hd_bench_compile(const hd_bench_problem *problem, const hd_bench_options *options,
                      const char *target, const hd_bench_way *way, int32_t n_ways,
                      hd_bench_kernel **list, int32_t *n) {
  compile_work w = {.problem = problem, .options = options, .target = target};
  w.list = hd_xmalloc(sizeof *w.list * 2 * (size_t)n_ways);
  for (int32_t i = 0; i < n_ways; i++)
    add_orders(&way[i], options->order, w.list, &w.n);
  hd_parallel(options->n_jobs, w.n, compile_one, &w);
  *list = w.list;
  *n = w.n;
}

/* ---- loading ---- */

static heddle_arg argument(const hd_bench_problem *p, const hd_bench_operands *o, const char *name,
                           size_t set, bool row_major) {
  heddle_arg arg = {0};
  if (strcmp(name, "a") == 0)
    arg.ptr = (const void *)(uintptr_t)o->a_packed->set[set].address;
  else if (strcmp(name, "b") == 0)
    arg.ptr = (const void *)(uintptr_t)o->b->set[set].address;
  else if (strcmp(name, "d") == 0)
    arg.ptr = (const void *)(uintptr_t)o->d->set[set].address;
  else if (strcmp(name, "ldb") == 0)
    arg.i64 = p->k;
  else if (strcmp(name, "ldd") == 0)
    arg.i64 = row_major ? p->n : p->m;
  return arg;
}

/* A zeroed workspace, in the arguments of every set. */
static heddle_status add_workspace(const hd_device *device, hd_bench_kernel *k) {
  uint64_t n_bytes;
  HD_TRY(heddle_kernel_workspace(k->said, k->kernel, k->args, k->n_args, &n_bytes));
  if (n_bytes == 0)
    return HEDDLE_OK;
  HD_TRY(hd_buffer_create(k->said, device, n_bytes, 0, &k->workspace));
  HD_TRY(hd_buffer_fill(k->said, device, &k->workspace, 0));
  for (size_t i = 0; i < k->n_sets * k->n_args; i++)
    if (strcmp(heddle_kernel_arg_name(k->kernel, i % k->n_args), "workspace") == 0)
      k->args[i].ptr = (const void *)(uintptr_t)k->workspace.address;
  return HEDDLE_OK;
}

void hd_bench_load(const hd_device *device, const hd_bench_problem *problem,
                   const hd_bench_operands *operands, hd_bench_kernel *k) {
  if (!k->compiled)
    return;
  heddle_image image = {0};
  size_t json_bytes;
  const char *json = heddle_compiled_manifest(k->compiled, &json_bytes);
  image.cubin = heddle_compiled_cubin(k->compiled, &image.cubin_bytes);
  image.ptx = heddle_compiled_ptx(k->compiled, &image.ptx_bytes);
  if (heddle_kernel_load(k->said, device->runtime, json, json_bytes, &image, &k->kernel) !=
      HEDDLE_OK) {
    k->kernel = NULL;
    return;
  }
  k->n_sets = operands->n_sets;
  k->n_args = heddle_kernel_arg_count(k->kernel);
  k->args = hd_xmalloc(sizeof *k->args * k->n_args * k->n_sets);
  for (size_t s = 0; s < k->n_sets; s++)
    for (size_t i = 0; i < k->n_args; i++)
      k->args[s * k->n_args + i] = argument(problem, operands, heddle_kernel_arg_name(k->kernel, i),
                                            s, k->row_major);
  if (add_workspace(device, k) != HEDDLE_OK) {
    heddle_kernel_free(k->kernel);
    k->kernel = NULL;
  }
}

heddle_status hd_bench_launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const hd_bench_kernel *k = user;
  return heddle_kernel_launch(ctx, k->kernel, k->args + index % k->n_sets * k->n_args, k->n_args,
                              stream);
}

void hd_bench_kernels_free(const hd_device *device, hd_bench_kernel *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    heddle_kernel_free(list[i].kernel);
    hd_buffer_free(device, &list[i].workspace);
    heddle_compiled_free(list[i].compiled);
    heddle_context_free(list[i].said);
    free(list[i].args);
  }
  free(list);
}
