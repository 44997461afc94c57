#include "Tune/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference_compare.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/strbuf.h"
#include "heddle/kernel.h"
#include "heddle/sparse.h"

enum {
  ROTATE_BYTES = 256 << 20, /* the protocol: A, B and D of all sets together */
  WORKSPACE_BYTES = 64 << 20,
  CHECKED_ROWS = 8,
  MOST_KERNELS = 2 * HD_BENCH_SCHEDULES
};

/* A loaded Heddle kernel with its arguments for every buffer set. */
typedef struct ours {
  heddle_compiled *compiled;
  heddle_kernel *kernel;
  heddle_arg *args; /* n_sets x n_args, owned */
  size_t n_args, n_sets;
  bool row_major;
  double quick;
} ours;

typedef struct bench {
  const hd_device *device;
  const hd_bench_problem *p;
  const hd_bench_options *options;
  size_t row_bytes, b_row_bytes, d_bytes, n_sets;
  void *a, *b, *packed; /* host, owned */
  hd_rotation a_dense, a_packed, b_sets, d_sets;
  hd_buffer workspace;
  ours kernel[MOST_KERNELS];
  int32_t n_kernels;
} bench;

heddle_elem hd_bench_accumulator(heddle_elem elem) {
  heddle_elem_kind kind = heddle_elem_get(elem)->kind;
  return kind == HEDDLE_FLOAT ? HEDDLE_F32 : HEDDLE_S32;
}

/* ---- operands ---- */

static heddle_status make_operands(heddle_context *ctx, bench *x) {
  const hd_bench_problem *p = x->p;
  uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
  hd_fill fill = {.seed = x->options->seed + 1};
  size_t packed_bytes;
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, p->elem, k, &x->row_bytes));
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->elem, HEDDLE_FAMILY_WGMMA, m, k, &packed_bytes));
  x->d_bytes = m * n * heddle_elem_get(p->d_elem)->container_bits / 8;
  x->a = hd_xmalloc(m * x->row_bytes);
  x->b = hd_xmalloc(n * x->row_bytes);
  x->packed = hd_xmalloc(packed_bytes);
  hd_fill_dense(&fill, p->elem, m, k, x->a, k);
  HD_TRY(heddle_sparse_prune(ctx, p->elem, m, k, x->a, x->row_bytes));
  fill.seed++;
  hd_fill_dense(&fill, p->elem, n, k, x->b, k);
  HD_TRY(heddle_sparse_pack_dense(ctx, p->elem, HEDDLE_FAMILY_WGMMA, m, k, x->a, x->row_bytes,
                                  x->packed));
  size_t set_bytes = packed_bytes + n * x->row_bytes + x->d_bytes;
  x->n_sets = hd_rotation_count(set_bytes, ROTATE_BYTES);
  if (x->n_sets < 2)
    x->n_sets = 2;
  HD_TRY(hd_rotation_create(ctx, x->device, x->packed, packed_bytes, x->n_sets, &x->a_packed));
  HD_TRY(hd_rotation_create(ctx, x->device, x->b, n * x->row_bytes, x->n_sets, &x->b_sets));
  if (x->options->n_peers)
    HD_TRY(hd_rotation_create(ctx, x->device, x->a, m * x->row_bytes, x->n_sets, &x->a_dense));
  HD_TRY(hd_rotation_create(ctx, x->device, NULL, x->d_bytes, x->n_sets, &x->d_sets));
  return hd_buffer_create(ctx, x->device, WORKSPACE_BYTES, 0, &x->workspace);
}

/* ---- Heddle's kernels ---- */

