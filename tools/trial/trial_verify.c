/* Verifies a run: nothing outside of the outputs was written, all of them was written, and the
 * numbers are right. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

enum {
  SAMPLE_ROWS = TRIAL_STATISTIC_ROWS, /* compared if a problem is too large to check all rows */
  WHOLE_PRODUCTS_LOG2 = 31      /* up to this many multiplications, all rows are checked */
};

/* Relative error of the user's function. */
static const double user_error = 1e-6;
/* Rounding error of the epilogue's f32 arithmetic. */
static const double epilogue_error = 0x1p-22;
/* Rounding error of a scale that is computed from sums in f32. */
static const double column_error = 0x1p-21;

/* ---- numbers ---- */

static hd_matrix matrix(const void *data, heddle_elem elem, int64_t pitch, bool transposed) {
  uint64_t p = (uint64_t)pitch;
  return (hd_matrix){data, elem, transposed ? 1 : p, transposed ? p : 1};
}

/* Address of matrix g of an operand. With groups, of the first column of g; columns are `apart`
 * elements apart (0: the operand has no columns). */
static const void *start(const trial_data *data, hd_arg_kind kind, int64_t g, int64_t apart) {
  const trial_block *block = trial_data_block(data, kind);
  int64_t first, end;
  trial_columns(data, g, &first, &end);
  return block->data +
         hd_elem_bytes(block->elem,
                       (size_t)(trial_before(&data->shape, kind, g) + first * apart));
}

static hd_matrix scale(const trial_data *data, hd_arg_kind kind, int64_t g, bool one) {
  const trial_block *block = trial_data_block(data, kind);
  int64_t apart = kind == HD_ARG_SCALE_B && !one;
  return block ? (hd_matrix){start(data, kind, g, apart), block->elem, one ? 0 : 1, 1}
               : (hd_matrix){0};
}

/* The columns of group g of B, D or aux. columns: a copy in the order of the products; NULL: as
 * stored. */
static hd_matrix columns_of(const trial_data *data, hd_arg_kind kind, int64_t g, int64_t pitch,
                            bool transposed, const uint8_t *columns, int64_t height) {
  heddle_elem elem = trial_data_block(data, kind)->elem;
  int64_t first, end;
  trial_columns(data, g, &first, &end);
  if (columns)
    return matrix(columns + hd_elem_bytes(elem, (size_t)(first * height)), elem, height, true);
  return matrix(start(data, kind, g, transposed ? pitch : 1), elem, pitch, transposed);
}

/* The index of product g's matrix in the dense A. */
static size_t dense_a(const trial_data *data, int64_t g) {
  return trial_stride(&data->shape, HD_ARG_STRIDE_A) ? (size_t)g : 0;
}

static bool has_user(const hd_manifest *manifest) {
  return hd_act_is_user(manifest->act);
}

/* Copies of B, D and aux in the order of the products; NULL: used as stored. Owned. */
typedef struct by_index {
  uint8_t *b, *d, *aux, *scales;
} by_index;

/* The block scales of product g. Products with scales of their own have them beside each other: a
 * row of scales is as long as all of them. Those of a group's columns begin at its first one.
 * taken: those of B by index, or NULL. */
static hd_matrix block_scales(const hd_manifest *manifest, const trial_data *data, int which,
                              int64_t g, const uint8_t *taken) {
  heddle_elem elem = hd_manifest_arg(manifest, HD_ARG_BLOCK_SCALE_A)->elem;
  int64_t n = trial_scales_a_row(manifest, &data->shape);
  int64_t n_matrices = trial_scale_matrices(manifest, &data->shape, which);
  int64_t first, end, at = n_matrices > 1 ? g * n : 0;
  trial_columns(data, g, &first, &end);
  at += which ? first * n_matrices * n : 0;
  const uint8_t *scales = taken ? taken : data->scales[which];
  return (hd_matrix){scales + hd_elem_bytes(elem, (size_t)at), elem,
                     (uint64_t)(n_matrices * n), 1};
}

