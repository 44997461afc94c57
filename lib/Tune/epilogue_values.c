#include "Tune/epilogue_values.h"

#include <math.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference_compare.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"

/* Relative error of the epilogue's f32 arithmetic, in addition to the error of the sums. */
static const double epilogue_error = 0x1p-22;
/* The same of a scale that is computed from sums of squares. */
static const double column_error = 0x1p-21;
enum { BLOCK = 128 /* elements of k that share a block scale */ };

enum { STATISTIC_ROWS = 128 /* rows of D, or of B, per statistic */ };

static size_t batch_of(const hd_product *p) { return p->g ? (size_t)p->g : 1; }

static size_t bytes_of(heddle_elem elem) { return heddle_elem_get(elem)->container_bits / 8; }

size_t hd_product_d_bytes(const hd_product *p) {
  return batch_of(p) * (size_t)hd_product_d_rows(p) * (size_t)p->n * bytes_of(p->d);
}

/* ---- on the host ---- */

static heddle_status make_vector(heddle_context *ctx, uint64_t seed, size_t n, float **vector,
                                 size_t *n_made) {
  hd_fill fill = {.seed = seed};
  hd_free(*vector);
  *n_made = 0;
  *vector = n ? hd_try_malloc(ctx, n * sizeof **vector, "a vector of the epilogue") : NULL;
  if (!n)
    return HEDDLE_OK;
  if (!*vector)
    return HEDDLE_NO_MEMORY;
  hd_fill_dense(&fill, HEDDLE_F32, 1, n, *vector, n);
  *n_made = n;
  return HEDDLE_OK;
}

static size_t scale_length(char scale, int64_t dim) {
  return scale == 'v' ? (size_t)dim : scale == 'o';
}

/* scale_b, or the sums of squares from which it is computed. */
static heddle_status make_scale_b(heddle_context *ctx, const hd_product *p, uint64_t seed,
                                  hd_epilogue_values *v) {
  bool sums = p->epilogue.scale_b == 's';
  size_t rows = ((size_t)p->k + STATISTIC_ROWS - 1) / STATISTIC_ROWS, n = (size_t)p->n;
  hd_free(v->columns);
  v->columns = NULL;
  HD_TRY(make_vector(ctx, seed, sums ? rows * n : scale_length(p->epilogue.scale_b, p->n),
                     &v->scale_b, &v->n_scale_b));
  if (!sums)
    return HEDDLE_OK;
  v->columns = hd_try_malloc(ctx, n * sizeof *v->columns, "scales of columns");
  if (!v->columns)
    return HEDDLE_NO_MEMORY;
  for (size_t j = 0; j < n; j++) {
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
      float *x = &v->scale_b[i * n + j];
      *x = STATISTIC_ROWS * (0.5f + *x * *x);
      sum += (double)*x;
    }
    v->columns[j] = 1 / sqrt(sum / (double)p->k + (double)HD_EPILOGUE_EPS);
  }
  return HEDDLE_OK;
}

static heddle_status make_c(heddle_context *ctx, const hd_product *p, uint64_t seed,
                            hd_epilogue_values *v) {
  hd_fill fill = {.seed = seed};
  size_t rows = batch_of(p) * (size_t)(p->d_col_major ? p->n : p->m);
  size_t row = (size_t)(p->d_col_major ? p->m : p->n);
  hd_free(v->c);
  v->c = NULL;
  v->c_bytes = 0;
  if (!p->epilogue.c)
    return HEDDLE_OK;
  v->c = hd_try_malloc(ctx, rows * row * bytes_of(p->d), "C");
  if (!v->c)
    return HEDDLE_NO_MEMORY;
  hd_fill_dense(&fill, p->d, rows, row, v->c, row);
  v->c_bytes = rows * row * bytes_of(p->d);
  return HEDDLE_OK;
}

heddle_status hd_epilogue_other_c(heddle_context *ctx, const hd_product *p,
                                  const hd_epilogue_values *v, void **other) {
  size_t n_rows = (size_t)(p->d_col_major ? p->n : p->m), bytes = bytes_of(p->d);
  size_t row = (size_t)(p->d_col_major ? p->m : p->n), n = n_rows * row;
  *other = NULL;
  if (!v->c)
    return HEDDLE_OK;
  char *to = hd_try_malloc(ctx, v->c_bytes, "C in the other order");
  if (!to)
    return HEDDLE_NO_MEMORY;
  for (size_t g = 0; g < batch_of(p); g++)
    for (size_t i = 0; i < n_rows; i++)
      for (size_t j = 0; j < row; j++)
        memcpy(to + (g * n + j * n_rows + i) * bytes,
               (const char *)v->c + (g * n + i * row + j) * bytes, bytes);
  *other = to;
  return HEDDLE_OK;
}

