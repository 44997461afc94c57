/* heddle-groups-bench: groups beside Heddle's plain product of the same tokens, on a device.
 *
 * D[m, tokens] = A[g] B of each group: g experts of m x k, all tokens in one B. For each case one
 * line: microseconds of the groups, of the same by index (B gathered, D scattered) and of the plain
 * product of one expert with all tokens (interleaved, operands rotated so that they come from
 * DRAM), the ratios plain / groups and by index / groups, and the time in which the touched
 * experts' bytes, B and D could be read at --bandwidth over that of the groups. Values of D are
 * checked in double precision at random places, of a captured launch whose offsets have changed,
 * too; one that is wrong fails the run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference.h"
#include "Reference/routing.h"
#include "Runtime/device.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/strbuf.h"
#include "Tune/measure.h"
#include "Tune/rotated_kernel.h"
#include "heddle/cli.h"
#include "heddle/compile.h"
#include "heddle/sparse.h"

enum { EXPERTS = 4 /* that differ: expert i has the matrix of i % EXPERTS */, CHECKED = 256 };

/* What is timed. BY_INDEX: groups whose columns of B and of D stand in orders of their own. */
typedef enum way_kind { GROUPS, BY_INDEX, PLAIN, N_WAYS } way_kind;
static const char *const way_names[N_WAYS] = {"groups", "by_index", "plain"};

typedef struct options {
  const char *type, *groups, *tokens, *routings, *ptxas;
  const char *schedule, *index_schedule, *plain_schedule;
  int64_t m, k, seed, bandwidth;
  bool compile_only;
} options;

typedef struct bench_case {
  heddle_elem elem;
  int64_t g, m, n, k;
  hd_routing routing;
} bench_case;

/* One way: its kernel, and the arguments of each buffer set. */
typedef struct way {
  heddle_kernel *kernel;
  heddle_arg *args; /* owned: n_sets times n_args */
  size_t n_args, n_sets;
  hd_buffer workspace;
} way;

typedef struct bench {
  heddle_context *ctx;
  const hd_device *device;
  const options *o;
  bench_case c;
  void *dense[EXPERTS], *b; /* owned, as host matrices */
  int32_t *offsets, *from, *to; /* owned; from, to: of columns by index, each column once */
  size_t packed_bytes, row_bytes;
  hd_rotation a, bs, ds;
  hd_buffer at, gather, scatter;
  way ways[N_WAYS];
} bench;

/* ---- kernels ---- */

/* PLAIN: one expert with all tokens. */
static char *problem_text(const bench_case *c, way_kind kind) {
  bool by_index = kind == BY_INDEX;
  const char *type = heddle_elem_get(c->elem)->name, *acc = c->elem == HEDDLE_S8 ? "s32" : "f32";
  hd_strbuf s = {0};
  hd_strbuf_printf(&s, "module version=1 level=problem sync=none\nkernel {name = \"%s\", "
                   "target = \"sm_90a\"} {\n", way_names[kind]);
  if (kind != PLAIN)
    hd_strbuf_printf(&s, "  %%g: i32 = size {dim = g, value = %lld}\n", (long long)c->g);
  if (by_index)
    hd_strbuf_printf(&s, "  %%t: i32 = size {dim = t, value = %lld}\n", (long long)c->n);
  hd_strbuf_printf(&s,
                   "  %%m: i32 = size {dim = m, value = %lld}\n"
                   "  %%n: i32 = size {dim = n, value = %lld}\n"
                   "  %%k: i32 = size {dim = k, value = %lld}\n"
                   "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n"
                   "  %%b: matrix<%s> = dense %%k, %%%s {type = %s, operand = b, "
                   "order = k_major}\n",
                   (long long)c->m, (long long)c->n, (long long)c->k, type, type, type,
                   by_index ? "t" : "n", type);
  if (kind != PLAIN)
    hd_strbuf_add(&s, "  %o: matrix<s32> = vector {type = s32, operand = offsets}\n");
  if (by_index)
    hd_strbuf_add(&s, "  %from: matrix<s32> = vector %n {type = s32, operand = gather_b}\n"
                      "  %to: matrix<s32> = vector %n {type = s32, operand = scatter_d}\n");
  hd_strbuf_printf(&s,
                   "  %%x: matrix<%s> = matmul %%a, %%b {acc = %s}\n"
                   "  store %%x {type = bf16, order = col_major}\n}\n", acc, acc);
  return hd_strbuf_take(&s);
}

