#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Reference/operands.h"
#include "Sparse/npy.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

/* ---- blocks ---- */

static heddle_status add_block(heddle_context *ctx, hd_arg_kind kind, heddle_elem elem,
                               size_t n_bytes, size_t offset, trial_data *data) {
  size_t all = 2 * data->guard_bytes + offset + n_bytes;
  uint8_t *memory = hd_try_malloc(ctx, all, hd_arg_name(kind));
  if (!memory)
    return HEDDLE_NO_MEMORY;
  trial_block *block = &data->block[data->n_blocks++];
  *block = (trial_block){.kind = kind,
                         .elem = elem,
                         .n_bytes = n_bytes,
                         .offset = offset,
                         .lead_bytes = data->guard_bytes + offset,
                         .all_bytes = all,
                         .all = memory};
  memset(block->all, TRIAL_POISON, all);
  block->data = block->all + block->lead_bytes;
  return HEDDLE_OK;
}

void trial_data_free(trial_data *data) {
  for (int i = 0; i < data->n_blocks; i++) {
    hd_free(data->block[i].all);
    hd_free(data->block[i].before);
  }
  hd_free(data->a_dense);
  hd_free(data->an_injected);
  hd_free(data->offsets);
  hd_free(data->gather);
  hd_free(data->scatter);
  hd_free(data->combine);
  hd_free(data->scales[0]);
  hd_free(data->scales[1]);
}

/* ---- dense operands ---- */

/* Bytes up to the last element; guards follow immediately. before: elements of a batch's other
 * matrices. */
static size_t stored_bytes(heddle_elem elem, const trial_stored *s, int64_t before) {
  return hd_elem_bytes(elem, (size_t)(before + (s->rows - 1) * s->pitch + s->cols));
}

/* Reads a file with the n matrices one below another; they are stored `stride` elements apart. */
static heddle_status read_rows(heddle_context *ctx, const char *path, heddle_elem elem,
                               const trial_stored *s, int64_t n, int64_t stride, uint8_t *to) {
  void *rows = NULL;
  uint64_t n_rows, n_cols;
  HD_TRY(hd_npy_read(ctx, path, elem, &rows, &n_rows, &n_cols));
  bool fits = n_rows == (uint64_t)(s->rows * n) && n_cols == (uint64_t)s->cols;
  size_t row = hd_elem_bytes(elem, (size_t)s->cols), pitch = hd_elem_bytes(elem, (size_t)s->pitch);
  for (int64_t i = 0; fits && i < s->rows * n; i++)
    memcpy(to + hd_elem_bytes(elem, (size_t)(i / s->rows * stride)) +
               (size_t)(i % s->rows) * pitch,
           (uint8_t *)rows + (size_t)i * row, row);
  hd_free(rows);
  if (fits)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "run.shape",
                  "the matrix is %llu x %llu; legal: %lld x %lld, as the problem stores it",
                  (unsigned long long)n_rows, (unsigned long long)n_cols, (long long)(s->rows * n),
                  (long long)s->cols);
}

typedef struct dense_operand {
  hd_arg_kind kind;
  heddle_elem elem;
  trial_stored stored;
  const char *file;
  size_t offset;
  unsigned limit, one_in;
} dense_operand;

static heddle_status add_dense(heddle_context *ctx, uint64_t seed, const dense_operand *o,
                               trial_data *data) {
  const trial_shape *s = &data->shape;
  int64_t n = trial_matrices(s, trial_stride_of(o->kind));
  int64_t before = trial_before(s, o->kind, n - 1);
  HD_TRY(add_block(ctx, o->kind, o->elem, stored_bytes(o->elem, &o->stored, before), o->offset,
                   data));
  trial_block *block = trial_data_block(data, o->kind);
  if (o->file)
    return read_rows(ctx, o->file, o->elem, &o->stored, n, trial_before(s, o->kind, 1),
                     block->data);
  /* Each operand has its own random stream. */
  for (int64_t i = 0; i < n; i++) {
    hd_fill fill = {.seed = seed * TRIAL_STREAMS + (uint64_t)o->kind +
                            (uint64_t)i * TRIAL_NEXT_MATRIX,
                    .limit = o->limit,
                    .one_in = o->one_in};
    hd_fill_dense(&fill, o->elem, (uint64_t)o->stored.rows, (uint64_t)o->stored.cols,
                  block->data + hd_elem_bytes(o->elem, (size_t)trial_before(s, o->kind, i)),
                  (uint64_t)o->stored.pitch);
  }
  return HEDDLE_OK;
}

