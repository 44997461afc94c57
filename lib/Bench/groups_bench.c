#include "Bench/groups_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Bench/stream_kernel.h"
#include "Reference/operands.h"
#include "Reference/reference.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/parallel.h"
#include "Support/strbuf.h"
#include "Tune/measure.h"
#include "Tune/rotated_kernel.h"

enum {
  EXPERTS = 4, /* that differ: expert i has the matrix of i % EXPERTS */
  CHECKED = 256,
  BLOCK = 128 /* elements of k that share a block scale */
};

static const char *const kind_names[HD_N_GROUPS_KINDS] = {"groups", "by_index", "plain", "read"};

const char *hd_groups_kind_name(hd_groups_kind kind) { return kind_names[kind]; }

double hd_groups_seconds(const hd_groups_row *row) {
  return row->alone.sustained > 0 ? row->alone.sustained : row->timing.median;
}

struct bench;

/* One way: its kernel, and the arguments of each buffer set. */
typedef struct way {
  const struct bench *bench;
  hd_groups_kind kind;
  heddle_kernel *kernel; /* NULL: it reads */
  heddle_arg *args;      /* owned: n_sets times n_args */
  size_t n_args, n_sets;
  hd_buffer workspace;
} way;

typedef struct bench {
  heddle_context *ctx;
  const hd_device *device;
  const hd_groups_options *o;
  hd_groups_problem p;
  void *dense[EXPERTS], *b; /* owned, as host matrices */
  int32_t *offsets, *from, *to; /* owned; from, to: of columns by index, each column once */
  float *scales[2];             /* owned: block scales of all experts' A, of B; NULL: none */
  size_t packed_bytes, row_bytes, touched_bytes; /* touched: of packed A */
  hd_rotation a, bs, ds;
  hd_buffer at, gather, scatter, scale[2];
  hd_stream stream;
  way ways[HD_GROUPS_MOST_WAYS];
  hd_groups_result *result;
} bench;

/* ---- block scales: one line of scales for each BLOCK of k ---- */

static hd_product product_of(const hd_groups_problem *p) {
  return (hd_product){.m = p->m, .n = p->n, .k = p->k, .epilogue.blocks = p->blocks};
}

/* The pitch of a line of A's scales (which 0) or B's; the lines of a matrix. */
static int64_t line_of(const hd_groups_problem *p, int which) {
  hd_product product = product_of(p);
  return hd_product_scales(&product, which);
}
static int64_t lines_of(const hd_groups_problem *p) { return (p->k + BLOCK - 1) / BLOCK; }

static void add_scales_text(const hd_groups_problem *p, bool by_index, hd_strbuf *s) {
  hd_strbuf_add(s, "  %sa: matrix<f32> = block_scale %m, %k {type = f32, operand = a, block = 128");
  hd_strbuf_add(s, p->blocks == 'b' ? ", rows = 128}\n" : "}\n");
  hd_strbuf_printf(s, "  %%sb: matrix<f32> = block_scale %%%s, %%k {type = f32, operand = b, "
                      "block = 128}\n",
                   by_index ? "t" : "n");
}

static heddle_status make_scales(bench *b) {
  for (int i = 0; i < 2 && b->p.blocks; i++) {
    uint64_t lines = (uint64_t)(lines_of(&b->p) * (i ? 1 : b->p.g));
    uint64_t line = (uint64_t)line_of(&b->p, i);
    size_t n_bytes = lines * line * sizeof(float);
    hd_fill fill = {.seed = b->o->seed + 200 + (uint64_t)i};
    b->scales[i] = hd_try_malloc(b->ctx, n_bytes, "block scales");
    if (!b->scales[i])
      return HEDDLE_NO_MEMORY;
    hd_fill_scales(&fill, HEDDLE_F32, lines, line, b->scales[i]);
    HD_TRY(hd_buffer_create(b->ctx, b->device, n_bytes, 0, &b->scale[i]));
    HD_TRY(hd_buffer_upload(b->ctx, b->device, &b->scale[i], b->scales[i]));
  }
  return HEDDLE_OK;
}