static heddle_status describe(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_data *data, const by_index *columns, int64_t g,
                              hd_reference *r) {
  const trial_shape *s = &data->shape;
  const trial_block *c = trial_data_block(data, HD_ARG_C),
                    *bias = trial_data_block(data, HD_ARG_BIAS);
  int64_t first, end;
  trial_columns(data, g, &first, &end);
  *r = (hd_reference){
      .m = (uint64_t)s->m,
      .n = (uint64_t)(end - first),
      .first_column = (uint64_t)first,
      .k = (uint64_t)s->k,
      .a = {(uint8_t *)data->a_dense + dense_a(data, g) * (size_t)s->m * data->a_row_bytes,
            manifest->a_elem, (uint64_t)s->k, 1},
      .b = columns_of(data, HD_ARG_B, g, s->ldb, !manifest->b_mn_major, columns->b, s->k),
      .bias_along_n = manifest->bias_along_n,
      .alpha = data->alpha,
      .beta = data->beta,
  };
  if (c)
    r->c = matrix(start(data, HD_ARG_C, g, manifest->c_col_major ? s->ldc : 1), manifest->c_elem,
                  s->ldc, manifest->c_col_major);
  if (bias)
    r->bias = (hd_matrix){start(data, HD_ARG_BIAS, g, manifest->bias_along_n), manifest->bias_elem,
                          1, 1};
  r->scale_a = scale(data, HD_ARG_SCALE_A, g, manifest->scale_a_one);
  if (manifest->scale_b_statistic)
    r->sums = matrix(start(data, HD_ARG_SCALE_B, g, 1), HEDDLE_F32, s->ldsb, false);
  else
    r->scale_b = scale(data, HD_ARG_SCALE_B, g, manifest->scale_b_one);
  r->eps = data->eps;
  const hd_arg *block_a = hd_manifest_arg(manifest, HD_ARG_BLOCK_SCALE_A);
  r->block = (unsigned)manifest->scale_block;
  if (block_a) {
    r->block_a = block_scales(manifest, data, 0, g, NULL);
    r->block_b = block_scales(manifest, data, 1, g, columns->scales);
    r->block_rows = (unsigned)manifest->scale_rows;
  }
  if (has_user(manifest))
    return HEDDLE_OK;
  r->act = hd_act_of_gate(manifest->act);
  if (r->act != HD_N_ACTS)
    return HEDDLE_OK;
  heddle_status status = hd_act_parse(manifest->act, &r->act);
  return status == HEDDLE_OK ? status
                             : hd_error(ctx, HEDDLE_INTERNAL, HD_NOWHERE, "manifest.act",
                                        "got act = %s; legal: %s", manifest->act, hd_act_list);
}

/* up NULL: no pairs. first: the first column. */
static void apply_user(const trial_request *request, const uint64_t *rows, size_t n_rows,
                       uint64_t n, int64_t first, double *values, const double *up, double *slack) {
  for (size_t i = 0; i < n_rows; i++)
    for (uint64_t j = 0; j < n; j++) {
      double *x = &values[i * n + j];
      *x = request->user(request->user_data, *x, up ? up[i * n + j] : 0,
                         (int64_t)(rows ? rows[i] : i), first + (int64_t)j);
      slack[i * n + j] = user_error * fabs(*x);
    }
}

static bool is_float(const hd_matrix *x) {
  return x->data && heddle_elem_get(x->elem)->kind == HEDDLE_FLOAT;
}

/* Scales always round. Integer sums are exact until the first floating-point operand. */
static bool is_rounded(const hd_manifest *manifest, const hd_reference *r) {
  bool whole = manifest->acc_elem == HEDDLE_S32;
  bool as_float = hd_act_of_gate(manifest->act) != HD_N_ACTS ||
                  (r->act != HD_ACT_NONE && r->act != HD_ACT_RELU) || is_float(&r->c) ||
                  is_float(&r->bias) || hd_manifest_arg(manifest, HD_ARG_ALPHA);
  return r->scale_a.data || r->scale_b.data || r->sums.data || (whole && as_float);
}

/* Error bound of sums that are stored as `elem`. */
static double bound_of(const hd_manifest *manifest, const hd_reference *r, heddle_elem elem) {
  bool promoted = r->block_b.data && r->block_b.elem == HEDDLE_F32;
  double bound = promoted ? hd_promoted_bound(elem, r->k)
                          : hd_error_bound(elem, manifest->a_elem, manifest->acc_elem, r->k);
  bound += r->sums.data ? column_error : 0;
  return is_rounded(manifest, r) ? bound + epilogue_error : bound;
}