/* One line of scales per k-block. */
static heddle_status make_blocks(heddle_context *ctx, const hd_product *p, uint64_t seed, int which,
                                 hd_epilogue_values *v) {
  hd_fill fill = {.seed = seed};
  uint64_t lines = ((uint64_t)p->k + BLOCK - 1) / BLOCK;
  uint64_t line = (uint64_t)hd_product_scales(p, which);
  hd_free(v->blocks[which]);
  v->blocks[which] = NULL;
  v->n_blocks[which] = 0;
  if (!p->epilogue.blocks)
    return HEDDLE_OK;
  v->blocks[which] = hd_try_malloc(ctx, lines * line * sizeof(float), "block scales");
  if (!v->blocks[which])
    return HEDDLE_NO_MEMORY;
  hd_fill_scales(&fill, HEDDLE_F32, lines, line, v->blocks[which]);
  v->n_blocks[which] = lines * line;
  return HEDDLE_OK;
}

void hd_epilogue_add_blocks(const hd_product *p, const hd_epilogue_values *v, uint64_t first,
                            hd_reference *r) {
  if (!p->epilogue.blocks)
    return;
  r->block = BLOCK;
  r->block_rows = (unsigned)hd_product_block_rows(p);
  r->block_a = (hd_matrix){v->blocks[0], HEDDLE_F32, 1, (uint64_t)hd_product_scales(p, 0)};
  r->block_b = (hd_matrix){v->blocks[1] + first, HEDDLE_F32, 1, (uint64_t)hd_product_scales(p, 1)};
}

heddle_status hd_epilogue_values_make(heddle_context *ctx, const hd_product *p, uint64_t seed,
                                      hd_epilogue_values *v) {
  const hd_product_epilogue *e = &p->epilogue;
  size_t bias = !e->bias ? 0 : (size_t)(e->bias == 'm' ? p->m : p->n);
  HD_TRY(make_vector(ctx, seed + 3, bias, &v->bias, &v->n_bias));
  HD_TRY(make_vector(ctx, seed + 4, scale_length(e->scale_a, p->m), &v->scale_a, &v->n_scale_a));
  HD_TRY(make_scale_b(ctx, p, seed + 5, v));
  for (int i = 0; i < 2; i++)
    HD_TRY(make_blocks(ctx, p, seed + 7 + (uint64_t)i, i, v));
  return make_c(ctx, p, seed + 6, v);
}

void hd_epilogue_values_free(hd_epilogue_values *v) {
  hd_free(v->bias);
  hd_free(v->scale_a);
  hd_free(v->scale_b);
  hd_free(v->columns);
  hd_free(v->blocks[0]);
  hd_free(v->blocks[1]);
  hd_free(v->c);
  *v = (hd_epilogue_values){0};
}

/* ---- expected values of D ---- */

double hd_product_bound(const hd_product *p, heddle_elem elem) {
  double bound = p->epilogue.blocks ? hd_promoted_bound(elem, (uint64_t)p->k)
                                    : hd_error_bound(elem, p->a, p->acc, (uint64_t)p->k);
  const hd_product_epilogue *e = &p->epilogue;
  bool floats = e->act[0] || e->bias || e->c;
  bool rounded = e->scale_a || e->scale_b || (p->acc == HEDDLE_S32 && floats);
  bound += e->scale_b == 's' ? column_error : 0;
  return rounded ? bound + epilogue_error : bound;
}

/* Index of the bias or scale of a row of A. If the activation takes pairs, A interleaves gate and
 * up rows, but the vectors hold all gates before all ups. */
static uint64_t own_index(const hd_product *p, uint64_t row) {
  uint64_t of_d = row / (2 * HD_PAIR_ROWS) * HD_PAIR_ROWS + row % HD_PAIR_ROWS;
  bool up = row % (2 * HD_PAIR_ROWS) >= HD_PAIR_ROWS;
  return !hd_act_is_pair(p->epilogue.act) ? row : of_d + (up ? (uint64_t)p->m / 2 : 0);
}

