/* cuSPARSELt, 2:4: every algorithm id for each order of D. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/parallel.h"
#include "Bench/peer_pad.h"
#include "Bench/peer_table.h"

enum { MOST_ALGORITHMS = 64, F16_SAFE_ALGORITHMS = 36, ALIGNMENT = 16, DEFAULT_ID = -1 };
enum { /* cusparseOperation_t, cusparseOrder_t, cusparseComputeType, attributes of matrices and
          * algorithms */
  OP_N = 0,
  ORDER_COL = 1,
  ORDER_ROW = 2,
  COMPUTE_32I = 0,
  COMPUTE_32F = 2,
  MAT_BATCHES = 0, /* matrices, int */
  MAT_STRIDE = 1,  /* elements apart, int64 */
  ALG_CONFIG_ID = 0,
  ALG_CONFIG_MAX_ID = 1
};

/* The library's structures are opaque: 512 or 1024 bytes by version; room for either. */
typedef struct opaque {
  _Alignas(64) unsigned char bytes[16384];
} opaque;

/* ORDER CUSPARSELT: as `names`. */
typedef struct functions {
  int (*init)(opaque *handle);
  int (*destroy)(const opaque *handle);
  int (*structured)(const opaque *handle, opaque *mat, int64_t rows, int64_t cols, int64_t ld,
                    uint32_t alignment, int type, int order, int sparsity);
  int (*dense)(const opaque *handle, opaque *mat, int64_t rows, int64_t cols, int64_t ld,
               uint32_t alignment, int type, int order);
  int (*mat_set)(const opaque *handle, opaque *mat, int attribute, const void *value,
                 size_t n_bytes);
  int (*matmul_init)(const opaque *handle, opaque *matmul, int op_a, int op_b, const opaque *a,
                     const opaque *b, const opaque *c, const opaque *d, int compute);
  int (*select_init)(const opaque *handle, opaque *select, const opaque *matmul, int alg);
  int (*select_set)(const opaque *handle, opaque *select, int attribute, const void *value,
                    size_t n_bytes);
  int (*select_get)(const opaque *handle, const opaque *select, int attribute, void *value,
                    size_t n_bytes);
  int (*plan_init)(const opaque *handle, opaque *plan, const opaque *matmul, const opaque *select);
  int (*plan_destroy)(const opaque *plan);
  int (*workspace)(const opaque *handle, const opaque *plan, size_t *n_bytes);
  int (*compressed_size)(const opaque *handle, const opaque *plan, size_t *n_bytes,
                         size_t *scratch_bytes);
  int (*compress)(const opaque *handle, const opaque *plan, const void *dense, void *compressed,
                  void *scratch, void *stream);
  int (*matmul)(const opaque *handle, const opaque *plan, const void *alpha, const void *a,
                const void *b, const void *beta, const void *c, void *d, void *workspace,
                void **streams, int32_t n_streams);
} functions;
static const char *const names[] = {
    "cusparseLtInit",
    "cusparseLtDestroy",
    "cusparseLtStructuredDescriptorInit",
    "cusparseLtDenseDescriptorInit",
    "cusparseLtMatDescSetAttribute",
    "cusparseLtMatmulDescriptorInit",
    "cusparseLtMatmulAlgSelectionInit",
    "cusparseLtMatmulAlgSetAttribute",
    "cusparseLtMatmulAlgGetAttribute",
    "cusparseLtMatmulPlanInit",
    "cusparseLtMatmulPlanDestroy",
    "cusparseLtMatmulGetWorkspace",
    "cusparseLtSpMMACompressedSize",
    "cusparseLtSpMMACompress",
    "cusparseLtMatmul",
};
static const char *const sonames[] = {"libcusparseLt.so.0", "libcusparseLt.so", NULL};

typedef struct way {
  struct state *state;
  opaque select, plan;
  int id; /* of the algorithm; DEFAULT_ID: the library chooses */
  bool selected, planned, row_major;
} way;