/* For pairs: `expected` has the sums of gate. Those of up are m / 2 rows below. */
static heddle_status expect_pairs(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *request, const hd_reference *sums,
                                  hd_act act, heddle_elem elem, const uint64_t *rows,
                                  size_t n_rows, double *expected, double *slack) {
  size_t n = n_rows * (size_t)sums->n;
  uint64_t *below = hd_try_malloc(ctx, n_rows * sizeof *below + n * sizeof(double), "up's rows");
  if (!below)
    return HEDDLE_NO_MEMORY;
  double *up = (double *)(void *)(below + n_rows);
  for (size_t i = 0; i < n_rows; i++)
    below[i] = sums->m / 2 + (rows ? rows[i] : i);
  heddle_status status = hd_reference_rows(ctx, sums, below, n_rows, up);
  if (status == HEDDLE_OK && has_user(manifest))
    apply_user(request, rows, n_rows, sums->n, (int64_t)sums->first_column, expected, up, slack);
  else if (status == HEDDLE_OK)
    hd_act_apply_pairs(act, elem,
                       request->exact ? 0 : bound_of(manifest, sums, HEDDLE_F32), n, expected, up,
                       slack);
  hd_free(below);
  return status;
}

/* Computes the expected rows of D or aux, of type `elem`, and the error that the activation
 * allows. */
static heddle_status expect(heddle_context *ctx, const hd_manifest *manifest,
                            const trial_request *request, const hd_reference *r, heddle_elem elem,
                            const uint64_t *rows, size_t n_rows, double *expected, double *slack) {
  hd_reference sums = *r;
  sums.act = HD_ACT_NONE;
  HD_TRY(hd_reference_rows(ctx, &sums, rows, n_rows, expected));
  if (hd_act_is_pair(manifest->act))
    return expect_pairs(ctx, manifest, request, &sums, r->act, elem, rows, n_rows, expected,
                        slack);
  if (has_user(manifest))
    apply_user(request, rows, n_rows, r->n, (int64_t)r->first_column, expected, NULL, slack);
  else
    hd_act_apply_all(r->act, elem, request->exact ? 0 : bound_of(manifest, r, HEDDLE_F32),
                     n_rows * (size_t)r->n, expected, slack);
  return HEDDLE_OK;
}

/* Merges the results of D or aux of a batch: the worst error, and the first wrong element. g < 0:
 * columns of D are sums of products. */
static void keep_numbers(const trial_request *request, const char *name, int64_t g,
                         const hd_comparison *c, trial_result *result) {
  hd_comparison *all = &result->comparison;
  char matrix[32] = "";
  result->bound = fmax(result->bound, c->bound);
  if (all->n_compared == 0) {
    *all = *c;
  } else {
    all->n_compared += c->n_compared;
    all->n_wrong += c->n_wrong;
    all->error = fmax(all->error, c->error);
    all->ok = all->ok && c->ok;
  }
  if (c->ok || result->why[0])
    return;
  if (result->g > 1 && g >= 0)
    snprintf(matrix, sizeof matrix, "%" PRId64 ", ", g);
  snprintf(result->why, sizeof result->why,
           "%s[%s%" PRIu64 ", %" PRIu64 "] is %.9g, the reference's %.9g (%s%" PRIu64 " of %" PRIu64
           " wrong)",
           name, matrix, c->row, c->col, c->got, c->expected,
           request->exact ? "" : "at least ", c->n_wrong,
           c->n_compared);
}

/* Whether no visible element of D differs by more than a correct kernel may be off. */
static bool are_alike(const hd_manifest *manifest, const trial_data *data, const hd_reference *r,
                      size_t n_rows, const double *x, const double *x_slack, const double *y,
                      const double *y_slack) {
  size_t width = (size_t)r->n;
  for (size_t j = 0; j < width; j++) {
    bool is_shown = trial_is_shown(manifest, data, (int64_t)(r->first_column + j));
    for (size_t i = j; is_shown && i < n_rows * width; i += width)
      if (!(fabs(x[i] - y[i]) <= x_slack[i] + y_slack[i]))
        return false;
  }
  return true;
}

/* HEDDLE_UNSUPPORTED if the fault injected into A does not change these rows of D, for example
 * because of a closed gate. */