static char *problem_text(const bench *x, bool row_major) {
  const hd_bench_problem *p = x->p;
  const char *t = heddle_elem_get(p->elem)->name, *d = heddle_elem_get(p->d_elem)->name;
  const char *acc = heddle_elem_get(hd_bench_accumulator(p->elem))->name;
  hd_strbuf s = {0};
  hd_strbuf_printf(
      &s,
      "module version=1 level=problem sync=none\n"
      "kernel {name = \"bench_%s_%s\", target = \"%s\"} {\n"
      "  %%m: i32 = size {dim = m, value = %lld}\n"
      "  %%n: i32 = size {dim = n, value = %lld}\n"
      "  %%k: i32 = size {dim = k, value = %lld}\n"
      "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n"
      "  %%b: matrix<%s> = dense %%k, %%n {type = %s, operand = b, order = k_major}\n"
      "  %%x: matrix<%s> = matmul %%a, %%b {acc = %s}\n"
      "  store %%x {type = %s, order = %s}\n}\n",
      t, row_major ? "row" : "col",
      x->options->target ? x->options->target : x->device->info.target, (long long)p->m,
      (long long)p->n, (long long)p->k, t, t, t, t, acc, acc, d,
      row_major ? "row_major" : "col_major");
  return hd_strbuf_take(&s);
}

static heddle_status launch_ours(heddle_context *ctx, void *user, size_t index, void *stream) {
  const ours *o = user;
  return heddle_kernel_launch(ctx, o->kernel, o->args + index % o->n_sets * o->n_args, o->n_args,
                              stream);
}

static heddle_arg argument(const bench *x, const char *name, size_t set, bool row_major) {
  heddle_arg arg = {0};
  if (strcmp(name, "a") == 0)
    arg.ptr = (const void *)(uintptr_t)x->a_packed.set[set].address;
  else if (strcmp(name, "b") == 0)
    arg.ptr = (const void *)(uintptr_t)x->b_sets.set[set].address;
  else if (strcmp(name, "d") == 0)
    arg.ptr = (const void *)(uintptr_t)x->d_sets.set[set].address;
  else if (strcmp(name, "workspace") == 0)
    arg.ptr = (const void *)(uintptr_t)x->workspace.address;
  else if (strcmp(name, "ldb") == 0)
    arg.i64 = x->p->k;
  else if (strcmp(name, "ldd") == 0)
    arg.i64 = row_major ? x->p->n : x->p->m;
  return arg;
}

static heddle_status add_kernel(heddle_context *ctx, bench *x, const char *schedule,
                                bool row_major) {
  ours *o = &x->kernel[x->n_kernels];
  *o = (ours){.row_major = row_major, .n_sets = x->n_sets};
  char *text = problem_text(x, row_major);
  heddle_compile_options options = {.target = x->options->target,
                                    .schedule = schedule,
                                    .ptxas = x->options->ptxas,
                                    .cache = x->options->cache};
  heddle_status status =
      heddle_compile(ctx, "bench", text, strlen(text), &options, &o->compiled);
  free(text);
  HD_TRY(status);
  x->n_kernels++;
  heddle_image image = {0};
  size_t json_bytes;
  const char *json = heddle_compiled_manifest(o->compiled, &json_bytes);
  image.cubin = heddle_compiled_cubin(o->compiled, &image.cubin_bytes);
  image.ptx = heddle_compiled_ptx(o->compiled, &image.ptx_bytes);
  HD_TRY(heddle_kernel_load(ctx, x->device->runtime, json, json_bytes, &image, &o->kernel));
  o->n_args = heddle_kernel_arg_count(o->kernel);
  o->args = hd_xmalloc(sizeof *o->args * o->n_args * o->n_sets);
  for (size_t s = 0; s < o->n_sets; s++)
    for (size_t i = 0; i < o->n_args; i++)
      o->args[s * o->n_args + i] =
          argument(x, heddle_kernel_arg_name(o->kernel, i), s, row_major);
  return HEDDLE_OK;
}

static heddle_status make_kernels(heddle_context *ctx, bench *x) {
  static const char *const only_default[] = {NULL};
  const char *const *schedules =
      x->options->n_schedules ? x->options->schedule : only_default;
  int32_t n = x->options->n_schedules ? x->options->n_schedules : 1;
  for (int32_t i = 0; i < n; i++)
    for (int row_major = 0; row_major < 2; row_major++)
      HD_TRY(add_kernel(ctx, x, schedules[i], row_major));
  return HEDDLE_OK;
}