/* The sums of one row, after all steps of the epilogue before the activation. */
static heddle_status sums_of_row(heddle_context *ctx, const hd_product *p,
                                 const hd_epilogue_values *v, const hd_reference *sums, int64_t g,
                                 uint64_t first, uint64_t row, double *out) {
  const hd_product_epilogue *e = &p->epilogue;
  uint64_t own = own_index(p, row), n = sums->n;
  HD_TRY(hd_reference_rows(ctx, sums, &row, 1, out));
  for (uint64_t j = 0; j < n; j++) {
    if (e->scale_a)
      out[j] *= (double)v->scale_a[e->scale_a == 'v' ? own : 0];
    if (v->columns)
      out[j] *= v->columns[first + j];
    else if (e->scale_b)
      out[j] *= (double)v->scale_b[e->scale_b == 'v' ? first + j : 0];
    if (e->bias)
      out[j] += (double)v->bias[e->bias == 'm' ? own : first + j];
    if (e->c) {
      uint64_t matrix = (uint64_t)g * (uint64_t)p->m * (uint64_t)p->n;
      uint64_t at = p->d_col_major ? (first + j) * (uint64_t)p->m + row
                                   : row * (uint64_t)p->n + first + j;
      out[j] += hd_elem_load(p->d, v->c, matrix + at);
    }
  }
  return HEDDLE_OK;
}

heddle_status hd_epilogue_rows(heddle_context *ctx, const hd_product *p,
                               const hd_epilogue_values *v, const hd_reference *sums, int64_t g,
                               bool of_aux, uint64_t first, const uint64_t *rows, size_t n_rows,
                               double *out, double *slack) {
  size_t n = (size_t)sums->n;
  bool pair = hd_act_is_pair(p->epilogue.act), input = of_aux && p->epilogue.aux == 'i';
  double bound = hd_product_bound(p, HEDDLE_F32);
  heddle_elem stored = of_aux ? p->epilogue.aux_type : p->d;
  hd_act act = HD_ACT_NONE;
  double *up = pair ? hd_try_malloc(ctx, n * sizeof *up, "sums of up") : NULL;
  heddle_status status = pair && !up ? HEDDLE_NO_MEMORY : HEDDLE_OK;
  if (!pair && !input && p->epilogue.act[0])
    HD_TRY(hd_act_parse(p->epilogue.act, &act));
  for (size_t i = 0; i < n_rows && status == HEDDLE_OK; i++) {
    uint64_t row = rows[i];
    double *x = out + i * n;
    if (pair)
      row = row / HD_PAIR_ROWS * 2 * HD_PAIR_ROWS + row % HD_PAIR_ROWS;
    status = sums_of_row(ctx, p, v, sums, g, first, row, x);
    if (status == HEDDLE_OK && pair)
      status = sums_of_row(ctx, p, v, sums, g, first, row + HD_PAIR_ROWS, up);
    if (status == HEDDLE_OK && pair)
      hd_act_apply_pairs(hd_act_of_gate(p->epilogue.act), stored, bound, n, x, up, slack + i * n);
    else if (status == HEDDLE_OK)
      hd_act_apply_all(act, stored, bound, n, x, slack + i * n);
  }
  hd_free(up);
  return status;
}

/* ---- on the device ---- */

static heddle_status upload(heddle_context *ctx, const hd_device *device, const float *vector,
                            size_t n, hd_buffer *buffer) {
  if (n == 0)
    return HEDDLE_OK;
  HD_TRY(hd_buffer_create(ctx, device, n * sizeof *vector, 0, buffer));
  return hd_buffer_upload(ctx, device, buffer, vector);
}

static size_t statistics_bytes(const hd_product *p) {
  size_t rows = ((size_t)hd_product_d_rows(p) + STATISTIC_ROWS - 1) / STATISTIC_ROWS;
  return p->epilogue.reduce ? rows * (size_t)p->n * sizeof(float) : 0;
}

size_t hd_product_aux_bytes(const hd_product *p) {
  return batch_of(p) * (size_t)hd_product_d_rows(p) * (size_t)p->n *
         bytes_of(p->epilogue.aux_type);
}