static heddle_status compile(heddle_context *ctx, const options *o, const bench_case *c,
                             way_kind kind, heddle_compiled **compiled) {
  const char *const schedules[N_WAYS] = {o->schedule, o->index_schedule, o->plain_schedule};
  char *text = problem_text(c, kind);
  heddle_compile_options with = {.ptxas = o->ptxas, .schedule = schedules[kind]};
  heddle_status status =
      heddle_compile(ctx, way_names[kind], text, strlen(text), &with, compiled);
  hd_free(text);
  return status;
}

/* ---- operands ---- */

static const void *address(const hd_buffer *buffer) {
  return (const void *)(uintptr_t)buffer->address;
}

static heddle_arg argument(const bench *b, const char *name, size_t set) {
  const struct {
    const char *name;
    heddle_arg arg;
  } list[] = {{"a", {.ptr = address(&b->a.set[set])}},
              {"b", {.ptr = address(&b->bs.set[set])}},
              {"d", {.ptr = address(&b->ds.set[set])}},
              {"offsets", {.ptr = address(&b->at)}},
              {"gather_b", {.ptr = address(&b->gather)}},
              {"scatter_d", {.ptr = address(&b->scatter)}},
              {"ldb", {.i64 = b->c.k}},
              {"ldd", {.i64 = b->c.m}},
              {"stride_a", {.i64 = (int64_t)b->packed_bytes}}};
  for (size_t i = 0; i < HD_COUNT(list); i++)
    if (!strcmp(name, list[i].name))
      return list[i].arg;
  return (heddle_arg){0};
}

static heddle_status make_experts(bench *b, uint8_t *packed) {
  uint64_t m = (uint64_t)b->c.m, k = (uint64_t)b->c.k;
  for (int64_t i = 0; i < b->c.g; i++) {
    uint8_t *to = packed + (size_t)i * b->packed_bytes;
    if (i >= EXPERTS) {
      memcpy(to, packed + (size_t)(i % EXPERTS) * b->packed_bytes, b->packed_bytes);
      continue;
    }
    hd_fill fill = {.seed = (uint64_t)b->o->seed + (uint64_t)i};
    b->dense[i] = hd_xmalloc(m * b->row_bytes);
    hd_fill_sparse(&fill, b->c.elem, m, k, b->dense[i], k);
    HD_TRY(heddle_sparse_pack_dense(b->ctx, b->c.elem, HEDDLE_FAMILY_WGMMA, m, k, b->dense[i],
                                    b->row_bytes, to));
  }
  return HEDDLE_OK;
}

/* n numbers of device memory; owned, as is the buffer. */
static heddle_status upload_index(bench *b, int64_t n, const int32_t *index, hd_buffer *buffer) {
  HD_TRY(hd_buffer_create(b->ctx, b->device, 4 * (size_t)n, 0, buffer));
  return hd_buffer_upload(b->ctx, b->device, buffer, index);
}