/* ---- checking ---- */

static heddle_status check_rows(heddle_context *ctx, const bench *x, const ours *o, const void *d,
                                hd_bench_row *row) {
  const hd_bench_problem *p = x->p;
  uint64_t rows[CHECKED_ROWS], m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
  size_t n_rows = hd_reference_sample_rows(x->options->seed, m, CHECKED_ROWS, rows);
  hd_reference r = {.m = m,
                    .n = n,
                    .k = k,
                    .a = {x->a, p->elem, k, 1},
                    .b = {x->b, p->elem, 1, k},
                    .alpha = 1};
  double *expected = hd_xmalloc(sizeof *expected * n_rows * n);
  heddle_status status = hd_reference_rows(ctx, &r, rows, n_rows, expected);
  if (status == HEDDLE_OK) {
    unsigned k_instr = 32u * 16 / heddle_elem_get(p->elem)->container_bits;
    double bound = hd_error_bound(p->d_elem, p->elem, hd_bench_accumulator(p->elem), k, k_instr);
    hd_matrix out = {d, p->d_elem, o->row_major ? n : 1, o->row_major ? 1 : m};
    hd_comparison c = hd_compare_bounded(&out, n, rows, n_rows, expected, bound);
    row->ok = c.ok;
    row->error = c.error;
    row->bound = bound;
  }
  free(expected);
  return status;
}

/* Poison, one launch on each set, every set's D checked on sampled rows. */
static heddle_status check_ours(heddle_context *ctx, const bench *x, const ours *o,
                                hd_bench_row *row) {
  void *d = hd_xmalloc(x->d_bytes);
  heddle_status status = hd_buffer_fill(ctx, x->device, &x->d_sets.set[0], HD_POISON_BYTE);
  if (status == HEDDLE_OK)
    status = launch_ours(ctx, (void *)o, 0, x->device->stream);
  if (status == HEDDLE_OK)
    status = hd_device_sync(ctx, x->device);
  if (status == HEDDLE_OK)
    status = hd_buffer_download(ctx, x->device, &x->d_sets.set[0], d);
  if (status == HEDDLE_OK)
    status = check_rows(ctx, x, o, d, row);
  if (status == HEDDLE_OK)
    status = hd_buffer_check(ctx, x->device, &x->d_sets.set[0], "d");
  free(d);
  return status;
}

/* ---- the final ---- */

static heddle_status best_of(heddle_context *ctx, const bench *x, const hd_contender *list,
                             int32_t n, int32_t *best) {
  double least = INFINITY;
  *best = -1;
  for (int32_t i = 0; i < n; i++) {
    double seconds;
    if (hd_measure_quick(NULL, x->device, &list[i], x->n_sets, 1e-3, &seconds) != HEDDLE_OK)
      continue;
    if (seconds < least) {
      least = seconds;
      *best = i;
    }
  }
  if (*best >= 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "bench.contender",
                  "none of %d ways of %s could be launched", n, n ? list[0].name : "nothing");
}

static heddle_status pick_ours(heddle_context *ctx, bench *x, hd_contender *picked,
                               hd_bench_row *row) {
  hd_contender list[MOST_KERNELS];
  for (int32_t i = 0; i < x->n_kernels; i++)
    list[i] = (hd_contender){"heddle", launch_ours, &x->kernel[i]};
  int32_t best;
  HD_TRY(best_of(ctx, x, list, x->n_kernels, &best));
  const ours *o = &x->kernel[best];
  *picked = list[best];
  snprintf(row->name, sizeof row->name, "heddle %s %s", o->row_major ? "row" : "col",
           heddle_compiled_schedule(o->compiled));
  return check_ours(ctx, x, o, row);
}

static void add_final(hd_bench_result *result, hd_contender *final, const hd_contender *c) {
  hd_bench_row *row = &result->row[result->n_rows];
  snprintf(row->name, sizeof row->name, "%s", c->name);
  row->ok = true;
  final[result->n_rows++] = *c;
}