static void reference_scales(const bench *b, int64_t expert, int64_t column, hd_reference *r) {
  int64_t line[] = {line_of(&b->p, 0), line_of(&b->p, 1)};
  hd_product product = product_of(&b->p);
  if (!b->p.blocks)
    return;
  r->block = BLOCK;
  r->block_rows = (unsigned)hd_product_block_rows(&product);
  r->block_a = (hd_matrix){b->scales[0] + expert * lines_of(&b->p) * line[0], HEDDLE_F32, 1,
                           (uint64_t)line[0]};
  r->block_b = (hd_matrix){b->scales[1] + column, HEDDLE_F32, 1, (uint64_t)line[1]};
}

/* ---- kernels ---- */

/* PLAIN: one expert with all tokens. */
static char *problem_text(const hd_groups_problem *p, hd_groups_kind kind, const char *target) {
  bool by_index = kind == HD_GROUPS_BY_INDEX, plain = kind == HD_GROUPS_PLAIN;
  const heddle_elem_info *elem = heddle_elem_get(p->elem);
  const char *acc = heddle_elem_get(elem->acc)->name;
  hd_strbuf s = {0};
  hd_strbuf_printf(&s, "module version=1 level=problem sync=none\nkernel {name = \"%s\", "
                   "target = \"%s\"} {\n", kind_names[kind], target);
  if (!plain)
    hd_strbuf_printf(&s, "  %%g: i32 = size {dim = g, value = %lld}\n", (long long)p->g);
  if (by_index)
    hd_strbuf_printf(&s, "  %%t: i32 = size {dim = t, value = %lld}\n", (long long)p->n);
  hd_strbuf_printf(&s,
                   "  %%m: i32 = size {dim = m, value = %lld}\n"
                   "  %%n: i32 = size {dim = n, value = %lld}\n"
                   "  %%k: i32 = size {dim = k, value = %lld}\n"
                   "  %%a: matrix<%s> = sparse %%m, %%k {type = %s}\n"
                   "  %%b: matrix<%s> = dense %%k, %%%s {type = %s, operand = b, "
                   "order = k_major}\n",
                   (long long)p->m, (long long)p->n, (long long)p->k, elem->name, elem->name,
                   elem->name, by_index ? "t" : "n", elem->name);
  if (!plain)
    hd_strbuf_add(&s, "  %o: matrix<s32> = vector {type = s32, operand = offsets}\n");
  if (by_index)
    hd_strbuf_add(&s, "  %from: matrix<s32> = vector %n {type = s32, operand = gather_b}\n"
                      "  %to: matrix<s32> = vector %n {type = s32, operand = scatter_d}\n");
  if (p->blocks)
    add_scales_text(p, by_index, &s);
  hd_strbuf_printf(&s,
                   "  %%x: matrix<%s> = matmul %%a, %%b%s {acc = %s}\n"
                   "  store %%x {type = %s, order = col_major}\n}\n", acc,
                   p->blocks ? ", %sa, %sb" : "", acc, heddle_elem_get(p->d_elem)->name);
  return hd_strbuf_take(&s);
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
              {"block_scale_a", {.ptr = address(&b->scale[0])}},
              {"block_scale_b", {.ptr = address(&b->scale[1])}},
              {"ldsa", {.i64 = line_of(&b->p, 0)}},
              {"ldsb", {.i64 = line_of(&b->p, 1)}},
              {"ldb", {.i64 = b->p.k}},
              {"ldd", {.i64 = b->p.m}},
              {"stride_a", {.i64 = (int64_t)b->packed_bytes}}};
  for (size_t i = 0; i < HD_COUNT(list); i++)
    if (!strcmp(name, list[i].name))
      return list[i].arg;
  return (heddle_arg){0};
}

/* The experts that differ, behind one another. */
typedef struct experts {
  bench *bench;
  uint8_t *packed;
  heddle_status status[EXPERTS];
} experts;

static void make_expert(void *user, int32_t i) {
  experts *x = user;
  bench *b = x->bench;
  uint64_t m = (uint64_t)b->p.m, k = (uint64_t)b->p.k;
  hd_fill fill = {.seed = b->o->seed + (uint64_t)i};
  b->dense[i] = hd_xmalloc(m * b->row_bytes);
  hd_fill_sparse(&fill, b->p.elem, m, k, b->dense[i], k);
  x->status[i] = heddle_sparse_pack_dense(NULL, b->p.elem, HEDDLE_FAMILY_WGMMA, m, k, b->dense[i],
                                          b->row_bytes, x->packed + (size_t)i * b->packed_bytes);
}

