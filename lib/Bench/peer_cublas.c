/* cuBLASLt, dense: up to 8 heuristics for each order of D; and the product that results are checked
 * against. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Bench/peer_table.h"

enum { HEURISTICS = 8 };
enum { /* cublasComputeType_t, cublasLtMatmulDescAttributes_t, preference attribute */
  COMPUTE_32F = 68,
  COMPUTE_32I = 72,
  COMPUTE_TF32 = 77,
  TYPE_F32 = 0, /* cudaDataType */
  TYPE_S32 = 10,
  LAYOUT_BATCH = 5,  /* matrices, int32 */
  LAYOUT_STRIDE = 6, /* elements apart, int64 */
  DESC_TRANSA = 3,
  DESC_FAST_ACCUM = 25,
  DESC_SCALE_POINTER = 17, /* of A; that of B follows */
  DESC_SCALE_MODE = 31,    /* likewise; cublasLtMatmulMatrixScale_t */
  SCALE_VEC128 = 4,
  SCALE_BLK128X128 = 5,
  PREF_WORKSPACE = 1,
  OP_T = 1
};

typedef struct heuristic {
  uint64_t algo[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} heuristic;

/* ORDER CUBLAS: as `names`. */
typedef struct functions {
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*desc_create)(void **desc, int compute, int scale);
  int (*desc_set)(void *desc, int attribute, const void *value, size_t n_bytes);
  int (*desc_destroy)(void *desc);
  int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*layout_set)(void *layout, int attribute, const void *value, size_t n_bytes);
  int (*layout_destroy)(void *layout);
  int (*pref_create)(void **pref);
  int (*pref_set)(void *pref, int attribute, const void *value, size_t n_bytes);
  int (*pref_destroy)(void *pref);
  int (*heuristics)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int n,
                    heuristic *list, int *n_found);
  int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                void *d, void *d_layout, const void *algo, void *workspace, size_t n_bytes,
                void *stream);
} functions;
static const char *const names[] = {
    "cublasLtCreate",
    "cublasLtDestroy",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatmulDescDestroy",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatrixLayoutSetAttribute",
    "cublasLtMatrixLayoutDestroy",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatmulPreferenceDestroy",
    "cublasLtMatmulAlgoGetHeuristic",
    "cublasLtMatmul",
};
static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                      NULL};

/* One order of D: token-major (n x m) takes A first, feature-major (m x n) takes B first. */
typedef struct form {
  void *desc, *a, *b, *d;
  int scale_type; /* cudaDataType of alpha and beta */
  bool feature_major;
  heuristic found[HEURISTICS];
  int n_found;
} form;

typedef struct way {
  struct state *state;
  form *form;
  int index;
} way;

typedef struct state {
  functions f;
  void *handle;
  hd_bench_case bench;
  form forms[2];
  way ways[2 * HEURISTICS];
} state;

/* Buffer set `set` by one of the form's heuristics. */
static heddle_status multiply(heddle_context *ctx, state *s, form *f, int index, size_t set,
                              uint64_t d_address, void *stream) {
  static const int32_t one_i = 1, zero_i = 0;
  static const float one = 1, zero = 0;
  bool integer = f->scale_type == TYPE_S32;
  const void *a = (const void *)(uintptr_t)s->bench.a_dense->set[set].address;
  const void *b = (const void *)(uintptr_t)s->bench.b->set[set].address;
  void *d = (void *)(uintptr_t)d_address;
  int status = s->f.matmul(s->handle, f->desc, integer ? (const void *)&one_i : &one,
                           f->feature_major ? b : a, f->a, f->feature_major ? a : b, f->b,
                           integer ? (const void *)&zero_i : &zero, d, f->d, d, f->d,
                           f->found[index].algo, (void *)(uintptr_t)s->bench.workspace,
                           s->bench.workspace_bytes, stream);
  return status ? hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "peer.launch",
                           "cublasLtMatmul: status %d", status)
                : HEDDLE_OK;
}

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  way *w = user;
  state *s = w->state;
  size_t set = index % s->bench.n_sets;
  return multiply(ctx, s, w->form, w->index, set, s->bench.d->set[set].address, stream);
}

static heddle_status open_cublas(heddle_context *ctx, hd_peer *peer) {
  state *s = hd_try_zalloc(ctx, sizeof *s, "cuBLASLt");
  if (!s)
    return HEDDLE_NO_MEMORY;
  peer->state = s;
  heddle_status status = hd_peer_symbols(ctx, peer, names, (void **)&s->f, HD_COUNT(names));
  if (status == HEDDLE_OK && s->f.create(&s->handle) != 0)
    status = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "peer.open", "cublasLtCreate failed");
  if (status != HEDDLE_OK)
    hd_free(s);
  return status;
}

/* exact: at no cost of accuracy. */
static int compute_type(heddle_elem elem, bool exact) {
  return elem == HEDDLE_S8              ? COMPUTE_32I
         : elem == HEDDLE_TF32 && !exact ? COMPUTE_TF32
                                         : COMPUTE_32F;
}

/* Of a batch: so many matrices without gaps. */
static int set_batch(state *s, void *layout, int64_t stride) {
  int32_t n = (int32_t)s->bench.g;
  return n == 0 ? 0
                : s->f.layout_set(layout, LAYOUT_BATCH, &n, sizeof n) |
                      s->f.layout_set(layout, LAYOUT_STRIDE, &stride, sizeof stride);
}