static heddle_status tell_injected(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *request, const trial_data *data,
                                  int64_t g, const hd_reference *r, const uint64_t *rows,
                                  size_t n_rows, const double *expected, const double *slack) {
  bool another = data->offsets ? g != trial_injected_matrix(data)
                               : g < data->shape.g - 1 && dense_a(data, 1);
  if (!data->an_injected || another)
    return HEDDLE_OK;
  hd_reference broken = *r;
  broken.a.data = data->an_injected;
  size_t n = n_rows * (size_t)r->n;
  double *sums = hd_try_malloc(ctx, 3 * sizeof *sums * n, "the reference");
  if (!sums)
    return HEDDLE_NO_MEMORY;
  double *right = sums + 2 * n;
  memcpy(right, expected, n * sizeof *right);
  heddle_status status = expect(ctx, manifest, request, &broken, manifest->d_elem, rows, n_rows,
                                sums, sums + n);
  if (status == HEDDLE_OK && manifest->statistic && !strcmp(manifest->statistic, "scale")) {
    trial_show_scaled(manifest, r->n, rows, n_rows, sums);
    trial_show_scaled(manifest, r->n, rows, n_rows, right);
  }
  if (status == HEDDLE_OK && are_alike(manifest, data, r, n_rows, sums, sums + n, right, slack))
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                      "this product is the same with that error");
  hd_free(sums);
  return status;
}

/* Columns that are not stored: expects zeros. */
static void hide_columns(const trial_data *data, int64_t g, const hd_reference *r, size_t n_rows,
                         double *expected, double *slack) {
  int64_t first, end;
  trial_columns(data, g, &first, &end);
  for (uint64_t j = 0; data->scatter && j < r->n; j++)
    for (size_t i = 0; i < n_rows && !trial_is_index(data->scatter[first + (int64_t)j],
                                                     data->shape.n); i++)
      expected[i * r->n + j] = slack[i * r->n + j] = 0;
}

/* ---- sums of columns ---- */

/* Sums of the compared rows, by columns of D, and their allowed errors. Owned; NULL: D's columns
 * are those of the products. */
typedef struct column_sums {
  double *sum, *slack;
  double bound; /* of the products with columns */
} column_sums;

static double rounded(heddle_elem elem, double x) {
  return hd_elem_to_double(elem, hd_elem_from_double(elem, x));
}

static double mean_size(const double *x, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < n; i++)
    squares += isfinite(x[i]) ? x[i] * x[i] : 0;
  return n ? sqrt(squares / (double)n) : 0;
}

/* Whether a multiple of 2^LOWEST_BIT: sums of such numbers are exact in f32. */
static bool adds_exactly(double x) {
  enum { LOWEST_BIT = -10 };
  double scaled = ldexp(x, -LOWEST_BIT);
  return isfinite(x) && scaled == floor(scaled);
}

/* Adds a product, rounded to D's type. If it may be off by `near` before rounding, it may round to
 * a neighbour. */
static void add_product(const hd_manifest *manifest, bool exact, double right, double near,
                        double *sum, double *slack) {
  heddle_elem elem = manifest->d_elem;
  double x = rounded(elem, right);
  double off = fmax(fabs(rounded(elem, right + near) - x), fabs(rounded(elem, right - near) - x));
  double added = epilogue_error * (fabs(*sum) + fabs(x));
  *sum += x;
  *slack += (near > 0 && isfinite(off) ? off : 0) + (exact && adds_exactly(*sum) ? 0 : added);
}

/* Adds the columns of group g to the sums. */
static void add_columns(const hd_manifest *manifest, const trial_request *request,
                        const trial_data *data, int64_t g, const hd_reference *r, size_t n_rows,
                        const double *expected, const double *slack, column_sums *sums) {
  int64_t first, end, t = data->shape.t;
  double step = request->exact ? 0 : bound_of(manifest, r, HEDDLE_F32);
  double size = mean_size(expected, n_rows * (size_t)r->n);
  trial_columns(data, g, &first, &end);
  sums->bound = bound_of(manifest, r, manifest->d_elem);
  for (int64_t e = 0; e < t * manifest->slots; e++)
    for (size_t i = 0; i < n_rows && data->combine[e] >= first && data->combine[e] < end; i++) {
      size_t from = i * (size_t)r->n + (size_t)(data->combine[e] - first);
      size_t to = i * (size_t)t + (size_t)(e / manifest->slots);
      add_product(manifest, request->exact, expected[from],
                  slack[from] + step * (fabs(expected[from]) + size), &sums->sum[to],
                  &sums->slack[to]);
    }
}

static void compare_sums(const hd_manifest *manifest, const trial_request *request,
                         const trial_data *data, const uint64_t *rows, size_t n_rows,
                         const column_sums *sums, trial_result *result) {
  uint64_t t = (uint64_t)data->shape.t;
  hd_matrix d = matrix(trial_data_block(data, HD_ARG_D)->data, manifest->d_elem, data->shape.ldd,
                       manifest->d_col_major);
  hd_comparison c = request->exact || sums->bound == 0
                        ? hd_compare_exact(&d, t, rows, n_rows, sums->sum, sums->slack)
                        : hd_compare_bounded(&d, t, rows, n_rows, sums->sum, sums->slack,
                                             sums->bound);
  keep_numbers(request, "D", -1, &c, result);
}

