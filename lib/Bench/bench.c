#include "Bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/reference_compare.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Bench/bench_prepare.h"
#include "Tune/bench_operands.h"
#include "Bench/whole_check.h"

enum {
  WORKSPACE_BYTES = 64 << 20,
  DEFAULT_FINALISTS = 8
};

typedef struct bench {
  const hd_device *device;
  const hd_bench_problem *p;
  const hd_bench_options *options;
  size_t d_bytes, n_sets;
  void *d; /* host, owned */
  hd_rotation a_dense, a_packed, b_sets, d_sets;
  hd_rotation peers_d; /* no sets: they take d_sets */
  hd_epilogue_buffers epilogue, columns; /* columns: the same with C in D's column-major order */
  hd_buffer peers_workspace, peers_blocks; /* peers_blocks: of A, by rows that share them */
  const hd_bench_prepared *prepared;
  hd_whole whole;
  hd_predecessor predecessor;
  hd_behind *behind; /* owned; HD_N_TRIGGERS of each kernel */
  char broke[64];    /* hd_bench_result */
} bench;

static hd_bench_case case_of(const bench *x) {
  hd_product product = hd_bench_product(x->p);
  const hd_buffer *of_a = x->peers_blocks.address ? &x->peers_blocks : &x->epilogue.blocks[0];
  return (hd_bench_case){.m = x->p->m,
                         .n = x->p->n,
                         .k = x->p->k,
                         .g = x->p->g,
                         .elem = x->p->elem,
                         .d_elem = x->p->d_elem,
                         .a_dense = &x->a_dense,
                         .a_packed = &x->a_packed,
                         .b = &x->b_sets,
                         .d = x->peers_d.n_sets ? &x->peers_d : &x->d_sets,
                         .n_sets = x->n_sets,
                         .block_scales = {of_a->address, x->epilogue.blocks[1].address},
                         .block_rows = hd_product_block_rows(&product),
                         .workspace = x->peers_workspace.address,
                         .workspace_bytes = WORKSPACE_BYTES,
                         .n_jobs = x->options->n_jobs,
                         .left_out = x->options->left_out,
                         .n_left_out = x->options->n_left_out};
}

/* ---- operands ---- */

/* The peers' D: of pairs it has all of A's rows. */
static heddle_status make_peers_d(heddle_context *ctx, bench *x, const hd_product *product) {
  hd_product plain = hd_product_plain(product);
  size_t n_bytes = hd_product_d_bytes(&plain);
  bool larger = n_bytes > x->d_bytes && x->options->n_peers;
  return larger ? hd_rotation_create(ctx, x->device, NULL, n_bytes, x->n_sets, &x->peers_d)
                : HEDDLE_OK;
}

/* Of blocks of A's rows the k-blocks one behind the other, as peers read them. */
static heddle_status make_peers_blocks(heddle_context *ctx, bench *x, const hd_product *p) {
  enum { BLOCK = 128, UNIT = 4 };
  const float *lines = x->prepared->host->values.blocks[0];
  size_t rows = ((size_t)p->m + BLOCK - 1) / BLOCK, line = (size_t)hd_product_scales(p, 0);
  size_t n = ((size_t)p->k + BLOCK - 1) / BLOCK, pitch = (n + UNIT - 1) / UNIT * UNIT;
  if (hd_product_block_rows(p) == 1 || !x->options->n_peers)
    return HEDDLE_OK;
  float *by_rows = hd_try_zalloc(ctx, rows * pitch * sizeof *by_rows, "block scales");
  if (!by_rows)
    return HEDDLE_NO_MEMORY;
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < n; k++)
      by_rows[i * pitch + k] = lines[k * line + i];
  heddle_status status = hd_buffer_create(ctx, x->device, rows * pitch * sizeof *by_rows, 0,
                                          &x->peers_blocks);
  if (status == HEDDLE_OK)
    status = hd_buffer_upload(ctx, x->device, &x->peers_blocks, by_rows);
  hd_free(by_rows);
  return status;
}

