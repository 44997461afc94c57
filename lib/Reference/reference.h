/* Reference/reference.h: D = act(alpha * (A * B * scale_a * scale_b) + beta * C + bias) in double
 * precision. */
#ifndef HD_REFERENCE_H
#define HD_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Support/activations.h"
#include "heddle/context.h"
#include "heddle/types.h"

/* Element (i, j) is at index i * row_stride + j * col_stride of the array; strides in elements.
 * 4-bit elements are two per byte, low nibble first; their index counts nibbles. */
typedef struct hd_matrix {
  const void *data; /* borrowed; NULL: no matrix */
  heddle_elem elem;
  uint64_t row_stride, col_stride;
} hd_matrix;

/* HEDDLE_NOT_FOUND if the name is not an activation. */
heddle_status hd_act_parse(const char *name, hd_act *act);
/* NaN stays NaN for all activations. */
double hd_act_apply(hd_act act, double x);
/* Replaces n gate sums by act(gate) * up. Sets slack to the error bound of a correct kernel, like
 * hd_act_apply_all, including the rounding of the product. */
void hd_act_apply_pairs(hd_act act, heddle_elem d, double bound, size_t n, double *gate,
                        const double *up, double *slack);
/* Replaces n sums by their activations. Sets slack to the error bound of a correct kernel with a D
 * of type d, before rounding to that type: the activation's own error, and the effect of an error
 * of bound * (|sum| + the root mean square of all) of the sum. none and relu do not increase
 * errors, and their slack is 0. */
void hd_act_apply_all(hd_act act, heddle_elem d, double bound, size_t n, double *values,
                      double *slack);

/* A problem. A is M x K, dense (a.data) or canonical (values and codes as in heddle/sparse.h, of
 * type a.elem). B is K x N; K-major means row_stride 1. Zeros of a dense A are skipped (0 * Inf
 * gives no NaN). All values of a canonical A are multiplied, fillers included, as in the hardware.
 * Integer sums do not wrap: keep them within 32 bits. */
typedef struct hd_reference {
  uint64_t m, n, k;
  hd_matrix a;
  const void *values, *codes; /* used when a.data is NULL */
  hd_matrix b;
  hd_matrix c;       /* M x N; data NULL: no beta * C */
  hd_matrix bias;    /* one element per row (or column), row_stride apart; data NULL: none */
  bool bias_along_n; /* false: bias[M]; true: bias[N] */
  uint64_t first_column; /* index of column 0 for a user function; not used here */
  hd_matrix scale_a,
      scale_b; /* one per row, per column, row_stride apart (0: one for all); data NULL: 1 */
  /* Sums of squares of B's columns, a row for each 128 of k: scale_b is 1 / sqrt(sum of the rows /
   * k + eps). data NULL: scale_b as above. */
  hd_matrix sums;
  double eps;
  /* Scales of elements of A by (row, k / block), of B by (column, k / block); data NULL: 1. */
  hd_matrix block_a, block_b;
  unsigned block; /* a power of two of at most 128 */
  unsigned block_rows; /* rows of A per row of block_a; 0: 1 */
  double alpha, beta;
  hd_act act;
} hd_reference;

/* Computes the rows of D in `rows`, each 0..m-1: out[n_rows][n]. rows NULL: rows 0..n_rows-1.
 * HEDDLE_NO_MEMORY, or HEDDLE_INVALID for a row >= m. Takes about 0.2 s for 1024 x 1024 x 1024; the
 * time is proportional to K * N for reading B plus n_rows * K/2 * N. Thread-safe. */
heddle_status hd_reference_rows(heddle_context *ctx, const hd_reference *reference,
                                const uint64_t *rows, size_t n_rows, double *out);

/* Chooses min(n_rows, m) distinct rows by seed, ascending, including the first and the last row.
 * Returns their number. For problems that are too large to check completely. */
size_t hd_reference_sample_rows(uint64_t seed, uint64_t m, size_t n_rows, uint64_t *rows);

#endif
