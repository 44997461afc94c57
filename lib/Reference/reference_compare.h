/* Reference/reference_compare.h: is a result right? */
#ifndef HD_REFERENCE_COMPARE_H
#define HD_REFERENCE_COMPARE_H

#include "Reference/reference.h"

/* ||D - R|| / ||R|| that rounding explains: out(d) + (K / k of an instruction) * u.
 *   out, the output's rounding:   0 for f32 and integers, 4e-4 f16, 3e-3 bf16, 2^-4 e4m3, 2^-3 e5m2
 *   u, a step of accumulation:    2^-22 in f32, 2^-11 in f16, 0 in s32, and 4e-5 in f32 over 8-bit
 *                                 floats (their products are truncated before they are added)
 * An instruction's k is 512 bits of A: 16 of tf32 (m64nNk16), 32 of 16 bits, 64 of 8, 128 of 4. */
double hd_error_bound(heddle_elem d, heddle_elem a, heddle_elem accumulator, uint64_t k);
/* The same where sums of k-blocks of 128 are scaled and added in f32: out(d) + sqrt(K / 128) * (the
 * u of a k-block's two instructions) + K / 128 * 2^-22. A k-block's error is relative to its own
 * sum, and sums of n random blocks are sqrt(n) times as large as one. */
double hd_promoted_bound(heddle_elem d, uint64_t k);

typedef struct hd_comparison {
  bool ok;
  uint64_t n_compared, n_wrong;
  /* The first wrong element (exact) or the one farthest off (bounded); row is a row of D. */
  uint64_t row, col;
  double got, expected;
  double max_error; /* largest |got - expected| among finite elements */
  double error;     /* bounded: ||D - R|| / ||R||; exact: n_wrong */
  double bound;     /* that error was held against; exact: 0 */
} hd_comparison;

/* Compares rows of D (M x N) with the reference's rows: `rows` and `expected` as in
 * hd_reference_rows. slack, of the shape of expected, is how far off each element may be before it
 * is rounded to D's type; NULL: all 0.
 * Exact: the bits of D equal those of the reference rounded once to D's type, or lie between those
 * of the ends of its slack; all NaNs are equal. */
hd_comparison hd_compare_exact(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                               size_t n_rows, const double *expected, const double *slack);

/* Bounded: the norm of the whole error, and no element farther off than 16 * (bound * (|R| + the
 * root mean square of R) + slack): a norm alone would not see one wrong element among millions.
 * What slack and the rounding to D's type explain is right in both: few elements can all lie half a
 * unit of it off, which is more than the bound, and subnormals farther (c.bound is then that norm).
 * What is not finite in either must be the same in both (rounded once). A bound of 0 compares
 * exactly. */
hd_comparison hd_compare_bounded(const hd_matrix *d, uint64_t n, const uint64_t *rows,
                                 size_t n_rows, const double *expected, const double *slack,
                                 double bound);

#endif
