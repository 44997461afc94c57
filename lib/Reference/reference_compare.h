/* Reference/reference_compare.h: compares a result with the reference. */
#ifndef HD_REFERENCE_COMPARE_H
#define HD_REFERENCE_COMPARE_H

#include "Reference/reference.h"

/* The bound of ||D - R|| / ||R|| by rounding: out(d) + (K / k of an instruction) * u.
 *   out, the output's rounding:   0 for f32 and integers, 4e-4 f16, 3e-3 bf16, 2^-4 e4m3, 2^-3 e5m2
 *   u, an accumulation step:      2^-22 in f32, 2^-11 in f16, 0 in s32, and 4e-5 in f32 for 8-bit
 *                                 floats (products are truncated before they are added)
 * An instruction's k is 512 bits of A: 16 (tf32: m64nNk16), 32 (16-bit), 64 (8-bit), 128 (4-bit) */
double hd_error_bound(heddle_elem d, heddle_elem a, heddle_elem accumulator, uint64_t k);
/* The same if the sums of k-blocks of 128 are scaled and added in f32: out(d) + sqrt(K / 128) * (u
 * of a k-block's two instructions) + K / 128 * 2^-22. The error of a k-block is relative to its own
 * sum, and the sum of n random blocks is sqrt(n) times as large as one. */
double hd_promoted_bound(heddle_elem d, uint64_t k);

typedef struct hd_comparison {
  bool ok;
  uint64_t n_compared, n_wrong;
  /* The first wrong element (exact) or the one with the worst score (bounded). row: row of D. */
  uint64_t row, col;
  double got, expected;
  double max_error; /* largest |got - expected| among finite elements */
  double error;     /* bounded: ||D - R|| / ||R||; exact: n_wrong */
  double bound;     /* the limit of error; exact: 0 */
} hd_comparison;

/* Compares rows of D (M x N) with the reference's rows: `rows` and `expected` as in
 * hd_reference_rows. slack has the shape of expected and is the allowed error of each element
 * before it is rounded to D's type; NULL: all 0.
 * Exact: D must equal the reference rounded once to D's type, or lie between the rounded ends of
 * the interval expected +- slack. All NaNs are equal. */
hd_comparison hd_compare_exact(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                               size_t n_rows, const double *expected, const double *slack);

/* Bounded: limits the norm of the whole error, and the error of each element to 16 * (bound * (|R|
 * + the root mean square of R) + slack), because a norm cannot detect one wrong element among
 * millions. Errors within slack and the rounding to D's type are accepted in both: if there are few
 * elements, all can be half a unit off, which exceeds the bound, and subnormals can be farther off
 * (c.bound is then the norm of these errors). If D or R is not finite, they must be equal, with R
 * rounded once. A bound of 0 compares exactly. */
hd_comparison hd_compare_bounded(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                                 size_t n_rows, const double *expected, const double *slack,
                                 double bound);

#endif