/* ---- all ---- */

typedef struct limits {
  unsigned a, b, other; /* 0: random */
  unsigned b_one_in;    /* as in hd_fill */
} limits;

/* Approximate root mean square of a generated element (Reference/operands.h). */
static double spread(heddle_elem elem, unsigned limit) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (limit)
    return (limit + 1) * 0.6;
  return info->kind == HEDDLE_FLOAT
             ? 1
             : ldexp(1, info->value_bits - (info->kind == HEDDLE_SIGNED)) / 3;
}

static bool is_narrow(const hd_manifest *manifest) {
  return heddle_elem_get(manifest->d_elem)->container_bits <= 8;
}

static bool products_have_sign(const hd_manifest *manifest) {
  return hd_elem_has_sign(manifest->a_elem) || hd_elem_has_sign(manifest->b_elem);
}

/* Sums of products without a sign only grow. Unscaled, an 8-bit D would be saturated everywhere,
 * and errors would not show. So B is mostly zeros. */
static void thin(const hd_manifest *manifest, int64_t k, limits *limit) {
  enum { MIDDLE = 64 };
  if (!is_narrow(manifest) || products_have_sign(manifest) ||
      hd_manifest_arg(manifest, HD_ARG_SCALE_A) || hd_manifest_arg(manifest, HD_ARG_SCALE_B))
    return;
  limit->a = limit->a < 2 ? limit->a : 2;
  limit->b = limit->b < 2 ? limit->b : 2;
  double sum = (double)k / 2 * spread(manifest->a_elem, limit->a) *
               spread(manifest->b_elem, limit->b);
  limit->b_one_in = (unsigned)ceil(sum / MIDDLE);
}

static heddle_status choose_limits(heddle_context *ctx, const hd_manifest *manifest,
                                   const trial_request *request, const trial_shape *shape,
                                   limits *out) {
  if (!request->exact)
    return HEDDLE_OK;
  out->other = 4;
  /* Exact block scales are 1 and 2, so a product counts up to four times. With promotion, a tensor
   * core only sums one k-block; these sums are added in f32, exact up to MAX_PROMOTED. */
  enum { K_BLOCK = 128, MAX_PROMOTED = 1 << 16 };
  const hd_arg *scale = hd_manifest_arg(manifest, HD_ARG_BLOCK_SCALE_A);
  bool promoted = scale && scale->elem == HEDDLE_F32 && shape->k <= MAX_PROMOTED;
  uint64_t k = promoted ? K_BLOCK : (uint64_t)shape->k * (manifest->scale_block ? 4 : 1);
  HD_TRY(hd_exact_limits(ctx, manifest->a_elem, manifest->b_elem, manifest->acc_elem, k, &out->a,
                         &out->b));
  thin(manifest, shape->k, out);
  return HEDDLE_OK;
}

/* Packs A; for pairs, interleaves rows of gate and up first. */
static heddle_status pack(heddle_context *ctx, const hd_manifest *manifest, uint64_t m, uint64_t k,
                          const void *dense, size_t row_bytes, void *packed) {
  heddle_family family = trial_kernel_family(manifest);
  if (!hd_act_is_pair(manifest->act))
    return heddle_sparse_pack_dense(ctx, manifest->a_elem, family, m, k, dense, row_bytes, packed);
  void *paired = hd_try_malloc(ctx, m * row_bytes, "pairs of rows");
  if (!paired)
    return HEDDLE_NO_MEMORY;
  heddle_status status = heddle_sparse_pair_rows(ctx, m, row_bytes, dense, paired);
  if (status == HEDDLE_OK)
    status =
        heddle_sparse_pack_dense(ctx, manifest->a_elem, family, m, k, paired, row_bytes, packed);
  hd_free(paired);
  return status;
}