static heddle_status make_indices(bench *b) {
  const bench_case *c = &b->c;
  uint64_t seed = (uint64_t)b->o->seed;
  b->offsets = hd_xmalloc(4 * (size_t)(c->g + 1));
  b->from = hd_xmalloc(4 * (size_t)c->n);
  b->to = hd_xmalloc(4 * (size_t)c->n);
  hd_routing_fill(c->routing, seed, c->g, c->n, b->offsets);
  hd_routing_scatter(c->routing, seed + 1, c->n, b->from);
  hd_routing_scatter(c->routing, seed + 2, c->n, b->to);
  HD_TRY(upload_index(b, c->g + 1, b->offsets, &b->at));
  HD_TRY(upload_index(b, c->n, b->from, &b->gather));
  return upload_index(b, c->n, b->to, &b->scatter);
}

static heddle_status make_operands(bench *b) {
  const bench_case *c = &b->c;
  uint64_t m = (uint64_t)c->m, k = (uint64_t)c->k;
  HD_TRY(heddle_sparse_packed_bytes(b->ctx, c->elem, HEDDLE_FAMILY_WGMMA, m, k, &b->packed_bytes));
  HD_TRY(heddle_sparse_dense_row_bytes(b->ctx, c->elem, k, &b->row_bytes));
  size_t a_bytes = b->packed_bytes * (size_t)c->g, b_bytes = b->row_bytes * (size_t)c->n;
  size_t d_bytes = 2 * (size_t)(c->m * c->n);
  size_t n_sets = hd_measure_sets(a_bytes + b_bytes + d_bytes);
  uint8_t *packed = hd_xmalloc(a_bytes);
  heddle_status status = make_experts(b, packed);
  if (status == HEDDLE_OK)
    status = hd_rotation_create(b->ctx, b->device, packed, a_bytes, n_sets, &b->a);
  hd_free(packed);
  HD_TRY(status);
  hd_fill fill = {.seed = (uint64_t)b->o->seed + 100};
  b->b = hd_xmalloc(b_bytes);
  hd_fill_dense(&fill, c->elem, (uint64_t)c->n, k, b->b, k);
  HD_TRY(hd_rotation_create(b->ctx, b->device, b->b, b_bytes, n_sets, &b->bs));
  HD_TRY(hd_rotation_create(b->ctx, b->device, NULL, d_bytes, n_sets, &b->ds));
  return make_indices(b);
}

static void free_bench(bench *b) {
  for (int i = 0; i < EXPERTS; i++)
    hd_free(b->dense[i]);
  for (int i = 0; i < N_WAYS; i++) {
    heddle_kernel_free(b->ways[i].kernel);
    hd_free(b->ways[i].args);
    hd_buffer_free(b->device, &b->ways[i].workspace);
  }
  hd_free(b->b);
  hd_free(b->offsets);
  hd_free(b->from);
  hd_free(b->to);
  hd_rotation_free(b->device, &b->a);
  hd_rotation_free(b->device, &b->bs);
  hd_rotation_free(b->device, &b->ds);
  hd_buffer_free(b->device, &b->at);
  hd_buffer_free(b->device, &b->gather);
  hd_buffer_free(b->device, &b->scatter);
}

/* ---- launches ---- */

/* A plain product may share tiles. */
static heddle_status give_workspace(bench *b, way *w) {
  uint64_t n_bytes = 0;
  HD_TRY(heddle_kernel_workspace(b->ctx, w->kernel, w->args, w->n_args, &n_bytes));
  if (n_bytes == 0)
    return HEDDLE_OK;
  HD_TRY(hd_buffer_create(b->ctx, b->device, (size_t)n_bytes, 0, &w->workspace));
  for (size_t i = 0; i < w->n_args * w->n_sets; i++)
    if (!strcmp(heddle_kernel_arg_name(w->kernel, i % w->n_args), "workspace"))
      w->args[i].ptr = address(&w->workspace);
  return hd_buffer_fill(b->ctx, b->device, &w->workspace, 0);
}