static heddle_status pick_peers(heddle_context *ctx, bench *x, hd_contender *final,
                                hd_bench_result *result) {
  hd_bench_case bc = {.m = x->p->m,
                      .n = x->p->n,
                      .k = x->p->k,
                      .elem = x->p->elem,
                      .d_elem = x->p->d_elem,
                      .a_dense = &x->a_dense,
                      .b = &x->b_sets,
                      .d = &x->d_sets,
                      .n_sets = x->n_sets,
                      .workspace = x->workspace.address,
                      .workspace_bytes = WORKSPACE_BYTES};
  for (int32_t i = 0; i < x->options->n_peers; i++) {
    const hd_contender *list;
    int32_t n, picked, best;
    heddle_context *quiet = heddle_context_create();
    heddle_status status =
        hd_peer_prepare(quiet, x->options->peer[i], &bc, &list, &n, &picked);
    if (status == HEDDLE_OK)
      status = best_of(quiet, x, list, n, &best);
    if (status == HEDDLE_OK) {
      add_final(result, final, &list[best]);
      if (picked >= 0 && picked != best)
        add_final(result, final, &list[picked]);
    } else if (quiet && heddle_context_count(quiet)) {
      snprintf(result->why, sizeof result->why, "%s", heddle_context_get(quiet, 0)->text);
    }
    heddle_context_free(quiet);
    if (status != HEDDLE_OK && status != HEDDLE_UNSUPPORTED && status != HEDDLE_ENVIRONMENT)
      return hd_error(ctx, status, HD_NOWHERE, "bench.peer", "%s", result->why);
  }
  return HEDDLE_OK;
}

static heddle_status run_final(heddle_context *ctx, bench *x, hd_bench_result *result) {
  hd_contender final[1 + 2 * HD_BENCH_PEERS];
  hd_timing timings[1 + 2 * HD_BENCH_PEERS];
  HD_TRY(pick_ours(ctx, x, &final[0], &result->row[0]));
  result->n_rows = 1;
  result->n_sets = x->n_sets;
  HD_TRY(pick_peers(ctx, x, final, result));
  hd_rounds rounds = hd_rounds_for(x->p->n);
  HD_TRY(hd_measure_rounds(ctx, x->device, final, result->n_rows, x->n_sets, &rounds, timings));
  for (int32_t i = 0; i < result->n_rows; i++)
    result->row[i].timing = timings[i];
  for (int32_t i = 0; i < result->n_rows && x->options->alone; i++)
    HD_TRY(hd_measure_alone(ctx, x->device, &final[i], x->n_sets, x->options->nvml,
                            &result->row[i].alone));
  hd_bench_row again = result->row[0];
  HD_TRY(check_ours(ctx, x, final[0].user, &again));
  result->row[0].ok &= again.ok;
  return HEDDLE_OK;
}

static void clean(bench *x) {
  for (int32_t i = 0; i < x->n_kernels; i++) {
    heddle_kernel_free(x->kernel[i].kernel);
    heddle_compiled_free(x->kernel[i].compiled);
    free(x->kernel[i].args);
  }
  hd_rotation_free(x->device, &x->a_dense);
  hd_rotation_free(x->device, &x->a_packed);
  hd_rotation_free(x->device, &x->b_sets);
  hd_rotation_free(x->device, &x->d_sets);
  hd_buffer_free(x->device, &x->workspace);
  free(x->a);
  free(x->b);
  free(x->packed);
}

heddle_status hd_bench_run(heddle_context *ctx, const hd_device *device,
                           const hd_bench_problem *problem, const hd_bench_options *options,
                           hd_bench_result *result) {
  bench x = {.device = device, .p = problem, .options = options};
  hd_bench_result r = {0};
  heddle_status status = make_operands(ctx, &x);
  if (status == HEDDLE_OK)
    status = make_kernels(ctx, &x);
  if (status == HEDDLE_OK)
    status = run_final(ctx, &x, &r);
  clean(&x);
  if (status == HEDDLE_OK)
    *result = r;
  return status;
}