/* Adds A as the kernel reads it, with the injected fault. */
static heddle_status add_packed(heddle_context *ctx, const hd_manifest *manifest,
                                trial_fault plant, trial_data *data) {
  heddle_family family = trial_kernel_family(manifest);
  uint64_t m = (uint64_t)data->shape.m, k = (uint64_t)data->shape.k;
  int64_t last = trial_matrices(&data->shape, HD_ARG_STRIDE_A) - 1;
  size_t n_bytes, dense_bytes = data->a_row_bytes * m;
  HD_TRY(heddle_sparse_packed_bytes(ctx, manifest->a_elem, family, m, k, &n_bytes));
  n_bytes += (size_t)trial_before(&data->shape, HD_ARG_A, last);
  HD_TRY(add_block(ctx, HD_ARG_A, manifest->a_elem, n_bytes, 0, data));
  trial_block *block = trial_data_block(data, HD_ARG_A);
  int64_t at = trial_injected_matrix(data);
  const uint8_t *injected_dense = (uint8_t *)data->a_dense + (size_t)at * dense_bytes;
  uint8_t *injected_packed = block->data + trial_before(&data->shape, HD_ARG_A, at);
  for (int64_t i = 0; i <= last; i++)
    HD_TRY(pack(ctx, manifest, m, k, (uint8_t *)data->a_dense + (size_t)i * dense_bytes,
                data->a_row_bytes, block->data + trial_before(&data->shape, HD_ARG_A, i)));
  if (plant == TRIAL_FAULT_NONE || plant > TRIAL_FAULT_PAIRS)
    return HEDDLE_OK;
  HD_TRY(trial_check_injectable(ctx, data));
  data->an_injected = hd_xmalloc(dense_bytes);
  memcpy(data->an_injected, injected_dense, dense_bytes);
  HD_TRY(trial_inject_fault(ctx, plant, manifest->a_elem, &data->shape, data->an_injected,
                           data->a_row_bytes));
  return pack(ctx, manifest, m, k, data->an_injected, data->a_row_bytes, injected_packed);
}

static uint64_t float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The value of a scalar argument; 1 if the kernel does not have it. */
static float scalar(const hd_manifest *manifest, hd_arg_kind kind, float asked, float otherwise) {
  if (!hd_manifest_arg(manifest, kind))
    return 1.0f;
  return asked != 0 ? asked : otherwise;
}

/* Elements by which matrices of aux are farther apart if its pitch is one too large: none if their
 * rows lie between each other's. */
static int64_t injected_apart(const hd_manifest *manifest, const trial_shape *s) {
  trial_stored aux = trial_stored_aux(manifest, s);
  return trial_stride(s, HD_ARG_STRIDE_AUX) < aux.pitch ? 0 : aux.rows;
}

static void set_values(const hd_manifest *manifest, const trial_request *request,
                       trial_data *data) {
  const trial_shape *s = &data->shape;
  data->alpha = scalar(manifest, HD_ARG_ALPHA, request->alpha, request->exact ? 0.5f : 1.0f);
  data->beta = scalar(manifest, HD_ARG_BETA, request->beta, request->exact ? 2.0f : 1.0f);
  uint64_t *v = data->values.v;
  v[HD_ARG_M] = (uint64_t)s->m;
  v[HD_ARG_N] = (uint64_t)s->n;
  v[HD_ARG_K] = (uint64_t)s->k;
  v[HD_ARG_LDB] = (uint64_t)s->ldb;
  v[HD_ARG_LDC] = (uint64_t)s->ldc;
  v[HD_ARG_LDD] = (uint64_t)s->ldd;
  v[HD_ARG_LDSA] = (uint64_t)s->ldsa;
  v[HD_ARG_LDSB] = (uint64_t)s->ldsb + (request->fault == TRIAL_FAULT_COLUMNS);
  v[HD_ARG_LDSD] = (uint64_t)s->ldsd + (request->fault == TRIAL_FAULT_STATISTIC);
  v[HD_ARG_LDAUX] = (uint64_t)s->ldaux + (request->fault == TRIAL_FAULT_AUX);
  v[HD_ARG_G] = (uint64_t)s->g;
  v[HD_ARG_T] = (uint64_t)s->t;
  for (hd_arg_kind i = HD_ARG_STRIDE_A; i <= HD_ARG_STRIDE_SCALE_B; i++)
    v[i] = (uint64_t)trial_stride(s, i);
  if (request->fault == TRIAL_FAULT_AUX)
    v[HD_ARG_STRIDE_AUX] += (uint64_t)injected_apart(manifest, s);
  v[HD_ARG_ALPHA] = float_bits(data->alpha);
  v[HD_ARG_BETA] = float_bits(data->beta);
}

