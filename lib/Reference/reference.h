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
 * 4-bit elements are two a byte, low nibble first: an index is then of nibbles. */
typedef struct hd_matrix {
  const void *data; /* borrowed; NULL: there is none */
  heddle_elem elem;
  uint64_t row_stride, col_stride;
} hd_matrix;

/* HEDDLE_NOT_FOUND when it is no activation. */
heddle_status hd_act_parse(const char *name, hd_act *act);
/* NaN stays NaN in all of them. */
double hd_act_apply(hd_act act, double x);
/* In place of n sums of gates what they and those of up become, act(gate) * up; in slack how far
 * off a right kernel may be, as below, and its product is rounded, too. */
void hd_act_apply_pairs(hd_act act, double bound, size_t n, double *gate, const double *up,
                        double *slack);
/* In place of n sums what the activation makes of them, and in slack how far off a right kernel may
 * be: its own error, and what becomes of an error of `bound` of the sum's size and the root mean
 * square of all. none and relu enlarge no error, and their slack is 0. */
void hd_act_apply_all(hd_act act, double bound, size_t n, double *values, double *slack);

/* A problem. A is M x K, dense (a.data) or canonical (values and codes as in heddle/sparse.h, with
 * a.elem their type). B is K x N: K-major means row_stride 1. A zero of a dense A is not multiplied
 * (0 * Inf gives no NaN); a canonical A multiplies all its values, fillers too, as the hardware
 * does. Integer sums do not wrap: keep them within 32 bits. */
typedef struct hd_reference {
  uint64_t m, n, k;
  hd_matrix a;
  const void *values, *codes; /* used when a.data is NULL */
  hd_matrix b;
  hd_matrix c;       /* M x N; data NULL: no beta * C */
  hd_matrix bias;    /* one element a row (or column), row_stride apart; data NULL: none */
  bool bias_along_n; /* false: bias[M]; true: bias[N] */
  uint64_t first_column; /* what a function of the user is told of column 0; not read here */
  hd_matrix scale_a,
      scale_b; /* of a row, of a column, row_stride apart (0: one for all); data NULL: 1 */
  /* Scales of elements of A by (row, k / block), of B by (column, k / block); data NULL: 1. */
  hd_matrix block_a, block_b;
  unsigned block; /* a power of two of at most 128 */
  unsigned block_rows; /* rows of A that share block_a's row; 0: 1 */
  double alpha, beta;
  hd_act act;
} hd_reference;

/* The rows of D that `rows` names, each 0..m-1: out[n_rows][n]. rows NULL: rows 0..n_rows-1.
 * HEDDLE_NO_MEMORY, or HEDDLE_INVALID for a row past m. About 0.2 s for 1024 x 1024 x 1024; time is
 * K * N for reading B plus n_rows * K/2 * N. Thread-safe. */
heddle_status hd_reference_rows(heddle_context *ctx, const hd_reference *reference,
                                const uint64_t *rows, size_t n_rows, double *out);

/* Chooses min(n_rows, m) distinct rows by seed, ascending, always with the first and the last;
 * returns how many. For problems too large to check whole. */
size_t hd_reference_sample_rows(uint64_t seed, uint64_t m, size_t n_rows, uint64_t *rows);

#endif