heddle_status hd_epilogue_upload(heddle_context *ctx, const hd_device *device, const hd_product *p,
                                 const hd_epilogue_values *v, size_t n_sets,
                                 hd_epilogue_buffers *buffers) {
  if (statistics_bytes(p))
    HD_TRY(hd_buffer_create(ctx, device, statistics_bytes(p), 0, &buffers->scale_d));
  if (p->epilogue.aux)
    HD_TRY(hd_rotation_create(ctx, device, NULL, hd_product_aux_bytes(p), n_sets, &buffers->aux));
  HD_TRY(upload(ctx, device, v->bias, v->n_bias, &buffers->bias));
  HD_TRY(upload(ctx, device, v->scale_a, v->n_scale_a, &buffers->scale_a));
  HD_TRY(upload(ctx, device, v->scale_b, v->n_scale_b, &buffers->scale_b));
  for (int i = 0; i < 2; i++)
    HD_TRY(upload(ctx, device, v->blocks[i], v->n_blocks[i], &buffers->blocks[i]));
  return v->c ? hd_rotation_create(ctx, device, v->c, v->c_bytes, n_sets, &buffers->c) : HEDDLE_OK;
}

void hd_epilogue_buffers_free(const hd_device *device, hd_epilogue_buffers *buffers) {
  hd_buffer_free(device, &buffers->bias);
  hd_buffer_free(device, &buffers->scale_a);
  hd_buffer_free(device, &buffers->scale_b);
  hd_buffer_free(device, &buffers->scale_d);
  hd_buffer_free(device, &buffers->blocks[0]);
  hd_buffer_free(device, &buffers->blocks[1]);
  hd_rotation_free(device, &buffers->c);
  hd_rotation_free(device, &buffers->aux);
}

static double mean_size(const double *x, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < n; i++)
    squares += isfinite(x[i]) ? x[i] * x[i] : 0;
  return n ? sqrt(squares / (double)n) : 0;
}

/* The error of a result is at most its slack, plus the bound of the sum, which is relative to the
 * result and to the RMS of all results, plus the rounding of the division. */
void hd_epilogue_divide(const hd_product *p, const uint64_t *rows, size_t n_rows,
                        const double *results, const double *slack, const float *scales,
                        double *out) {
  size_t n = (size_t)p->n;
  double step = hd_product_bound(p, HEDDLE_F32), size = mean_size(results, n_rows * n);
  for (size_t i = 0; i < n_rows; i++)
    for (size_t j = 0; j < n; j++) {
      double x = results[i * n + j], by = scales[rows[i] / STATISTIC_ROWS * n + j];
      out[i * n + j] = x / by;
      out[(n_rows + i) * n + j] =
          (slack[i * n + j] + step * (fabs(x) + size) + epilogue_error * fabs(x)) / by;
    }
}

heddle_status hd_epilogue_divided(heddle_context *ctx, const hd_device *device,
                                  const hd_product *p, const hd_epilogue_buffers *buffers,
                                  const uint64_t *rows, size_t n_rows, const double *results,
                                  const double *slack, double **divided) {
  *divided = NULL;
  if (p->epilogue.reduce != 'q')
    return HEDDLE_OK;
  float *scales = hd_try_malloc(ctx, statistics_bytes(p), "scales of D");
  double *out = scales ? hd_try_malloc(ctx, 2 * n_rows * (size_t)p->n * sizeof *out, "D") : NULL;
  heddle_status status = out ? hd_buffer_download(ctx, device, &buffers->scale_d, scales)
                             : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK)
    hd_epilogue_divide(p, rows, n_rows, results, slack, scales, out);
  hd_free(scales);
  if (status == HEDDLE_OK)
    *divided = out;
  else
    hd_free(out);
  return status;
}

heddle_status hd_rotation_repeat(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, int64_t g, size_t n_sets, hd_rotation *rotation) {
  if (g < 2)
    return hd_rotation_create(ctx, device, data, n_bytes, n_sets, rotation);
  char *all = hd_try_malloc(ctx, n_bytes * (size_t)g, "an operand of a batch");
  if (!all)
    return HEDDLE_NO_MEMORY;
  for (int64_t i = 0; i < g; i++)
    memcpy(all + (size_t)i * n_bytes, data, n_bytes);
  heddle_status status =
      hd_rotation_create(ctx, device, all, n_bytes * (size_t)g, n_sets, rotation);
  hd_free(all);
  return status;
}