/* Refuses a file for an operand that the problem does not have. */
static heddle_status check_wanted(heddle_context *ctx, const hd_manifest *manifest,
                                  const char *file, hd_arg_kind kind) {
  if (!file || hd_manifest_arg(manifest, kind))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = file}, "run.operand",
                  "a file for %s, but the problem has no %s; nearest: without it",
                  hd_arg_name(kind), hd_arg_name(kind));
}

/* ---- scales ---- */

/* The power of two that scales D to the middle of an 8-bit range, so that it is neither all zeros
 * nor saturated. Products without a sign only grow. */
static double scale_unit(const hd_manifest *manifest, const limits *limit, int64_t k) {
  enum { MIDDLE = 32 };
  if (!is_narrow(manifest))
    return 1;
  double n = (double)k / 2;
  double size = (products_have_sign(manifest) ? sqrt(n) : n) * spread(manifest->a_elem, limit->a) *
                spread(manifest->b_elem, limit->b);
  return ldexp(1, (int)floor(log2(MIDDLE / size)));
}

/* Values from 0.5 to 2 times unit; if exact, powers of two, so that products stay exact. A single
 * scale is positive: a negative one could make all sums negative, and ReLU or an unsigned D would
 * hide them. */
static heddle_status add_scale(heddle_context *ctx, const trial_request *r, hd_arg_kind kind,
                               int64_t n, const char *file, double unit, trial_data *data) {
  dense_operand o = {kind, HEDDLE_F32, {1, n, n}, file, r->offset_vectors, r->exact ? 3 : 0, 0};
  HD_TRY(add_dense(ctx, r->seed, &o, data));
  const trial_block *block = trial_data_block(data, kind);
  float *v = (float *)(void *)block->data;
  size_t n_values = block->n_bytes / sizeof *v;
  for (size_t i = 0; !file && i < n_values; i++) {
    double x = fabs(v[i]), size = unit * (r->exact ? ldexp(1, (int)x - 2) : (1 + x) / 2);
    v[i] = (float)(n_values > 1 ? copysign(size, v[i]) : size);
  }
  return HEDDLE_OK;
}

/* The launch reads the sums at the pitch of the fault, but the reference at the right one. */
static heddle_status add_column_sums(heddle_context *ctx, const trial_request *r, double unit,
                                     trial_data *data) {
  bool plant = r->fault == TRIAL_FAULT_COLUMNS;
  trial_stored s = trial_column_sums(&data->shape);
  if (plant && s.rows < 2)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                    "this product has one row of sums, wherever the next one would be");
  if (plant)
    HD_TRY(trial_check_injectable(ctx, data));
  dense_operand o = {HD_ARG_SCALE_B, HEDDLE_F32, s, r->scale_b_file, r->offset_vectors, 0, 0};
  o.stored.cols += plant;
  o.stored.pitch += plant;
  HD_TRY(add_dense(ctx, r->seed, &o, data));
  if (!r->scale_b_file)
    trial_fill_column_sums(r, unit, data);
  data->eps = trial_eps(r, r->scale_b_file ? 1 : unit);
  data->values.v[HD_ARG_EPS] = float_bits(data->eps);
  return HEDDLE_OK;
}