/* Adds the error that each result may have before rounding to D's type to the activation's. The
 * bound is for the norm of all results; a single result may be farther off: on an H200 one of 4096
 * x 2 results had 3.5 times the bound. */
static void widen_slack(const hd_manifest *manifest, const trial_request *request,
                        const hd_reference *r, size_t n, const double *expected, double *slack) {
  enum { SINGLE = 8 };
  double step = request->exact ? 0 : SINGLE * bound_of(manifest, r, HEDDLE_F32);
  double size = mean_size(expected, n);
  for (size_t i = 0; i < n; i++)
    slack[i] += step * (fabs(expected[i]) + size);
}

/* Compares rows of D or aux of product g. */
static void compare_output(const hd_manifest *manifest, const trial_request *request, int64_t g,
                           const hd_reference *r, const hd_matrix *output, const char *name,
                           const uint64_t *rows, size_t n_rows, const double *expected,
                           const double *slack, trial_result *result) {
  hd_comparison c = request->exact
                        ? hd_compare_exact(output, r->n, rows, n_rows, expected, slack)
                        : hd_compare_bounded(output, r->n, rows, n_rows, expected, slack,
                                             bound_of(manifest, r, output->elem));
  keep_numbers(request, name, g, &c, result);
}

/* Compares aux: results of its own type, or the sums before the activation. expected: space for
 * n_rows rows of numbers, and as many errors. */
static heddle_status compare_aux(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *request, const trial_data *data, int64_t g,
                                 const by_index *columns, const hd_reference *r,
                                 const uint64_t *rows, size_t n_rows, double *expected,
                                 trial_result *result) {
  size_t n = n_rows * (size_t)r->n;
  double *slack = expected + n;
  memset(slack, 0, n * sizeof *slack);
  hd_matrix aux = columns_of(data, HD_ARG_AUX, g, data->shape.ldaux, manifest->d_col_major,
                             columns->aux, hd_manifest_d_rows(manifest, data->shape.m));
  hd_reference input = *r;
  input.act = HD_ACT_NONE;
  if (strcmp(manifest->aux, "input") == 0)
    HD_TRY(hd_reference_rows(ctx, &input, rows, n_rows, expected));
  else
    HD_TRY(expect(ctx, manifest, request, r, aux.elem, rows, n_rows, expected, slack));
  hide_columns(data, g, r, n_rows, expected, slack);
  compare_output(manifest, request, g, r, &aux, "aux", rows, n_rows, expected, slack, result);
  return HEDDLE_OK;
}

static heddle_status compare(heddle_context *ctx, const hd_manifest *manifest,
                             const trial_request *request, const trial_data *data, int64_t g,
                             const by_index *columns, const hd_reference *r, const uint64_t *rows,
                             size_t n_rows, column_sums *sums, trial_result *result) {
  double *expected = hd_try_malloc(ctx, 2 * sizeof *expected * n_rows * r->n, "the reference");
  if (!expected)
    return HEDDLE_NO_MEMORY;
  double *slack = expected + n_rows * r->n;
  heddle_status status =
      expect(ctx, manifest, request, r, manifest->d_elem, rows, n_rows, expected, slack);
  if (status == HEDDLE_OK)
    status = tell_injected(ctx, manifest, request, data, g, r, rows, n_rows, expected, slack);
  if (status == HEDDLE_OK && sums->sum)
    add_columns(manifest, request, data, g, r, n_rows, expected, slack, sums);
  else if (status == HEDDLE_OK) {
    if (manifest->statistic) {
      widen_slack(manifest, request, r, n_rows * (size_t)r->n, expected, slack);
      trial_check_statistic(manifest, data, (int64_t)r->first_column, r->n, rows, n_rows, expected,
                            slack, result);
    }
    hide_columns(data, g, r, n_rows, expected, slack);
    hd_matrix d = columns_of(data, HD_ARG_D, g, data->shape.ldd, manifest->d_col_major,
                             columns->d, hd_manifest_d_rows(manifest, data->shape.m));
    compare_output(manifest, request, g, r, &d, "D", rows, n_rows, expected, slack, result);
  }
  if (status == HEDDLE_OK && manifest->aux)
    status = compare_aux(ctx, manifest, request, data, g, columns, r, rows, n_rows, expected,
                         result);
  hd_free(expected);
  return status;
}