/* C is made in row-major order. */
static heddle_status make_columns(heddle_context *ctx, bench *x, const hd_product *p) {
  const hd_epilogue_values *values = &x->prepared->host->values;
  void *c = NULL;
  x->columns = x->epilogue;
  x->columns.c = (hd_rotation){0};
  if (x->options->order == HD_BENCH_ROW)
    return HEDDLE_OK;
  HD_TRY(hd_epilogue_other_c(ctx, p, values, &c));
  heddle_status status = HEDDLE_OK;
  if (c)
    status = hd_rotation_create(ctx, x->device, c, values->c_bytes, x->n_sets, &x->columns.c);
  hd_free(c);
  return status;
}

static heddle_status make_operands(heddle_context *ctx, bench *x) {
  const hd_bench_problem *p = x->p;
  const hd_bench_host *h = x->prepared->host;
  hd_product product = hd_bench_product(p);
  size_t batch = p->g ? (size_t)p->g : 1, a_bytes = (size_t)p->m * h->a_row_bytes;
  x->d_bytes = hd_product_d_bytes(&product);
  x->d = hd_try_malloc(ctx, x->d_bytes, "D");
  if (!x->d)
    return HEDDLE_NO_MEMORY;
  x->n_sets = hd_measure_sets(batch * h->packed_bytes + h->b_bytes + x->d_bytes);
  HD_TRY(hd_rotation_repeat(ctx, x->device, h->packed, h->packed_bytes, p->g, x->n_sets,
                            &x->a_packed));
  HD_TRY(hd_rotation_create(ctx, x->device, h->b, h->b_bytes, x->n_sets, &x->b_sets));
  if (x->options->n_peers)
    HD_TRY(hd_rotation_repeat(ctx, x->device, h->a, a_bytes, p->g, x->n_sets, &x->a_dense));
  HD_TRY(hd_epilogue_upload(ctx, x->device, &product, &h->values, x->n_sets, &x->epilogue));
  HD_TRY(make_columns(ctx, x, &product));
  HD_TRY(hd_rotation_create(ctx, x->device, NULL, x->d_bytes, x->n_sets, &x->d_sets));
  HD_TRY(make_peers_d(ctx, x, &product));
  HD_TRY(make_peers_blocks(ctx, x, &product));
  return hd_buffer_create(ctx, x->device, WORKSPACE_BYTES, 0, &x->peers_workspace);
}

/* What the kernels run behind, where that was asked for. */
static heddle_status make_predecessor(heddle_context *ctx, bench *x) {
  const hd_bench_host *h = x->prepared->host;
  size_t n = (size_t)x->prepared->n_kernels * HD_N_TRIGGERS;
  x->behind = hd_try_zalloc(ctx, n * sizeof *x->behind, "the predecessors");
  if (!x->behind)
    return HEDDLE_NO_MEMORY;
  if (!x->options->triggers)
    return HEDDLE_OK;
  return hd_predecessor_open(ctx, x->device, h->b, h->b_bytes, &x->predecessor);
}

/* ---- Heddle's kernels ---- */

static heddle_status load_kernels(heddle_context *ctx, bench *x) {
  hd_rotated_operands operands = {
      .a = &x->a_packed, .b = &x->b_sets, .d = &x->d_sets, .n = x->p->n, .ldb = x->p->k,
      .epilogue = &x->epilogue};
  hd_product product = hd_bench_product(x->p);
  hd_rotated_strides(&product, x->prepared->host->packed_bytes, &operands);
  int32_t n_loaded = 0;
  for (int32_t i = 0; i < x->prepared->n_kernels; i++) {
    hd_bench_kernel *k = &x->prepared->kernel[i];
    operands.epilogue = k->row_major ? &x->epilogue : &x->columns;
    hd_bench_load(x->device, x->p, operands, k);
    n_loaded += k->loaded.kernel != NULL;
    if (k->loaded.kernel)
      continue;
    const heddle_diagnostic *d = hd_first_error(k->said);
    hd_note(ctx, HD_NOWHERE, "bench.schedule", "left out: %s, D %s: %s%s%s",
            hd_bench_way_schedule(k->way, k->row_major), k->row_major ? "row" : "col",
            d ? d->rule : "", d ? ": " : "", d ? d->text : "no reason");
  }
  return n_loaded ? HEDDLE_OK
                  : hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "bench.schedule",
                             "none of %d kernels could be compiled; the first one: %s",
                             x->prepared->n_kernels,
                             hd_first_error_text(x->prepared->kernel[0].said, "no reason"));
}