static heddle_status make_experts(bench *b, uint8_t *packed) {
  experts x = {.bench = b, .packed = packed};
  int32_t n = b->p.g < EXPERTS ? (int32_t)b->p.g : EXPERTS;
  hd_parallel(b->o->n_jobs, n, make_expert, &x);
  for (int32_t i = 0; i < n; i++)
    HD_TRY(x.status[i]);
  for (int64_t i = EXPERTS; i < b->p.g; i++)
    memcpy(packed + (size_t)i * b->packed_bytes, packed + (size_t)(i % EXPERTS) * b->packed_bytes,
           b->packed_bytes);
  return HEDDLE_OK;
}

/* n numbers of device memory; owned, as is the buffer. */
static heddle_status upload_index(bench *b, int64_t n, const int32_t *index, hd_buffer *buffer) {
  HD_TRY(hd_buffer_create(b->ctx, b->device, 4 * (size_t)n, 0, buffer));
  return hd_buffer_upload(b->ctx, b->device, buffer, index);
}

static heddle_status make_indices(bench *b) {
  const hd_groups_problem *p = &b->p;
  b->offsets = hd_xmalloc(4 * (size_t)(p->g + 1));
  b->from = hd_xmalloc(4 * (size_t)p->n);
  b->to = hd_xmalloc(4 * (size_t)p->n);
  hd_routing_fill(p->routing, b->o->seed, p->g, p->n, b->offsets);
  hd_routing_scatter(p->routing, b->o->seed + 1, p->n, b->from);
  hd_routing_scatter(p->routing, b->o->seed + 2, p->n, b->to);
  HD_TRY(upload_index(b, p->g + 1, b->offsets, &b->at));
  HD_TRY(upload_index(b, p->n, b->from, &b->gather));
  return upload_index(b, p->n, b->to, &b->scatter);
}

static size_t d_bytes(const bench *b) {
  return heddle_elem_get(b->p.d_elem)->container_bits / 8 * (size_t)(b->p.m * b->p.n);
}

/* Packed A of the experts that have a column. */
static size_t touched_bytes(const bench *b) {
  size_t bytes = 0;
  for (int64_t i = 0; i < b->p.g; i++) {
    int64_t first, end;
    hd_routing_columns(b->offsets, i, b->p.n, &first, &end);
    bytes += first < end ? b->packed_bytes : 0;
  }
  return bytes;
}

static heddle_status make_operands(bench *b) {
  const hd_groups_problem *p = &b->p;
  uint64_t m = (uint64_t)p->m, k = (uint64_t)p->k;
  HD_TRY(heddle_sparse_packed_bytes(b->ctx, p->elem, HEDDLE_FAMILY_WGMMA, m, k, &b->packed_bytes));
  HD_TRY(heddle_sparse_dense_row_bytes(b->ctx, p->elem, k, &b->row_bytes));
  size_t a_bytes = b->packed_bytes * (size_t)p->g, b_bytes = b->row_bytes * (size_t)p->n;
  size_t n_sets = hd_measure_sets(a_bytes + b_bytes + d_bytes(b));
  uint8_t *packed = hd_try_malloc(b->ctx, a_bytes, "packed experts");
  if (!packed)
    return HEDDLE_NO_MEMORY;
  heddle_status status = make_experts(b, packed);
  if (status == HEDDLE_OK)
    status = hd_rotation_create(b->ctx, b->device, packed, a_bytes, n_sets, &b->a);
  hd_free(packed);
  HD_TRY(status);
  hd_fill fill = {.seed = b->o->seed + 100};
  b->b = hd_xmalloc(b_bytes);
  hd_fill_dense(&fill, p->elem, (uint64_t)p->n, k, b->b, k);
  HD_TRY(hd_rotation_create(b->ctx, b->device, b->b, b_bytes, n_sets, &b->bs));
  HD_TRY(hd_rotation_create(b->ctx, b->device, NULL, d_bytes(b), n_sets, &b->ds));
  HD_TRY(make_indices(b));
  HD_TRY(make_scales(b));
  b->touched_bytes = touched_bytes(b);
  b->result->read_bytes = (double)(b->touched_bytes + b_bytes + d_bytes(b));
  return hd_stream_open(b->ctx, b->device, &b->stream);
}