static heddle_status add_scales(heddle_context *ctx, const hd_manifest *manifest,
                                const trial_request *r, const limits *limit, trial_data *data) {
  const trial_shape *s = &data->shape;
  bool a = hd_manifest_arg(manifest, HD_ARG_SCALE_A), b = hd_manifest_arg(manifest, HD_ARG_SCALE_B);
  double unit = scale_unit(manifest, limit, s->k);
  if (a)
    HD_TRY(add_scale(ctx, r, HD_ARG_SCALE_A, manifest->scale_a_one ? 1 : s->m, r->scale_a_file,
                     unit, data));
  if (manifest->scale_b_statistic)
    return add_column_sums(ctx, r, a ? 1 : unit, data);
  if (r->fault == TRIAL_FAULT_COLUMNS)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                    "this product has no statistics of B");
  if (b)
    HD_TRY(add_scale(ctx, r, HD_ARG_SCALE_B, manifest->scale_b_one ? 1 : s->n, r->scale_b_file,
                     a ? 1 : unit, data));
  return HEDDLE_OK;
}

static heddle_status add_block_scales(heddle_context *ctx, const hd_manifest *manifest,
                                      const trial_request *r, trial_data *data) {
  static const hd_arg_kind kinds[] = {HD_ARG_BLOCK_SCALE_A, HD_ARG_BLOCK_SCALE_B};
  const trial_shape *s = &data->shape;
  for (int i = 0; i < 2; i++) {
    const hd_arg *arg = hd_manifest_arg(manifest, kinds[i]);
    HD_TRY(check_wanted(ctx, manifest, r->block_scale_file[i], kinds[i]));
    if (!arg)
      continue;
    int64_t bytes = trial_block_scale_bytes(manifest, s, i);
    HD_TRY(add_block(ctx, kinds[i], arg->elem, (size_t)bytes, 0, data));
    HD_TRY(trial_block_scales(ctx, manifest, r, data, i, &data->scales[i],
                              trial_data_block(data, kinds[i])->data));
  }
  return HEDDLE_OK;
}

/* ---- groups ---- */

static heddle_status add_offsets(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *r, trial_data *data) {
  size_t n_bytes = (size_t)(data->shape.g + 1) * sizeof *data->offsets;
  if (!hd_manifest_is_grouped(manifest)) {
    if (!r->routing)
      return HEDDLE_OK;
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "run.routing",
                    "got a routing, but the kernel has no groups; nearest: without it");
  }
  HD_TRY(add_block(ctx, HD_ARG_OFFSETS, HEDDLE_S32, n_bytes, 0, data));
  int32_t *offsets = (int32_t *)(void *)trial_data_block(data, HD_ARG_OFFSETS)->data;
  HD_TRY(trial_make_offsets(ctx, r, &data->shape, offsets));
  data->offsets = hd_try_malloc(ctx, n_bytes, "the offsets");
  if (!data->offsets)
    return HEDDLE_NO_MEMORY;
  memcpy(data->offsets, offsets, n_bytes);
  return r->fault == TRIAL_FAULT_OFFSETS ? trial_inject_offset(ctx, &data->shape, offsets)
                                         : HEDDLE_OK;
}

/* Adds indices of columns: `index` is correct; device memory gets the injected fault. */
static heddle_status add_index(heddle_context *ctx, const hd_manifest *manifest,
                               const trial_request *r, hd_arg_kind kind, trial_fault fault,
                               int32_t **index, trial_data *data) {
  int64_t n = kind == HD_ARG_GATHER_B ? data->shape.t : data->shape.n;
  int64_t n_indices =
      kind == HD_ARG_COMBINE_D ? data->shape.t * manifest->slots : data->shape.n;
  size_t n_bytes = (size_t)n_indices * sizeof **index;
  if (!hd_manifest_arg(manifest, kind))
    return HEDDLE_OK;
  HD_TRY(add_block(ctx, kind, HEDDLE_S32, n_bytes, 0, data));
  int32_t *launched = (int32_t *)(void *)trial_data_block(data, kind)->data;
  trial_make_index(r, data, kind, n_indices, launched);
  *index = hd_try_malloc(ctx, n_bytes, "the indices");
  if (!*index)
    return HEDDLE_NO_MEMORY;
  memcpy(*index, launched, n_bytes);
  return r->fault == fault ? trial_inject_index(ctx, data, kind, n, n_indices, launched)
                           : HEDDLE_OK;
}