/* ---- checking ---- */

/* Sampled rows with double precision. */
static heddle_status compare_rows(heddle_context *ctx, const bench *x, bool row_major,
                                  hd_bench_row *row) {
  hd_product p = hd_bench_product(x->p);
  const hd_bench_host *h = x->prepared->host;
  uint64_t m = (uint64_t)hd_product_d_rows(&p), n = (uint64_t)p.n;
  size_t matrix_bytes = x->d_bytes / (p.g ? (size_t)p.g : 1);
  row->bound = hd_product_bound(&p, p.d);
  row->ok = true;
  row->error = 0;
  for (int64_t g = 0; g < (p.g ? p.g : 1); g++) {
    const double *slack, *expected = hd_bench_host_expected(h, &p, g, &slack);
    hd_matrix out = {(const char *)x->d + (size_t)g * matrix_bytes, p.d, row_major ? n : 1,
                     row_major ? 1 : m};
    double *divided;
    HD_TRY(hd_epilogue_divided(ctx, x->device, &p, &x->epilogue, h->checked, h->n_checked, expected,
                               slack, &divided));
    hd_comparison c = hd_compare_bounded(&out, n, h->checked, h->n_checked,
                                         divided ? divided : expected,
                                         divided ? divided + h->n_checked * n : slack, row->bound);
    hd_free(divided);
    row->ok &= c.ok;
    row->error = c.error > row->error ? c.error : row->error;
  }
  return HEDDLE_OK;
}

/* And all of D, when there is something to hold it against, which may be off itself. */
static heddle_status compare(heddle_context *ctx, const bench *x, bool row_major,
                             hd_bench_row *row) {
  hd_product p = hd_bench_product(x->p);
  hd_matrix out = {x->d, p.d, (uint64_t)(row_major ? p.n : 1), (uint64_t)(row_major ? 1 : p.m)};
  HD_TRY(compare_rows(ctx, x, row_major, row));
  row->whole = x->whole.data != NULL;
  if (!row->whole)
    return HEDDLE_OK;
  hd_comparison c =
      hd_whole_compare(&x->whole, &out, row->bound + hd_product_bound(&p, HEDDLE_F32),
                       x->options->n_jobs);
  row->ok &= c.ok;
  row->error = c.error;
  return HEDDLE_OK;
}

/* The second matrix of ours, which no peer writes. A written guard makes it wrong, too. */
static heddle_status check_aux(heddle_context *ctx, const bench *x, bool row_major,
                               hd_bench_row *row) {
  hd_product p = hd_bench_product(x->p);
  hd_comparison c;
  if (!p.epilogue.aux)
    return HEDDLE_OK;
  heddle_status status = hd_bench_host_check_aux(ctx, x->device, x->prepared->host, &p,
                                                 &x->epilogue.aux.set[0], row_major, &c);
  row->ok &= status == HEDDLE_OK && c.ok;
  row->error = c.error > row->error ? c.error : row->error;
  return status == HEDDLE_MISMATCH ? HEDDLE_OK : status;
}

/* Behind a predecessor in a graph, as it is timed: only there two kernels overlap. */
static heddle_status launch_once(heddle_context *ctx, const bench *x, const hd_contender *c,
                                 hd_trigger trigger) {
  hd_graph graph;
  double seconds;
  if (!trigger)
    return c->launch(ctx, c->user, 0, x->device->stream);
  HD_TRY(hd_graph_capture(ctx, x->device, c->launch, c->user, 1, &graph));
  heddle_status status = hd_graph_time(ctx, x->device, &graph, 1, &seconds);
  hd_graph_free(x->device, &graph);
  return status;
}