static heddle_status load(bench *b, way_kind kind) {
  way *w = &b->ways[kind];
  heddle_compiled *compiled = NULL;
  HD_TRY(compile(b->ctx, b->o, &b->c, kind, &compiled));
  heddle_status status = hd_load_compiled(b->ctx, b->device->runtime, compiled, &w->kernel);
  heddle_compiled_free(compiled);
  HD_TRY(status);
  w->n_args = heddle_kernel_arg_count(w->kernel);
  w->n_sets = b->a.n_sets;
  w->args = hd_xmalloc(w->n_args * w->n_sets * sizeof *w->args);
  for (size_t i = 0; i < w->n_args * w->n_sets; i++)
    w->args[i] =
        argument(b, heddle_kernel_arg_name(w->kernel, i % w->n_args), i / w->n_args);
  return give_workspace(b, w);
}

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const way *w = user;
  return heddle_kernel_launch(ctx, w->kernel, w->args + index % w->n_sets * w->n_args, w->n_args,
                              stream);
}

/* ---- the check ---- */

static int64_t group_of(const bench *b, int64_t column) {
  int64_t g = 0, first, end;
  for (;; g++) {
    hd_routing_columns(b->offsets, g, b->c.n, &first, &end);
    if (column < end)
      return g;
  }
}

/* What set 0 of D holds with b's offsets. */
static heddle_status compare(bench *b, way_kind kind) {
  const bench_case *c = &b->c;
  size_t d_bytes = 2 * (size_t)(c->m * c->n);
  uint8_t *d = hd_xmalloc(d_bytes);
  heddle_status status = hd_buffer_download(b->ctx, b->device, &b->ds.set[0], d);
  for (int64_t i = 0; i < CHECKED && status == HEDDLE_OK; i++) {
    int64_t column = (i * 7919 + 13) % c->n;
    int64_t of_b = kind == BY_INDEX ? b->from[column] : column;
    int64_t of_d = kind == BY_INDEX ? b->to[column] : column;
    uint64_t row = (uint64_t)(i * 104729) % (uint64_t)c->m;
    hd_reference r = {.m = (uint64_t)c->m, .n = 1, .k = (uint64_t)c->k, .alpha = 1};
    r.a = (hd_matrix){b->dense[group_of(b, column) % EXPERTS], c->elem, (uint64_t)c->k, 1};
    r.b = (hd_matrix){(uint8_t *)b->b + (size_t)of_b * b->row_bytes, c->elem, 1, (uint64_t)c->k};
    double expected, got = hd_elem_load(HEDDLE_BF16, d, (size_t)(of_d * c->m) + row);
    status = hd_reference_rows(b->ctx, &r, &row, 1, &expected);
    if (status == HEDDLE_OK && !(fabs(got - expected) <= 0.02 * fabs(expected) + 0.5))
      status = hd_error(b->ctx, HEDDLE_MISMATCH, HD_NOWHERE, "bench.groups",
                        "%s: D[%lld, %lld] is %g, the reference's %g", way_names[kind],
                        (long long)row, (long long)of_d, got, expected);
  }
  hd_free(d);
  return status;
}

static heddle_status check(bench *b, way_kind kind) {
  HD_TRY(hd_buffer_fill(b->ctx, b->device, &b->ds.set[0], HD_POISON_BYTE));
  HD_TRY(launch(b->ctx, &b->ways[kind], 0, b->device->stream));
  HD_TRY(hd_device_sync(b->ctx, b->device));
  return compare(b, kind);
}

static heddle_status route(bench *b, hd_routing routing) {
  hd_routing_fill(routing, (uint64_t)b->o->seed, b->c.g, b->c.n, b->offsets);
  return hd_buffer_upload(b->ctx, b->device, &b->at, b->offsets);
}

static heddle_status replay(bench *b, const hd_graph *graph, way_kind kind) {
  double seconds;
  HD_TRY(hd_buffer_fill(b->ctx, b->device, &b->ds.set[0], HD_POISON_BYTE));
  HD_TRY(hd_graph_time(b->ctx, b->device, graph, 1, &seconds));
  return compare(b, kind);
}