static void free_bench(bench *b) {
  for (int i = 0; i < EXPERTS; i++)
    hd_free(b->dense[i]);
  for (int i = 0; i < HD_GROUPS_MOST_WAYS; i++) {
    heddle_kernel_free(b->ways[i].kernel);
    hd_free(b->ways[i].args);
    hd_buffer_free(b->device, &b->ways[i].workspace);
  }
  hd_free(b->b);
  hd_free(b->offsets);
  hd_free(b->from);
  hd_free(b->to);
  hd_stream_close(&b->stream);
  hd_rotation_free(b->device, &b->a);
  hd_rotation_free(b->device, &b->bs);
  hd_rotation_free(b->device, &b->ds);
  hd_buffer_free(b->device, &b->at);
  hd_buffer_free(b->device, &b->gather);
  hd_buffer_free(b->device, &b->scatter);
  for (int i = 0; i < 2; i++) {
    hd_buffer_free(b->device, &b->scale[i]);
    hd_free(b->scales[i]);
  }
}

/* ---- launches ---- */

static heddle_status load(const bench *b, const heddle_compiled *compiled, way *w) {
  HD_TRY(hd_load_compiled(b->ctx, b->device->runtime, compiled, &w->kernel));
  w->n_args = heddle_kernel_arg_count(w->kernel);
  w->n_sets = b->a.n_sets;
  w->args = hd_xmalloc(w->n_args * w->n_sets * sizeof *w->args);
  for (size_t i = 0; i < w->n_args * w->n_sets; i++)
    w->args[i] = argument(b, heddle_kernel_arg_name(w->kernel, i % w->n_args), i / w->n_args);
  uint64_t n_bytes = 0; /* a plain product may share tiles, groups by index copy B */
  HD_TRY(heddle_kernel_workspace(b->ctx, w->kernel, w->args, w->n_args, &n_bytes));
  if (n_bytes == 0)
    return HEDDLE_OK;
  HD_TRY(hd_buffer_create(b->ctx, b->device, (size_t)n_bytes, 0, &w->workspace));
  for (size_t i = 0; i < w->n_args * w->n_sets; i++)
    if (!strcmp(heddle_kernel_arg_name(w->kernel, i % w->n_args), "workspace"))
      w->args[i].ptr = address(&w->workspace);
  return hd_buffer_fill(b->ctx, b->device, &w->workspace, 0);
}

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const way *w = user;
  return heddle_kernel_launch(ctx, w->kernel, w->args + index % w->n_sets * w->n_args, w->n_args,
                              stream);
}

static heddle_status read_touched(heddle_context *ctx, void *user, size_t index, void *stream) {
  const bench *b = ((const way *)user)->bench;
  size_t set = index % b->a.n_sets;
  const hd_stream_range ranges[] = {{b->a.set[set].address, b->touched_bytes},
                                    {b->bs.set[set].address, b->bs.set[set].n_bytes},
                                    {b->ds.set[set].address, b->ds.set[set].n_bytes}};
  return hd_stream_read(ctx, &b->stream, ranges, HD_COUNT(ranges), b->at.address, stream);
}

/* ---- the check ---- */

static int64_t group_of(const bench *b, int64_t column) {
  int64_t g = 0, first, end;
  for (;; g++) {
    hd_routing_columns(b->offsets, g, b->p.n, &first, &end);
    if (column < end)
      return g;
  }
}

/* One value of set 0 of D, at the column of the products. */
static heddle_status compare_one(const bench *b, hd_groups_kind kind, const uint8_t *d,
                                 int64_t column, uint64_t row) {
  const hd_groups_problem *p = &b->p;
  bool by_index = kind == HD_GROUPS_BY_INDEX;
  int64_t of_b = by_index ? b->from[column] : column, of_d = by_index ? b->to[column] : column;
  int64_t expert = kind == HD_GROUPS_PLAIN ? 0 : group_of(b, column);
  hd_reference r = {.m = (uint64_t)p->m, .n = 1, .k = (uint64_t)p->k, .alpha = 1};
  r.a = (hd_matrix){b->dense[expert % EXPERTS], p->elem, (uint64_t)p->k, 1};
  r.b = (hd_matrix){(uint8_t *)b->b + (size_t)of_b * b->row_bytes, p->elem, 1, (uint64_t)p->k};
  reference_scales(b, expert, of_b, &r);
  double expected, got = hd_elem_load(p->d_elem, d, (size_t)(of_d * p->m) + row);
  HD_TRY(hd_reference_rows(b->ctx, &r, &row, 1, &expected));
  if (fabs(got - expected) <= 0.02 * fabs(expected) + 0.5)
    return HEDDLE_OK;
  return hd_error(b->ctx, HEDDLE_MISMATCH, HD_NOWHERE, "bench.groups",
                  "%s: D[%lld, %lld] is %g, the reference's %g", kind_names[kind], (long long)row,
                  (long long)of_d, got, expected);
}