/* Poison, one launch, D and its guards checked. What a predecessor is to write is poisoned, too: a
 * kernel that reads it too early is wrong. */
static heddle_status check(heddle_context *ctx, const bench *x, const hd_contender *c,
                           hd_bench_row *row) {
  const hd_buffer *d = &x->d_sets.set[0];
  if (row->trigger)
    HD_TRY(hd_buffer_fill(ctx, x->device, &x->b_sets.set[0], HD_POISON_BYTE));
  HD_TRY(hd_buffer_fill(ctx, x->device, d, HD_POISON_BYTE));
  if (x->p->epilogue.aux)
    HD_TRY(hd_buffer_fill(ctx, x->device, &x->epilogue.aux.set[0], HD_POISON_BYTE));
  HD_TRY(launch_once(ctx, x, c, row->trigger));
  HD_TRY(hd_device_sync(ctx, x->device));
  if (c->finish)
    HD_TRY(c->finish(ctx, c->user));
  HD_TRY(hd_buffer_download(ctx, x->device, d, x->d));
  HD_TRY(compare(ctx, x, c->stored == HD_STORED_ROW_MAJOR, row));
  HD_TRY(check_aux(ctx, x, c->stored == HD_STORED_ROW_MAJOR, row));
  heddle_status guards = hd_buffer_check(ctx, x->device, d, "d");
  row->ok &= guards == HEDDLE_OK;
  return guards == HEDDLE_MISMATCH ? HEDDLE_OK : guards;
}

/* ---- who comes into the final ---- */

/* A contender with what is known of it. */
typedef struct entry {
  hd_contender contender;
  hd_bench_row row;
  hd_bench_kernel *kernel; /* NULL: a peer's */
  bool alone;              /* one that counts: not a peer's default, nor what only reads */
  double quick;            /* seconds a launch; infinite: it is wrong */
} entry;

typedef struct entries {
  entry *list; /* owned */
  int32_t n, cap;
} entries;

static heddle_status check_result(heddle_context *ctx, bench *x, int32_t index,
                                  hd_trigger trigger, entries *out) {
  hd_bench_kernel *k = &x->prepared->kernel[index];
  hd_behind *behind = &x->behind[index * HD_N_TRIGGERS + (int32_t)trigger];
  entry e = {.contender = {.name = "heddle",
                           .launch = trigger ? hd_behind_launch : hd_rotated_launch,
                           .user = trigger ? (void *)behind : &k->loaded,
                           .stored = k->row_major ? HD_STORED_ROW_MAJOR : HD_STORED_COL_MAJOR},
             .kernel = k,
             .alone = true};
  snprintf(e.row.name, sizeof e.row.name, "heddle %s %s", k->row_major ? "row" : "col",
           k->way->dynamic ? "dynamic" : heddle_compiled_schedule(k->compiled));
  *behind = (hd_behind){&x->predecessor, trigger, &x->b_sets, &k->loaded};
  e.row.dynamic = k->way->dynamic;
  e.row.row_major = k->row_major;
  e.row.weights_ready = k->way->weights_ready;
  e.row.trigger = trigger;
  HD_TRY(check(ctx, x, &e.contender, &e.row));
  e.quick = INFINITY;
  if (e.row.ok) {
    HD_TRY(hd_measure_quick(ctx, x->device, &e.contender, x->n_sets, 1e-3, &e.quick));
    e.row.timing = (hd_timing){e.quick, e.quick, e.quick};
    e.row.n_rounds = 1;
  }
  HD_PUSH(out->list, out->n, out->cap, e);
  return HEDDLE_OK;
}

static int quickest(const void *a, const void *b) {
  double x = ((const entry *)a)->quick, y = ((const entry *)b)->quick;
  return (x > y) - (x < y);
}