/* ---- statistics of D ---- */

static heddle_status add_statistics(heddle_context *ctx, const hd_manifest *manifest,
                                    const trial_request *r, trial_data *data) {
  bool plant = r->fault == TRIAL_FAULT_STATISTIC;
  if (!manifest->statistic)
    return plant ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                            "this product has no statistics of D")
                 : HEDDLE_OK;
  trial_stored s = trial_stored_statistic(manifest, &data->shape);
  if (plant && s.rows < 2)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                    "this product has one row of statistics, wherever the next one would be");
  if (plant)
    HD_TRY(trial_check_injectable(ctx, data));
  s.pitch += plant;
  return add_block(ctx, HD_ARG_SCALE_D, HEDDLE_F32, stored_bytes(HEDDLE_F32, &s, 0), 0, data);
}

/* ---- the second matrix ---- */

static heddle_status add_aux(heddle_context *ctx, const hd_manifest *manifest,
                             const trial_request *r, trial_data *data) {
  bool plant = r->fault == TRIAL_FAULT_AUX;
  if (!manifest->aux)
    return plant ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                            "this product has no second matrix")
                 : HEDDLE_OK;
  trial_stored s = trial_stored_aux(manifest, &data->shape);
  if (plant && s.rows < 2)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                    "this product has one row of aux, wherever the next one would be");
  if (plant)
    HD_TRY(trial_check_injectable(ctx, data));
  s.pitch += plant;
  heddle_elem elem = hd_manifest_arg(manifest, HD_ARG_AUX)->elem;
  int64_t last = trial_stride(&data->shape, HD_ARG_STRIDE_AUX) ? data->shape.g - 1 : 0;
  int64_t apart = plant ? injected_apart(manifest, &data->shape) : 0;
  int64_t before = trial_before(&data->shape, HD_ARG_AUX, last) + last * apart;
  return add_block(ctx, HD_ARG_AUX, elem, stored_bytes(elem, &s, before), r->offset_aux, data);
}

/* ---- all of them ---- */