typedef struct state {
  functions f;
  opaque handle, a, b, d[2], matmul[2];
  hd_bench_case bench; /* what it multiplies: the case, or the padded one */
  hd_bench_case own;   /* the case */
  hd_padded padded;    /* owned; of multiples of `unit`, 0: the case is taken as it is */
  int64_t unit;
  const hd_device *device;
  hd_buffer *compressed; /* one a set; owned */
  size_t n_compressed;
  way *ways; /* owned; n of peer->n */
  int32_t n_ways;
} state;

static heddle_status refuse(heddle_context *ctx, const char *what, int status) {
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case", "%s: status %d", what, status);
}

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  way *w = user;
  state *s = w->state;
  size_t set = index % s->bench.n_sets;
  static const float one = 1, zero = 0;
  void *d = (void *)(uintptr_t)s->bench.d->set[set].address;
  int status = s->f.matmul(&s->handle, &w->plan, &one,
                           (const void *)(uintptr_t)s->compressed[set].address,
                           (const void *)(uintptr_t)s->bench.b->set[set].address, &zero, d, d,
                           (void *)(uintptr_t)s->bench.workspace, &stream, 1);
  return status ? refuse(ctx, "cusparseLtMatmul", status) : HEDDLE_OK;
}

static heddle_status crop(heddle_context *ctx, void *user) {
  const way *w = user;
  const state *s = w->state;
  return hd_padded_crop(ctx, s->device, &s->padded, &s->own, w->row_major);
}

static heddle_status open_cusparselt(heddle_context *ctx, hd_peer *peer) {
  state *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
  if (!s)
    return HEDDLE_NO_MEMORY;
  memset(s, 0, sizeof *s);
  peer->state = s;
  heddle_status status = hd_peer_symbols(ctx, peer, names, (void **)&s->f, HD_COUNT(names));
  if (status == HEDDLE_OK && s->f.init(&s->handle) != 0)
    status = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "peer.open", "cusparseLtInit failed");
  if (status != HEDDLE_OK)
    hd_free(s);
  return status;
}

/* Of a batch: so many matrices without gaps. */
static int set_batch(state *s, opaque *mat, int64_t stride) {
  int n = (int)s->bench.g;
  return n == 0 ? 0
                : s->f.mat_set(&s->handle, mat, MAT_BATCHES, &n, sizeof n) |
                      s->f.mat_set(&s->handle, mat, MAT_STRIDE, &stride, sizeof stride);
}

static heddle_status describe(heddle_context *ctx, state *s) {
  const hd_bench_case *c = &s->bench;
  int type = hd_cuda_type(c->elem), d_type = hd_cuda_type(c->d_elem);
  int compute = c->elem == HEDDLE_S8 ? COMPUTE_32I : COMPUTE_32F;
  int bad = s->f.structured(&s->handle, &s->a, c->m, c->k, c->k, ALIGNMENT, type, ORDER_ROW, 0);
  bad |= s->f.dense(&s->handle, &s->b, c->k, c->n, c->k, ALIGNMENT, type, ORDER_COL);
  if (!bad)
    bad = set_batch(s, &s->a, c->m * c->k) | set_batch(s, &s->b, c->k * c->n);
  for (int order = 0; order < 2 && !bad; order++) {
    bad |= s->f.dense(&s->handle, &s->d[order], c->m, c->n, order ? c->n : c->m, ALIGNMENT, d_type,
                      order ? ORDER_ROW : ORDER_COL);
    bad = bad ? bad : set_batch(s, &s->d[order], c->m * c->n);
    bad |= s->f.matmul_init(&s->handle, &s->matmul[order], OP_N, OP_N, &s->a, &s->b, &s->d[order],
                            &s->d[order], compute);
  }
  return bad ? refuse(ctx, "cusparseLt refuses the case", bad) : HEDDLE_OK;
}

static void select_algorithm(state *s, way *w) {
  w->selected =
      s->f.select_init(&s->handle, &w->select, &s->matmul[w->row_major], 0) == 0 &&
      (w->id == DEFAULT_ID ||
       s->f.select_set(&s->handle, &w->select, ALG_CONFIG_ID, &w->id, sizeof w->id) == 0);
}