static bool is_alike(const bench *x, const entry *a, const entry *b) {
  bool each = x->options->order == HD_BENCH_EACH;
  return a->kernel->way == b->kernel->way && a->row.trigger == b->row.trigger &&
         (!each || a->kernel->row_major == b->kernel->row_major);
}

/* All of ours, the finalists first: of each way the faster order of D alone, unless each was asked
 * for. */
static heddle_status enter_ours(heddle_context *ctx, bench *x, entries *out, int32_t *n_final) {
  /* Each kernel alone, or behind each predecessor that was asked for. */
  uint32_t triggers = x->options->triggers ? x->options->triggers : 1u << HD_TRIGGER_NONE;
  for (int32_t i = 0; i < x->prepared->n_kernels; i++)
    for (hd_trigger t = HD_TRIGGER_NONE; t < HD_N_TRIGGERS; t++)
      if (x->prepared->kernel[i].loaded.kernel && (triggers >> t & 1))
        HD_TRY(check_result(ctx, x, i, t, out));
  qsort(out->list, (size_t)out->n, sizeof *out->list, quickest);
  int32_t most = !x->options->sweep && !x->options->sample ? out->n
                 : x->options->n_finalists ? x->options->n_finalists
                                           : DEFAULT_FINALISTS;
  *n_final = 0;
  for (int32_t i = 0; i < out->n && *n_final < most; i++) {
    bool again = !out->list[i].row.ok;
    for (int32_t j = 0; j < *n_final; j++)
      again |= is_alike(x, &out->list[j], &out->list[i]);
    if (again)
      continue;
    entry e = out->list[i];
    memmove(&out->list[*n_final + 1], &out->list[*n_final],
            sizeof e * (size_t)(i - *n_final));
    out->list[(*n_final)++] = e;
  }
  return HEDDLE_OK;
}

/* After a peer's failure: whether it broke the device, and what of it did. */
static bool is_broken(bench *x, const char *name) {
  if (hd_device_sync(NULL, x->device) == HEDDLE_OK)
    return false;
  snprintf(x->broke, sizeof x->broke, "%s", name);
  return true;
}

/* A way that cannot be launched is passed over; when none can, ctx holds why. One that breaks the
 * device ends it all. */
static heddle_status best_of(heddle_context *ctx, bench *x, const hd_bench_case *bc,
                             const hd_contender *list, int32_t n, int32_t *best) {
  double least = INFINITY;
  heddle_status status = HEDDLE_OK;
  *best = -1;
  for (int32_t i = 0; i < n; i++) {
    double seconds;
    if (hd_bench_case_leaves_out(bc, list[i].name))
      continue;
    heddle_status one = hd_measure_quick(ctx, x->device, &list[i], x->n_sets, 1e-3, &seconds);
    if (one != HEDDLE_OK && is_broken(x, list[i].name))
      return one;
    if (one != HEDDLE_OK) {
      status = one;
    } else if (seconds < least) {
      least = seconds;
      *best = i;
    }
  }
  if (*best < 0 && status == HEDDLE_OK)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case",
                    "%s and all other algorithms are left out: they broke the device",
                    list[0].name);
  return *best >= 0 ? HEDDLE_OK : status;
}

static void enter_peer(const hd_contender *c, bool alone, entries *out) {
  entry e = {.contender = *c, .row.ok = true, .alone = alone};
  snprintf(e.row.name, sizeof e.row.name, "%s", c->name);
  HD_PUSH(out->list, out->n, out->cap, e);
}

/* The fastest of a peer's ways, and what it would run by default; ceilings all. */
static void enter_ways(const hd_bench_case *bc, const hd_contender *list, int32_t n, int32_t best,
                       int32_t picked, entries *out) {
  bool ceilings = list[best].stored == HD_STORED_NOTHING;
  if (!ceilings)
    enter_peer(&list[best], true, out);
  for (int32_t i = 0; i < n; i++)
    if (ceilings || (i == picked && i != best && !hd_bench_case_leaves_out(bc, list[i].name)))
      enter_peer(&list[i], false, out);
}