/* What set 0 of D holds with b's offsets. */
static heddle_status compare(const bench *b, hd_groups_kind kind) {
  uint8_t *d = hd_xmalloc(d_bytes(b));
  heddle_status status = hd_buffer_download(b->ctx, b->device, &b->ds.set[0], d);
  for (int64_t i = 0; i < CHECKED && status == HEDDLE_OK; i++)
    status = compare_one(b, kind, d, (i * 7919 + 13) % b->p.n,
                         (uint64_t)(i * 104729) % (uint64_t)b->p.m);
  hd_free(d);
  return status;
}

static heddle_status route(const bench *b, hd_routing routing) {
  hd_routing_fill(routing, b->o->seed, b->p.g, b->p.n, b->offsets);
  return hd_buffer_upload(b->ctx, b->device, &b->at, b->offsets);
}

static heddle_status replay(const bench *b, const hd_graph *graph, hd_groups_kind kind) {
  double seconds;
  HD_TRY(hd_buffer_fill(b->ctx, b->device, &b->ds.set[0], HD_POISON_BYTE));
  HD_TRY(hd_graph_time(b->ctx, b->device, graph, 1, &seconds));
  return compare(b, kind);
}

/* A captured launch follows offsets that change under it. */
static heddle_status check_captured(const bench *b, way *w) {
  hd_graph graph;
  hd_routing other = b->p.routing == HD_ROUTING_ONE ? HD_ROUTING_ZIPF : HD_ROUTING_ONE;
  HD_TRY(hd_graph_capture(b->ctx, b->device, launch, w, 1, &graph));
  heddle_status status = route(b, other);
  if (status == HEDDLE_OK)
    status = replay(b, &graph, w->kind);
  hd_graph_free(b->device, &graph);
  HD_TRY(status);
  return route(b, b->p.routing);
}

/* ---- a case ---- */

static heddle_status add_loaded(bench *b, hd_groups_kind kind, const heddle_compiled *compiled) {
  hd_groups_row *row = &b->result->row[b->result->n_rows];
  way *w = &b->ways[b->result->n_rows++];
  *row = (hd_groups_row){.kind = kind};
  *w = (way){.bench = b, .kind = kind};
  if (!compiled) /* it reads */
    return HEDDLE_OK;
  snprintf(row->schedule, sizeof row->schedule, "%s", heddle_compiled_schedule(compiled));
  if (!b->device)
    return HEDDLE_OK;
  HD_TRY(load(b, compiled, w));
  HD_TRY(hd_buffer_fill(b->ctx, b->device, &b->ds.set[0], HD_POISON_BYTE));
  HD_TRY(launch(b->ctx, w, 0, b->device->stream));
  HD_TRY(hd_device_sync(b->ctx, b->device));
  HD_TRY(compare(b, kind));
  return kind == HD_GROUPS_PLAIN ? HEDDLE_OK : check_captured(b, w);
}

/* What a way is compiled of, and what came of it. */
typedef struct candidate {
  const bench *bench;
  hd_groups_kind kind;
  const char *schedule; /* NULL: the default */
  heddle_context *said; /* owned */
  heddle_compiled *compiled; /* owned */
  heddle_status status;
} candidate;

static void compile_one(void *user, int32_t i) {
  candidate *c = (candidate *)user + i;
  const bench *b = c->bench;
  char *text = problem_text(&b->p, c->kind, b->o->target ? b->o->target : "sm_90a");
  heddle_compile_options with = {.ptxas = b->device ? b->o->ptxas : NULL,
                                 .cache = b->device ? b->o->cache : NULL,
                                 .schedule = c->schedule};
  c->status = heddle_compile(c->said, kind_names[c->kind], text, strlen(text), &with, &c->compiled);
  hd_free(text);
}