/* The scales of the operands as the form has them; A's come first where D is token-major. */
static int set_scales(state *s, form *f) {
  const hd_bench_case *c = &s->bench;
  int bad = 0;
  for (int i = 0; c->block_scales[0] && i < 2; i++) {
    int of_b = f->feature_major ? 1 - i : i;
    int32_t mode = !of_b && c->block_rows > 1 ? SCALE_BLK128X128 : SCALE_VEC128;
    const void *scales = (const void *)(uintptr_t)c->block_scales[of_b];
    bad |= s->f.desc_set(f->desc, DESC_SCALE_MODE + i, &mode, sizeof mode);
    bad |= s->f.desc_set(f->desc, DESC_SCALE_POINTER + i, &scales, sizeof scales);
  }
  return bad;
}

static void find_heuristics(state *s, form *f, void *pref) {
  if (s->f.heuristics(s->handle, f->desc, f->a, f->b, f->d, f->d, pref, HEURISTICS, f->found,
                      &f->n_found) != 0)
    f->n_found = 0;
}

static int make_form(state *s, form *f, bool feature_major, int d_type, bool exact) {
  const hd_bench_case *c = &s->bench;
  int type = hd_cuda_type(c->elem), op = OP_T;
  uint64_t rows = (uint64_t)(feature_major ? c->n : c->m);
  uint64_t cols = (uint64_t)(feature_major ? c->m : c->n);
  uint64_t k = (uint64_t)c->k;
  f->feature_major = feature_major;
  f->scale_type = c->elem == HEDDLE_S8 && d_type == TYPE_S32 ? TYPE_S32 : TYPE_F32;
  int bad = s->f.desc_create(&f->desc, compute_type(c->elem, exact), f->scale_type);
  bad |= s->f.desc_set(f->desc, DESC_TRANSA, &op, sizeof op);
  int8_t fast = !exact;
  bool fp8 = c->elem == HEDDLE_E4M3 || c->elem == HEDDLE_E5M2;
  if (fp8)
    bad |= s->f.desc_set(f->desc, DESC_FAST_ACCUM, &fast, sizeof fast);
  bad |= set_scales(s, f);
  bad |= s->f.layout_create(&f->a, type, k, rows, c->k);
  bad |= s->f.layout_create(&f->b, type, k, cols, c->k);
  bad |= s->f.layout_create(&f->d, d_type, rows, cols, (int64_t)rows);
  if (!bad)
    bad = set_batch(s, f->a, (int64_t)(k * rows)) | set_batch(s, f->b, (int64_t)(k * cols)) |
          set_batch(s, f->d, (int64_t)(rows * cols));
  void *pref = NULL;
  bad |= s->f.pref_create(&pref);
  bad |= s->f.pref_set(pref, PREF_WORKSPACE, &c->workspace_bytes, sizeof c->workspace_bytes);
  if (!bad)
    find_heuristics(s, f, pref);
  fast = 0;
  if (!bad && fp8 && f->n_found == 0 && s->f.desc_set(f->desc, DESC_FAST_ACCUM, &fast, 1) == 0)
    find_heuristics(s, f, pref);
  if (pref)
    s->f.pref_destroy(pref);
  return bad;
}

static heddle_status prepare_cublas(heddle_context *ctx, hd_peer *peer,
                                    const hd_bench_case *bench) {
  state *s = peer->state;
  s->bench = *bench;
  int n = 0;
  for (int order = 0; order < 2; order++) {
    form *f = &s->forms[order];
    if (make_form(s, f, order == 1, hd_cuda_type(bench->d_elem), false))
      return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.case",
                      "cublasLt refuses the case");
    for (int i = 0; i < f->n_found; i++) {
      char name[64];
      snprintf(name, sizeof name, "cublas %s #%d", order ? "row" : "col", i);
      s->ways[n] = (way){s, f, i};
      hd_peer_add(peer, name, launch, &s->ways[n++],
                  order ? HD_STORED_ROW_MAJOR : HD_STORED_COL_MAJOR);
    }
  }
  peer->picked = peer->n ? 0 : -1;
  return HEDDLE_OK;
}

static void free_form(state *s, form *f) {
  void *layouts[] = {f->a, f->b, f->d};
  for (int i = 0; i < 3; i++)
    if (layouts[i])
      s->f.layout_destroy(layouts[i]);
  if (f->desc)
    s->f.desc_destroy(f->desc);
  *f = (form){0};
}

/* In the order of D that it has a way for. */
static heddle_status product_cublas(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                                    uint64_t d, bool *row_major) {
  state *s = peer->state;
  s->bench = *bench;
  int d_type = bench->elem == HEDDLE_S8 ? TYPE_S32 : TYPE_F32;
  heddle_status status = HEDDLE_UNSUPPORTED;
  for (int order = 0; order < 2 && status != HEDDLE_OK; order++) {
    form f = {0};
    if (!make_form(s, &f, order == 1, d_type, true) && f.n_found)
      status = multiply(NULL, s, &f, 0, 0, d, peer->device->stream);
    free_form(s, &f);
    *row_major = order == 1;
  }
  return status == HEDDLE_OK ? status
                             : hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "peer.product",
                                        "cublasLt cannot compute the product in f32");
}

static void reset_cublas(hd_peer *peer) {
  state *s = peer->state;
  for (int order = 0; order < 2; order++)
    free_form(s, &s->forms[order]);
}

static void close_cublas(hd_peer *peer) {
  state *s = peer->state;
  s->f.destroy(s->handle);
  hd_free(s);
}

const hd_peer_ops hd_peer_cublas = {.name = "cublas",
                                    .sonames = sonames,
                                    .open = open_cublas,
                                    .prepare = prepare_cublas,
                                    .product = product_cublas,
                                    .reset = reset_cublas,
                                    .close = close_cublas};