static heddle_status verify_products(heddle_context *ctx, const hd_manifest *manifest,
                                     const trial_request *request, const trial_data *data,
                                     const by_index *columns, const uint64_t *rows, size_t n_rows,
                                     column_sums *sums, trial_result *result) {
  for (int64_t g = 0; g < data->shape.g; g++) {
    hd_reference r;
    HD_TRY(describe(ctx, manifest, data, columns, g, &r));
    result->n_routed += (int64_t)r.n;
    if (r.n > 0)
      HD_TRY(compare(ctx, manifest, request, data, g, columns, &r, rows, n_rows, sums, result));
  }
  return HEDDLE_OK;
}

static heddle_status verify_numbers(heddle_context *ctx, const hd_manifest *manifest,
                                    const trial_request *request, const trial_data *data,
                                    const by_index *columns, trial_result *result) {
  uint64_t rows[SAMPLE_ROWS];
  const trial_shape *s = &data->shape;
  double products =
      (data->offsets ? 1 : (double)s->g) * (double)s->m * (double)s->n * (double)s->k / 2;
  bool whole = products <= (double)(UINT64_C(1) << WHOLE_PRODUCTS_LOG2);
  uint64_t height = (uint64_t)hd_manifest_d_rows(manifest, s->m);
  size_t n_rows = whole                 ? (size_t)height
                  : manifest->statistic ? trial_statistic_rows(height, rows)
                                        : hd_reference_sample_rows(request->seed, height,
                                                                   SAMPLE_ROWS, rows);
  const uint64_t *compared = whole ? NULL : rows;
  column_sums sums = {0};
  if (data->combine) {
    size_t n = n_rows * (size_t)s->t;
    sums.sum = hd_try_zalloc(ctx, 2 * n * sizeof(double) + 1, "sums of columns");
    if (!sums.sum)
      return HEDDLE_NO_MEMORY;
    sums.slack = sums.sum + n;
  }
  heddle_status status = verify_products(ctx, manifest, request, data, columns, compared, n_rows,
                                         &sums, result);
  if (status == HEDDLE_OK && data->combine)
    compare_sums(manifest, request, data, compared, n_rows, &sums, result);
  hd_free(sums.sum);
  return status;
}

static heddle_status verify_columns(heddle_context *ctx, const hd_manifest *manifest,
                                    const trial_request *request, const trial_data *data,
                                    trial_result *result) {
  const trial_shape *s = &data->shape;
  trial_stored b = trial_stored_b(manifest, s), d = trial_stored_d(manifest, s),
               aux = trial_stored_aux(manifest, s);
  by_index by = {0};
  if (data->gather)
    by.b = trial_take_columns(ctx, data, HD_ARG_B, data->gather, s->t, &b);
  if (data->gather && data->scales[1])
    by.scales = trial_take_scales(ctx, manifest, data);
  if (data->scatter)
    by.d = trial_take_columns(ctx, data, HD_ARG_D, data->scatter, s->n, &d);
  if (data->scatter && manifest->aux)
    by.aux = trial_take_columns(ctx, data, HD_ARG_AUX, data->scatter, s->n, &aux);
  bool has_all = (!data->gather || (by.b && (by.scales || !data->scales[1]))) &&
                 (!data->scatter || (by.d && (by.aux || !manifest->aux)));
  heddle_status status = !has_all
                             ? HEDDLE_NO_MEMORY
                             : verify_numbers(ctx, manifest, request, data, &by, result);
  hd_free(by.b);
  hd_free(by.d);
  hd_free(by.aux);
  hd_free(by.scales);
  return status;
}

heddle_status trial_verify(heddle_context *ctx, const hd_manifest *manifest,
                           const trial_request *request, const trial_data *data,
                           trial_result *result) {
  if (has_user(manifest) && !request->user)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "run.user-epilogue",
                    "the user's function \"%s\" has no reference here", manifest->user_function);
  bool memory = trial_memory_right(manifest, data, result);
  char first[sizeof result->why];
  memcpy(first, result->why, sizeof first);
  result->why[0] = '\0';
  result->comparison.ok = true;
  HD_TRY(verify_columns(ctx, manifest, request, data, result));
  if (first[0])
    memcpy(result->why, first, sizeof first);
  result->ok = memory && result->comparison.ok && !result->n_statistics_wrong && !first[0];
  return HEDDLE_OK;
}