static bool plan(state *s, way *w) {
  size_t need = 0;
  if (!w->selected ||
      s->f.plan_init(&s->handle, &w->plan, &s->matmul[w->row_major], &w->select) != 0)
    return false;
  w->planned = true;
  return s->f.workspace(&s->handle, &w->plan, &need) == 0 && need <= s->bench.workspace_bytes;
}

typedef struct selecting {
  state *s;
  way *ways;
  void *context; /* CUDA's, for the threads */
} selecting;

static void select_one(void *user, int32_t i) {
  const selecting *x = user;
  if (x->s->device->runtime->cu.context_set(x->context) == HD_CU_SUCCESS)
    select_algorithm(x->s, &x->ways[i]);
}

/* On threads: for f16 a selection takes the library 0.1 s. It owns memory and cannot be copied. */
static heddle_status select_all(heddle_context *ctx, state *s, way *ways, int32_t n) {
  selecting x = {.s = s, .ways = ways};
  HD_CU_TRY(ctx, s->device->runtime, context_get, &x.context);
  hd_parallel(s->bench.n_jobs, n, select_one, &x);
  return HEDDLE_OK;
}

static heddle_status compress_sets(heddle_context *ctx, hd_peer *peer, const way *w) {
  state *s = peer->state;
  size_t n_bytes, scratch_bytes;
  int bad = s->f.compressed_size(&s->handle, &w->plan, &n_bytes, &scratch_bytes);
  if (bad)
    return refuse(ctx, "cusparseLtSpMMACompressedSize", bad);
  hd_buffer scratch;
  s->compressed = hd_try_zalloc(ctx, s->bench.n_sets * sizeof *s->compressed, "compressed A");
  if (!s->compressed)
    return HEDDLE_NO_MEMORY;
  HD_TRY(hd_buffer_create(ctx, peer->device, scratch_bytes ? scratch_bytes : 1, 0, &scratch));
  heddle_status status = HEDDLE_OK;
  for (size_t i = 0; i < s->bench.n_sets && status == HEDDLE_OK; i++) {
    status = hd_buffer_create(ctx, peer->device, n_bytes, 0, &s->compressed[i]);
    s->n_compressed += status == HEDDLE_OK;
    if (status == HEDDLE_OK)
      bad = s->f.compress(&s->handle, &w->plan,
                          (const void *)(uintptr_t)s->bench.a_dense->set[i].address,
                          (void *)(uintptr_t)s->compressed[i].address,
                          (void *)(uintptr_t)scratch.address, peer->device->stream);
    if (bad)
      status = refuse(ctx, "cusparseLtSpMMACompress", bad);
  }
  heddle_status sync = hd_device_sync(ctx, peer->device);
  hd_buffer_free(peer->device, &scratch);
  return status == HEDDLE_OK ? sync : status;
}

/* f16: ids 36 and up crash with an illegal instruction in 0.8 (BASELINES: peers' wounds). */
static int n_algorithms(const state *s, const way *w) {
  int most = 0;
  if (s->f.select_get(&s->handle, &w->select, ALG_CONFIG_MAX_ID, &most, sizeof most) != 0)
    return 0;
  if (s->bench.elem == HEDDLE_F16 && most > F16_SAFE_ALGORITHMS)
    most = F16_SAFE_ALGORITHMS;
  return most < MOST_ALGORITHMS ? most : MOST_ALGORITHMS;
}

/* Names what is prepared; false: that is left out. */
static bool begin(hd_peer *peer, const hd_bench_case *bench, int64_t unit) {
  char padding[24] = "unpadded";
  if (unit)
    snprintf(padding, sizeof padding, "padded to %lld", (long long)unit);
  snprintf(peer->preparing, sizeof peer->preparing, "cusparselt %s", padding);
  return !hd_bench_case_leaves_out(bench, peer->preparing);
}

/* As it is; else in the next multiples that the library takes. Sizes that were tried are not tried
 * again. */
