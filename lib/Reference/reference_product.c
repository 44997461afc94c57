/* Computes the product by panels of B: widens PANEL_K x PANEL_N elements to double once, then
 * multiplies each requested row of A with them. Skips the zeros of a dense A. */
#include <math.h>
#include <string.h>

#include "Reference/reference.h"
#include "Sparse/sparse_rule.h"
#include "Support/arena.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/hash.h"

enum { PANEL_K = 128, PANEL_N = 512, STRIP = 16, N_STRIPS = PANEL_N / STRIP };
enum { SUM_ROWS = 128 /* elements of k for each row of sums */ };

/* A panel of B as strips of STRIP columns: [strip][k][column]. Columns beyond N are zero. */
typedef double panel[N_STRIPS][PANEL_K][STRIP];

/* The values of a row of A within a panel. */
typedef struct row_slice {
  int n;
  int k[PANEL_K]; /* within the panel */
  double value[PANEL_K];
} row_slice;

typedef struct extent {
  uint64_t start;
  unsigned n;
} extent;

static extent panel_extent(uint64_t start, uint64_t total, unsigned most) {
  uint64_t left = total - start;
  return (extent){start, left < most ? (unsigned)left : most};
}

static double element(const hd_matrix *x, uint64_t i, uint64_t j) {
  return hd_elem_load(x->elem, x->data, (size_t)(i * x->row_stride + j * x->col_stride));
}

/* Multiplies the values of a row in the range k by their block scales. */
static void scale_blocks(const hd_matrix *scales, unsigned block, uint64_t row, extent k,
                         double *values) {
  double scale = 1;
  for (unsigned i = 0; scales->data && i < k.n; i++) {
    if (i % block == 0) /* a panel begins at a block boundary */
      scale = element(scales, row, (k.start + i) / block);
    values[i] *= scale;
  }
}

static uint64_t scale_row(const hd_reference *r, uint64_t row) {
  return r->block_rows > 1 ? row / r->block_rows : row;
}

static void widen_panel(const hd_reference *r, extent k, extent n, panel out) {
  const hd_matrix *b = &r->b;
  double column[PANEL_K];
  memset(out, 0, sizeof(panel));
  for (unsigned j = 0; j < n.n; j++) {
    uint64_t index = k.start * b->row_stride + (n.start + j) * b->col_stride;
    hd_elem_load_many(b->elem, b->data, (size_t)index, (size_t)b->row_stride, k.n, column);
    scale_blocks(&r->block_b, r->block, n.start + j, k, column);
    for (unsigned i = 0; i < k.n; i++)
      out[j / STRIP][i][j % STRIP] = column[i];
  }
}

static void slice_dense(const hd_reference *r, uint64_t row, extent k, row_slice *slice) {
  const hd_matrix *a = &r->a;
  double values[PANEL_K];
  uint64_t index = row * a->row_stride + k.start * a->col_stride;
  hd_elem_load_many(a->elem, a->data, (size_t)index, (size_t)a->col_stride, k.n, values);
  scale_blocks(&r->block_a, r->block, scale_row(r, row), k, values);
  slice->n = 0;
  for (unsigned i = 0; i < k.n; i++) {
    slice->k[slice->n] = (int)i;
    slice->value[slice->n] = values[i];
    slice->n += values[i] != 0; /* no branch, because zeros are unpredictable */
  }
}

/* Panels begin and end at group boundaries, because PANEL_K is a multiple of every group. */
static void slice_canonical(const hd_reference *r, uint64_t row, extent k, row_slice *slice) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(r->a.elem);
  unsigned group = heddle_elem_get(r->a.elem)->group, per_unit = group / rule->n_units;
  uint64_t codes_row_bytes = (r->k / group + 1) / 2;
  const uint8_t *codes = (const uint8_t *)r->codes + row * codes_row_bytes;
  double scales[PANEL_K];
  for (unsigned i = 0; i < k.n; i++)
    scales[i] = 1;
  scale_blocks(&r->block_a, r->block, scale_row(r, row), k, scales);
  slice->n = 0;
  for (unsigned first = 0; first < k.n; first += group) {
    unsigned code = hd_nibble(codes, (k.start + first) / group);
    for (unsigned i = 0; i < group / 2u; i++) {
      uint64_t index = row * (r->k / 2) + (k.start + first) / 2 + i;
      unsigned unit = hd_sparse_unit(rule, code, i / per_unit);
      unsigned at = first + unit * per_unit + i % per_unit;
      slice->k[slice->n] = (int)at;
      slice->value[slice->n++] = hd_elem_load(r->a.elem, r->values, (size_t)index) * scales[at];
    }
  }
}

/* Vectors of two doubles, which every supported CPU has. The compiler keeps an array of them in
 * registers, but not an array of doubles. */
typedef double pair __attribute__((vector_size(16)));
enum { STRIP_PAIRS = STRIP / 2 };