static heddle_status enter_peers(heddle_context *ctx, bench *x, entries *out) {
  hd_bench_case bc = case_of(x);
  for (int32_t i = 0; i < x->options->n_peers; i++) {
    const hd_contender *list;
    int32_t n, picked, best;
    heddle_context *quiet = heddle_context_create();
    heddle_status status =
        hd_peer_prepare(quiet, x->options->peer[i], &bc, &list, &n, &picked);
    if (status == HEDDLE_OK)
      status = best_of(quiet, x, &bc, list, n, &best);
    else
      (void)is_broken(x, hd_peer_preparing(x->options->peer[i]));
    if (status == HEDDLE_OK) {
      enter_ways(&bc, list, n, best, picked, out);
    } else if (x->broke[0]) {
      hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "bench.broken",
               "%s broke the device, which then refuses all calls of this process: %s", x->broke,
               hd_first_error_text(quiet, heddle_status_text(status)));
    } else {
      hd_note(ctx, HD_NOWHERE, "bench.peer", "%s",
              hd_first_error_text(quiet, heddle_status_text(status)));
    }
    heddle_context_free(quiet);
    if (x->broke[0])
      return HEDDLE_ENVIRONMENT;
    if (status != HEDDLE_OK && status != HEDDLE_UNSUPPORTED && status != HEDDLE_ENVIRONMENT)
      return hd_error(ctx, status, HD_NOWHERE, "bench.peer", "a peer failed");
  }
  return HEDDLE_OK;
}

/* ---- the final ---- */

static heddle_status time_final(heddle_context *ctx, bench *x, entry *list, int32_t n) {
  hd_arena arena = {0};
  hd_contender *c = HD_NEW_ARRAY(&arena, hd_contender, n);
  hd_timing *timing = HD_NEW_ARRAY(&arena, hd_timing, n);
  double *samples = HD_NEW_ARRAY(&arena, double, n * HD_MOST_ROUNDS);
  hd_rounds rounds = x->options->sample    ? hd_rounds_brief(x->p->n)
                     : x->options->dynamic ? hd_rounds_long(x->p->n)
                                           : hd_rounds_for(x->p->n);
  rounds.enough = x->options->enough;
  double sustained = x->options->sustained_seconds > 0 ? x->options->sustained_seconds : 1;
  for (int32_t i = 0; i < n; i++)
    c[i] = list[i].contender;
  heddle_status status =
      hd_measure_rounds(ctx, x->device, c, n, x->n_sets, &rounds, timing, samples);
  for (int32_t i = 0; i < n && status == HEDDLE_OK; i++) {
    list[i].row.timing = timing[i];
    list[i].row.n_rounds = rounds.n_rounds;
    memcpy(list[i].row.round, &samples[i * rounds.n_rounds],
           (size_t)rounds.n_rounds * sizeof *samples);
    if (x->options->alone && list[i].alone && hd_measure_is_large(x->p->n))
      status = hd_measure_alone(ctx, x->device, &c[i], x->n_sets, sustained, x->options->nvml,
                                &list[i].row.alone);
  }
  hd_arena_free(&arena);
  return status;
}

/* A peer's D is told of when it is off, and its time stands. */
static void check_peer(heddle_context *ctx, const bench *x, entry *e) {
  hd_bench_row row = e->row;
  heddle_status status = check(NULL, x, &e->contender, &row);
  if (status != HEDDLE_OK || !row.ok)
    hd_note(ctx, HD_NOWHERE, "bench.peer", "%s: D could not be confirmed, error %.3g, bound %.3g",
            row.name, row.error, row.bound);
  row.ok = e->row.ok;
  if (status == HEDDLE_OK)
    e->row = row;
}