/* A captured launch follows offsets that change under it. */
static heddle_status check_captured(bench *b, way_kind kind) {
  hd_graph graph;
  hd_routing other = b->c.routing == HD_ROUTING_ONE ? HD_ROUTING_ZIPF : HD_ROUTING_ONE;
  HD_TRY(hd_graph_capture(b->ctx, b->device, launch, &b->ways[kind], 1, &graph));
  heddle_status status = route(b, other);
  if (status == HEDDLE_OK)
    status = replay(b, &graph, kind);
  hd_graph_free(b->device, &graph);
  HD_TRY(status);
  return route(b, b->c.routing);
}

/* ---- a case ---- */

static double touched_bytes(const bench *b) {
  double bytes = (double)b->row_bytes * (double)b->c.n + 2.0 * (double)(b->c.m * b->c.n);
  int64_t first, end;
  for (int64_t i = 0; i < b->c.g; i++) {
    hd_routing_columns(b->offsets, i, b->c.n, &first, &end);
    bytes += first < end ? (double)b->packed_bytes : 0;
  }
  return bytes;
}

static void print_line(const bench *b, const hd_timing *t) {
  double floor = touched_bytes(b) / ((double)b->o->bandwidth * 1e9);
  printf("%-6s %4lld %9s %6lld %6lld %6lld %10.2f %10.2f %10.2f %8.3f %8.3f %8.3f\n",
         heddle_elem_get(b->c.elem)->name, (long long)b->c.g, hd_routing_name(b->c.routing),
         (long long)b->c.m, (long long)b->c.k, (long long)b->c.n, t[GROUPS].median * 1e6,
         t[BY_INDEX].median * 1e6, t[PLAIN].median * 1e6, t[PLAIN].median / t[GROUPS].median,
         t[BY_INDEX].median / t[GROUPS].median, floor / t[GROUPS].median);
  fflush(stdout);
}

static heddle_status run_on(bench *b) {
  hd_timing timings[N_WAYS];
  hd_contender list[N_WAYS] = {0};
  HD_TRY(make_operands(b));
  for (way_kind kind = GROUPS; kind < N_WAYS; kind++) {
    HD_TRY(load(b, kind));
    if (kind != PLAIN) {
      HD_TRY(check(b, kind));
      HD_TRY(check_captured(b, kind));
    }
    snprintf(list[kind].name, sizeof list[kind].name, "%s", way_names[kind]);
    list[kind].launch = launch;
    list[kind].user = &b->ways[kind];
  }
  hd_rounds rounds = hd_rounds_for(b->c.n);
  HD_TRY(hd_measure_rounds(b->ctx, b->device, list, N_WAYS, b->a.n_sets, &rounds, timings, NULL));
  print_line(b, timings);
  return HEDDLE_OK;
}

static heddle_status run_case(heddle_context *ctx, const hd_device *device, const options *o,
                              const bench_case *c) {
  bench b = {.ctx = ctx, .device = device, .o = o, .c = *c};
  if (device) {
    heddle_status status = run_on(&b);
    free_bench(&b);
    return status;
  }
  for (way_kind kind = GROUPS; kind < N_WAYS; kind++) {
    heddle_compiled *compiled = NULL;
    HD_TRY(compile(ctx, o, c, kind, &compiled));
    printf("%-8s g=%lld m=%lld k=%lld n=%lld: %s\n", way_names[kind], (long long)c->g,
           (long long)c->m, (long long)c->k, (long long)c->n, heddle_compiled_schedule(compiled));
    heddle_compiled_free(compiled);
  }
  return HEDDLE_OK;
}

/* ---- all cases ---- */

/* The i-th word of a list "8,32": false past the last. */
static bool word_at(const char *list, int i, char out[32]) {
  for (; i > 0 && list; i--)
    list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
  if (!list || !*list)
    return false;
  size_t n = strcspn(list, ",");
  snprintf(out, 32, "%.*s", (int)(n < 31 ? n : 31), list);
  return true;
}