static void multiply_strip(const row_slice *slice, const double strip[PANEL_K][STRIP],
                           double *sums) {
  pair acc[STRIP_PAIRS];
  memcpy(acc, sums, sizeof acc);
  for (int i = 0; i < slice->n; i++) {
    const double *b = strip[slice->k[i]];
    pair a = {slice->value[i], slice->value[i]};
#pragma GCC unroll 8
    for (int j = 0; j < STRIP_PAIRS; j++) {
      pair two;
      memcpy(&two, b + 2 * j, sizeof two);
      acc[j] += a * two;
    }
  }
  memcpy(sums, acc, sizeof acc);
}

static void multiply_row(const row_slice *slice, panel b, unsigned n, double *sums) {
  for (unsigned s = 0; s * STRIP < n; s++) {
    double strip[STRIP] = {0};
    unsigned width = n - s * STRIP < STRIP ? n - s * STRIP : STRIP;
    memcpy(strip, sums + s * STRIP, width * sizeof(double));
    multiply_strip(slice, (const double(*)[STRIP])b[s], strip);
    memcpy(sums + s * STRIP, strip, width * sizeof(double));
  }
}

static uint64_t row_at(const uint64_t *rows, size_t i) {
  return rows ? rows[i] : i;
}

static void multiply_all(const hd_reference *r, const uint64_t *rows, size_t n_rows, panel b,
                         double *out) {
  row_slice slice;
  for (uint64_t k0 = 0; k0 < r->k; k0 += PANEL_K) {
    extent k = panel_extent(k0, r->k, PANEL_K);
    for (uint64_t n0 = 0; n0 < r->n; n0 += PANEL_N) {
      extent n = panel_extent(n0, r->n, PANEL_N);
      widen_panel(r, k, n, b);
      for (size_t i = 0; i < n_rows; i++) {
        if (r->a.data)
          slice_dense(r, row_at(rows, i), k, &slice);
        else
          slice_canonical(r, row_at(rows, i), k, &slice);
        multiply_row(&slice, b, n.n, out + i * r->n + n0);
      }
    }
  }
}

static double scale_at(const hd_matrix *scale, uint64_t i) {
  return scale->data ? element(scale, i, 0) : 1;
}

static double column_scale(const hd_reference *r, uint64_t j) {
  double sum = 0;
  if (!r->sums.data)
    return scale_at(&r->scale_b, j);
  for (uint64_t i = 0; i * SUM_ROWS < r->k; i++)
    sum += element(&r->sums, i, j);
  return 1 / sqrt(sum / (double)r->k + r->eps);
}

static void finish_row(const hd_reference *r, uint64_t row, const double *columns, double *out) {
  double scale = scale_at(&r->scale_a, row);
  for (uint64_t j = 0; j < r->n; j++) {
    double x = r->alpha * (out[j] * scale * columns[j]);
    if (r->c.data)
      x += r->beta * element(&r->c, row, j);
    if (r->bias.data)
      x += element(&r->bias, r->bias_along_n ? j : row, 0);
    out[j] = hd_act_apply(r->act, x);
  }
}

heddle_status hd_reference_rows(heddle_context *ctx, const hd_reference *reference,
                                const uint64_t *rows, size_t n_rows, double *out) {
  for (size_t i = 0; i < n_rows; i++)
    if (row_at(rows, i) >= reference->m)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "reference.row",
                      "row %llu of a matrix of %llu rows",
                      (unsigned long long)row_at(rows, i), (unsigned long long)reference->m);
  size_t n_bytes = sizeof(panel) + (size_t)reference->n * sizeof(double);
  double(*b)[PANEL_K][STRIP] = hd_try_malloc(ctx, n_bytes, "a panel of B");
  if (!b)
    return HEDDLE_NO_MEMORY;
  double *columns = (double *)b + sizeof(panel) / sizeof(double);
  for (uint64_t j = 0; j < reference->n; j++)
    columns[j] = column_scale(reference, j);
  memset(out, 0, n_rows * (size_t)reference->n * sizeof *out);
  multiply_all(reference, rows, n_rows, b, out);
  for (size_t i = 0; i < n_rows; i++)
    finish_row(reference, row_at(rows, i), columns, out + i * reference->n);
  hd_free(b);
  return HEDDLE_OK;
}

/* Takes one row from each of n_rows equal ranges, so that rows are distinct and ascending. */
size_t hd_reference_sample_rows(uint64_t seed, uint64_t m, size_t n_rows, uint64_t *rows) {
  size_t n = n_rows < m ? n_rows : (size_t)m;
  for (size_t i = 0; i < n; i++) {
    uint64_t start = (uint64_t)((unsigned __int128)m * i / n);
    uint64_t end = (uint64_t)((unsigned __int128)m * (i + 1) / n);
    rows[i] = start + hd_hash_next(&seed) % (end - start);
  }
  if (n > 0)
    rows[0] = 0;
  if (n > 1)
    rows[n - 1] = m - 1;
  return n;
}