/* Once more after all the launches: everything, when a peer makes a product to hold it against. */
static heddle_status check_after(heddle_context *ctx, bench *x, entry *list, int32_t n) {
  hd_bench_case bc = case_of(x);
  hd_product product = hd_bench_product(x->p);
  bool whole = hd_product_is_plain(&product) && !x->p->g; /* the peers compute one plain product */
  for (int32_t i = 0; whole && i < x->options->n_peers && !x->whole.data; i++)
    (void)hd_whole_make(NULL, x->device, x->options->peer[i], &bc, &x->whole);
  for (int32_t i = 0; i < n; i++) {
    bool was_ok = list[i].row.ok;
    if (list[i].kernel)
      HD_TRY(check(ctx, x, &list[i].contender, &list[i].row));
    else if (list[i].contender.stored != HD_STORED_NOTHING && whole)
      check_peer(ctx, x, &list[i]);
    list[i].row.ok &= was_ok;
  }
  return HEDDLE_OK;
}

static heddle_status run_final(heddle_context *ctx, bench *x, hd_bench_result *result) {
  entries ours = {0}, all = {0};
  int32_t n_final = 0;
  heddle_status status = enter_ours(ctx, x, &ours, &n_final);
  for (int32_t i = 0; i < n_final; i++)
    HD_PUSH(all.list, all.n, all.cap, ours.list[i]);
  if (status == HEDDLE_OK)
    status = enter_peers(ctx, x, &all);
  if (status == HEDDLE_OK)
    status = time_final(ctx, x, all.list, all.n);
  if (status == HEDDLE_OK)
    status = check_after(ctx, x, all.list, all.n);
  for (int32_t i = n_final; i < ours.n; i++)
    HD_PUSH(all.list, all.n, all.cap, ours.list[i]);
  if (status == HEDDLE_OK) {
    *result = (hd_bench_result){.row = hd_xmalloc(sizeof *result->row * (size_t)all.n),
                                .n_rows = all.n,
                                .n_sets = x->n_sets};
    for (int32_t i = 0; i < all.n; i++)
      result->row[i] = all.list[i].row;
  }
  hd_free(ours.list);
  hd_free(all.list);
  return status;
}

static void clean(bench *x) {
  hd_rotation_free(x->device, &x->a_dense);
  hd_rotation_free(x->device, &x->a_packed);
  hd_rotation_free(x->device, &x->b_sets);
  hd_rotation_free(x->device, &x->d_sets);
  hd_rotation_free(x->device, &x->peers_d);
  hd_rotation_free(x->device, &x->columns.c);
  hd_epilogue_buffers_free(x->device, &x->epilogue);
  hd_buffer_free(x->device, &x->peers_workspace);
  hd_buffer_free(x->device, &x->peers_blocks);
  hd_whole_free(&x->whole);
  hd_predecessor_close(&x->predecessor);
  hd_free(x->behind);
  hd_free(x->d);
}

heddle_status hd_bench_measure(heddle_context *ctx, const hd_device *device,
                               const hd_bench_problem *problem, const hd_bench_options *options,
                               const hd_bench_prepared *prepared, hd_bench_result *result) {
  bench x = {.device = device, .p = problem, .options = options, .prepared = prepared};
  hd_bench_result r = {0};
  heddle_status status = make_operands(ctx, &x);
  if (status == HEDDLE_OK)
    status = make_predecessor(ctx, &x);
  if (status == HEDDLE_OK)
    status = load_kernels(ctx, &x);
  if (status == HEDDLE_OK)
    status = run_final(ctx, &x, &r);
  clean(&x);
  memcpy(r.broke, x.broke, sizeof r.broke);
  *result = r;
  return status;
}

heddle_status hd_bench_run(heddle_context *ctx, const hd_device *device,
                           const hd_bench_problem *problem, const hd_bench_options *options,
                           hd_bench_host *host, hd_bench_result *result) {
  hd_bench_prepared prepared = {.host = host};
  const char *target = options->target ? options->target : device->info.target;
  heddle_status status = hd_bench_prepare(ctx, problem, options, target, &prepared);
  if (status == HEDDLE_OK)
    status = hd_bench_measure(ctx, device, problem, options, &prepared, result);
  hd_bench_prepared_clear(device, &prepared);
  return status;
}