static heddle_status take(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench) {
  static const int64_t units[] = {1, 8, 16, 32};
  state *s = peer->state;
  s->bench = s->own = *bench;
  s->device = peer->device;
  s->unit = 0;
  if (begin(peer, bench, 0) && describe(NULL, s) == HEDDLE_OK)
    return HEDDLE_OK;
  for (size_t i = 1; i < HD_COUNT(units) && bench->g == 0; i++) {
    if (!hd_padded_differs(bench, units[i], units[i - 1]) || !begin(peer, bench, units[i]))
      continue;
    HD_TRY(hd_padded_make(ctx, peer->device, bench, units[i], &s->padded));
    s->bench = s->padded.bench;
    s->unit = units[i];
    if (describe(NULL, s) == HEDDLE_OK)
      return HEDDLE_OK;
    hd_padded_free(peer->device, &s->padded);
  }
  s->bench = *bench;
  HD_TRY(describe(ctx, s));
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case",
                  "cusparselt is left out: it broke the device");
}

static void add(hd_peer *peer, way *w) {
  state *s = peer->state;
  char name[64], what[16] = "default", padded[24] = "";
  if (w->id != DEFAULT_ID)
    snprintf(what, sizeof what, "alg %d", w->id);
  if (s->unit)
    snprintf(padded, sizeof padded, " padded to %lld", (long long)s->unit);
  snprintf(name, sizeof name, "cusparselt %s %s%s", w->row_major ? "row" : "col", what, padded);
  hd_peer_add(peer, name, launch, w, w->row_major ? HD_STORED_ROW_MAJOR : HD_STORED_COL_MAJOR);
  peer->list[peer->n - 1].finish = s->unit ? crop : NULL;
}

static way *new_way(state *s, bool row_major, int id) {
  way *w = &s->ways[s->n_ways++];
  w->state = s;
  w->row_major = row_major;
  w->id = id;
  return w;
}

static heddle_status prepare_cusparselt(heddle_context *ctx, hd_peer *peer,
                                        const hd_bench_case *bench) {
  state *s = peer->state;
  HD_TRY(take(ctx, peer, bench));
  size_t n_bytes = sizeof(way) * (2 * MOST_ALGORITHMS + 2);
  s->ways = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
  if (!s->ways)
    return HEDDLE_NO_MEMORY;
  memset(s->ways, 0, n_bytes);
  for (int order = 0; order < 2; order++) {
    way *first = new_way(s, order == 1, DEFAULT_ID);
    select_algorithm(s, first);
    if (!plan(s, first))
      continue;
    if (!s->compressed)
      HD_TRY(compress_sets(ctx, peer, first));
    add(peer, first);
    int n = n_algorithms(s, first);
    for (int id = 0; id < n; id++)
      (void)new_way(s, order == 1, id);
    HD_TRY(select_all(ctx, s, first + 1, n));
    for (way *w = first + 1; w <= first + n; w++)
      if (plan(s, w))
        add(peer, w);
  }
  peer->picked = peer->n ? 0 : -1;
  return HEDDLE_OK;
}

static void reset_cusparselt(hd_peer *peer) {
  state *s = peer->state;
  for (int32_t i = 0; i < s->n_ways; i++)
    if (s->ways[i].planned)
      s->f.plan_destroy(&s->ways[i].plan);
  for (size_t i = 0; i < s->n_compressed; i++)
    hd_buffer_free(peer->device, &s->compressed[i]);
  hd_padded_free(peer->device, &s->padded);
  hd_free(s->compressed);
  hd_free(s->ways);
  s->compressed = NULL;
  s->ways = NULL;
  s->n_compressed = 0;
  s->n_ways = 0;
}

static void close_cusparselt(hd_peer *peer) {
  state *s = peer->state;
  s->f.destroy(&s->handle);
  hd_free(s);
}

const hd_peer_ops hd_peer_cusparselt = {.name = "cusparselt",
                                        .sonames = sonames,
                                        .open = open_cusparselt,
                                        .prepare = prepare_cusparselt,
                                        .reset = reset_cusparselt,
                                        .close = close_cusparselt};