static heddle_status run_all(heddle_context *ctx, const hd_device *device, const options *o) {
  char type[32], groups[32], tokens[32], routing[32];
  printf("%-6s %4s %9s %6s %6s %6s %10s %10s %10s %8s %8s %8s\n", "type", "g", "routing", "m", "k",
         "tokens", "groups_us", "index_us", "plain_us", "ratio", "index", "of_read");
  for (int t = 0; word_at(o->type, t, type); t++)
    for (int g = 0; word_at(o->groups, g, groups); g++)
      for (int n = 0; word_at(o->tokens, n, tokens); n++)
        for (int r = 0; word_at(o->routings, r, routing); r++) {
          bench_case c = {.g = atoll(groups), .m = o->m, .n = atoll(tokens), .k = o->k};
          if (heddle_elem_parse(type, &c.elem) != HEDDLE_OK ||
              hd_routing_parse(routing, &c.routing) != HEDDLE_OK || c.g < 1 || c.n < 1)
            return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bench.groups",
                            "got %s g=%s tokens=%s routing=%s; legal: a type, numbers, a routing",
                            type, groups, tokens, routing);
          HD_TRY(run_case(ctx, device, o, &c));
        }
  return HEDDLE_OK;
}

static heddle_status run_device(heddle_context *ctx, const options *o) {
  heddle_runtime *runtime = NULL;
  hd_device *device = NULL;
  HD_TRY(heddle_runtime_create(ctx, NULL, &runtime));
  heddle_status status = hd_device_open(ctx, runtime, 0, &device);
  if (status == HEDDLE_OK)
    status = run_all(ctx, device, o);
  hd_device_close(device);
  heddle_runtime_free(runtime);
  return status;
}

static int groups_bench(int argc, char **argv) {
  options o = {.type = "bf16,e4m3", .groups = "8,64,256", .tokens = "64,512,8192,32768",
               .routings = "balanced,zipf", .m = 4096, .k = 2048, .seed = 1, .bandwidth = 4180};
  const cli_option list[] = {
      {"types", CLI_TEXT, &o.type, "T,T", "element types (bf16,e4m3)"},
      {"groups", CLI_TEXT, &o.groups, "G,G", "experts (8,64,256)"},
      {"tokens", CLI_TEXT, &o.tokens, "N,N", "columns in all (64,512,8192,32768)"},
      {"routings", CLI_TEXT, &o.routings, "R,R", "balanced, zipf, random, one"},
      {"m", CLI_INT, &o.m, "M", "rows of an expert (4096)"},
      {"k", CLI_INT, &o.k, "K", "columns of an expert (2048)"},
      {"schedule", CLI_TEXT, &o.schedule, "S", "of the groups, over the default"},
      {"index-schedule", CLI_TEXT, &o.index_schedule, "S", "of the groups by index"},
      {"plain-schedule", CLI_TEXT, &o.plain_schedule, "S", "of the plain product"},
      {"bandwidth", CLI_INT, &o.bandwidth, "GB/s", "that of_read counts with (4180)"},
      {"seed", CLI_INT, &o.seed, "S", "of operands and routings"},
      {"ptxas", CLI_TEXT, &o.ptxas, "PATH", "instead of the driver's compiler"},
      {"compile-only", CLI_FLAG, &o.compile_only, NULL, "print the schedules; needs no device"},
      {0}};
  const cli_command command = {
      "heddle-groups-bench [OPTIONS]",
      "Groups, and groups by index, beside Heddle's plain product of the same tokens, on a device.",
      "heddle-groups-bench --groups 8,256 --tokens 64,8192\n", list, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = o.compile_only ? run_all(ctx, NULL, &o) : run_device(ctx, &o);
  return cli_finish(ctx, status);
}

int main(int argc, char **argv) { return cli_close(groups_bench(argc, argv)); }