static heddle_status add_operands(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *r, const limits *limit, trial_data *data) {
  const trial_shape *s = &data->shape;
  HD_TRY(check_wanted(ctx, manifest, r->c_file, HD_ARG_C));
  HD_TRY(check_wanted(ctx, manifest, r->bias_file, HD_ARG_BIAS));
  HD_TRY(check_wanted(ctx, manifest, r->scale_a_file, HD_ARG_SCALE_A));
  HD_TRY(check_wanted(ctx, manifest, r->scale_b_file, HD_ARG_SCALE_B));
  HD_TRY(add_offsets(ctx, manifest, r, data));
  HD_TRY(add_index(ctx, manifest, r, HD_ARG_GATHER_B, TRIAL_FAULT_GATHER, &data->gather, data));
  HD_TRY(add_index(ctx, manifest, r, HD_ARG_SCATTER_D, TRIAL_FAULT_SCATTER, &data->scatter, data));
  HD_TRY(add_index(ctx, manifest, r, HD_ARG_COMBINE_D, TRIAL_FAULT_COMBINE, &data->combine, data));
  HD_TRY(trial_check_shown(ctx, manifest, r->fault, data));
  HD_TRY(trial_operand_a(ctx, manifest, r, s, limit->a, &data->a_dense, &data->a_row_bytes));
  size_t n_said = heddle_context_count(ctx);
  heddle_status packed = add_packed(ctx, manifest, r->fault, data);
  if (r->a_file)
    hd_name_file(ctx, n_said, r->a_file);
  HD_TRY(packed);
  dense_operand b = {HD_ARG_B,    manifest->b_elem, trial_stored_b(manifest, s), r->b_file,
                     r->offset_b, limit->b,         limit->b_one_in};
  HD_TRY(add_dense(ctx, r->seed, &b, data));
  if (hd_manifest_arg(manifest, HD_ARG_C)) {
    dense_operand c = {HD_ARG_C,  manifest->c_elem, trial_stored_c(manifest, s),
                       r->c_file, 0,                limit->other, 0};
    HD_TRY(add_dense(ctx, r->seed, &c, data));
  }
  if (hd_manifest_arg(manifest, HD_ARG_BIAS)) {
    int64_t n = manifest->bias_along_n ? s->n : s->m;
    dense_operand bias = {HD_ARG_BIAS,  manifest->bias_elem, {1, n, n},
                          r->bias_file, r->offset_vectors,   limit->other, 0};
    HD_TRY(add_dense(ctx, r->seed, &bias, data));
  }
  HD_TRY(add_scales(ctx, manifest, r, limit, data));
  HD_TRY(add_block_scales(ctx, manifest, r, data));
  if (r->user_bytes && hd_manifest_arg(manifest, HD_ARG_USER)) {
    HD_TRY(add_block(ctx, HD_ARG_USER, HEDDLE_U8, r->n_user_bytes, 0, data));
    memcpy(trial_data_block(data, HD_ARG_USER)->data, r->user_bytes, r->n_user_bytes);
  }
  HD_TRY(add_statistics(ctx, manifest, r, data));
  HD_TRY(add_aux(ctx, manifest, r, data));
  trial_stored d = trial_stored_d(manifest, s);
  return add_block(ctx, HD_ARG_D, manifest->d_elem,
                   stored_bytes(manifest->d_elem, &d, trial_before(s, HD_ARG_D, s->g - 1)),
                   r->offset_d, data);
}

heddle_status trial_data_make(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, trial_data *data) {
  *data = (trial_data){.guard_bytes = request->bare ? 0 : TRIAL_GUARD_BYTES};
  int64_t asked[HD_N_ARG_KINDS];
  memcpy(asked, request->size, sizeof asked);
  HD_TRY(trial_operand_sizes(ctx, manifest, request, asked));
  HD_TRY(trial_shape_resolve(ctx, manifest, asked, &data->shape));
  set_values(manifest, request, data);
  /* Refuses illegal sizes and pitches before operands of that size are allocated. */
  uint64_t unused;
  hd_values probe = data->values;
  HD_TRY(hd_manifest_workspace(ctx, manifest, &probe, NULL, &unused));
  limits limit = {0};
  HD_TRY(choose_limits(ctx, manifest, request, &data->shape, &limit));
  HD_TRY(add_operands(ctx, manifest, request, &limit, data));
  for (int i = 0; i < data->n_blocks; i++) {
    trial_block *block = &data->block[i];
    block->before = hd_try_malloc(ctx, block->all_bytes, "a copy of the operands");
    if (!block->before)
      return HEDDLE_NO_MEMORY;
    memcpy(block->before, block->all, block->all_bytes);
  }
  return HEDDLE_OK;
}

void *trial_data_take_d(const trial_data *data) {
  trial_block *d = trial_data_block(data, HD_ARG_D);
  void *taken = hd_xmalloc(d->all_bytes);
  memcpy(taken, d->all, d->all_bytes);
  memcpy(d->all, d->before, d->all_bytes);
  trial_block *aux = trial_data_block(data, HD_ARG_AUX);
  if (aux)
    memcpy(aux->all, aux->before, aux->all_bytes);
  return taken;
}

void trial_data_compare_d(const trial_data *data, void *taken, trial_result *result) {
  const trial_block *d = trial_data_block(data, HD_ARG_D);
  if (!result->why[0] && memcmp(taken, d->all, d->all_bytes))
    snprintf(result->why, sizeof result->why,
             "a second launch with the same workspace gives other bits");
  hd_free(taken);
}