static int32_t list_candidates(const bench *b, candidate list[HD_GROUPS_MOST_WAYS]) {
  int32_t n = 0;
  for (hd_groups_kind kind = 0; kind < HD_GROUPS_READ; kind++) {
    int32_t n_said = b->o->n_schedules[kind], n_ways = n_said ? n_said : 1;
    for (int32_t i = 0; i < n_ways && n < HD_GROUPS_MOST_WAYS - 1; i++)
      list[n++] = (candidate){.bench = b, .kind = kind, .said = heddle_context_create(),
                              .schedule = n_said ? b->o->schedule[kind][i] : NULL};
  }
  return n;
}

/* A schedule that cannot be had is told; it is an error where its kind has no other. */
static heddle_status add_candidate(bench *b, const candidate *list, int32_t n, int32_t i) {
  const candidate *c = &list[i];
  bool has_other = i + 1 < n && list[i + 1].kind == c->kind;
  for (int32_t j = 0; j < b->result->n_rows; j++)
    has_other |= b->result->row[j].kind == c->kind;
  if (c->status == HEDDLE_OK)
    return add_loaded(b, c->kind, c->compiled);
  const char *why = hd_first_error_text(c->said, "no reason");
  if (!has_other)
    return hd_error(b->ctx, c->status, HD_NOWHERE, "bench.groups", "%s: %s", kind_names[c->kind],
                    why);
  hd_note(b->ctx, HD_NOWHERE, "bench.schedule", "left out: %s, %s: %s", kind_names[c->kind],
          c->schedule, why);
  return HEDDLE_OK;
}

static heddle_status add_kernels(bench *b) {
  candidate list[HD_GROUPS_MOST_WAYS];
  int32_t n = list_candidates(b, list);
  heddle_status status = HEDDLE_OK;
  hd_parallel(b->o->n_jobs, n, compile_one, list);
  for (int32_t i = 0; i < n && status == HEDDLE_OK; i++)
    status = add_candidate(b, list, n, i);
  for (int32_t i = 0; i < n; i++) {
    heddle_compiled_free(list[i].compiled);
    heddle_context_free(list[i].said);
  }
  return status;
}

static heddle_status measure(bench *b) {
  hd_contender list[HD_GROUPS_MOST_WAYS] = {0};
  hd_timing timings[HD_GROUPS_MOST_WAYS];
  int32_t n = b->result->n_rows;
  hd_rounds rounds = hd_rounds_for(b->p.n);
  for (int32_t i = 0; i < n; i++) {
    snprintf(list[i].name, sizeof list[i].name, "%s", kind_names[b->ways[i].kind]);
    list[i].launch = b->ways[i].kernel ? launch : read_touched;
    list[i].user = &b->ways[i];
  }
  HD_TRY(hd_measure_rounds(b->ctx, b->device, list, n, b->a.n_sets, &rounds, timings, NULL));
  for (int32_t i = 0; i < n; i++) {
    hd_groups_row *row = &b->result->row[i];
    row->timing = timings[i];
    if (b->o->alone && hd_measure_is_large(b->p.n) && row->kind != HD_GROUPS_READ)
      HD_TRY(hd_measure_alone(b->ctx, b->device, &list[i], b->a.n_sets, b->o->sustained_seconds,
                              b->o->nvml, &row->alone));
  }
  return HEDDLE_OK;
}

heddle_status hd_groups_bench(heddle_context *ctx, const hd_device *device,
                              const hd_groups_problem *problem, const hd_groups_options *options,
                              hd_groups_result *result) {
  bench b = {.ctx = ctx, .device = device, .o = options, .p = *problem, .result = result};
  *result = (hd_groups_result){0};
  heddle_status status = device ? make_operands(&b) : HEDDLE_OK;
  if (status == HEDDLE_OK)
    status = add_kernels(&b);
  if (device && status == HEDDLE_OK)
    status = add_loaded(&b, HD_GROUPS_READ, NULL);
  if (device && status == HEDDLE_OK)
    status = measure(&b);
  if (device)
    free_bench(&b);
  return status;
}
