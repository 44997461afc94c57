/* Reference/operands.h: seeded operands for tests and `heddle run`.
 *
 * Element (i, j) depends on seed, i and j alone, so that rows can be made in any order and a larger
 * matrix begins with the smaller one. With mix(x) the finaliser of splitmix64 and all arithmetic
 * modulo 2^64:
 *     h(i, j) = mix(mix(seed + 0x9e3779b97f4a7c15 * (i + 1)) + 0xd1b54a32d192ed03 * (j + 1))
 * exact:  magnitude 1 + (h mod limit), negative when bit 63 of h is set and the type has a sign; so
 *         no element is zero, unless a dense operand is thinned: +0 where bits 32 to 62 of h are no
 *         multiple of one_in.
 * random: the sum of h's four 16-bit parts, centred and scaled to variance 1 (close to normal, at
 *         most 3.47 in magnitude), times the type's scale (1 for floats; a third of the range for
 *         integers, at most of 8 bits); types without a sign take the absolute value; rounded once.
 * A sparse operand has elements so made in kept places, +0 elsewhere. A group's places come from
 * its own hash g = h(i, ~group): pattern number g mod 6 (tf32: 2) in ascending order of codes; one
 * group in 8 (bits 8 to 10 of g are zero) loses its last kept unit, one in 64 (bits 8 to 13) both:
 * groups with two, one and no non-zeros. */
#ifndef HD_OPERANDS_H
#define HD_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

typedef struct hd_fill {
  uint64_t seed;
  unsigned limit; /* exact: the largest magnitude; 0: random */
  unsigned one_in; /* exact, dense: one element in so many is not zero, about; 0: all */
  uint64_t first_row; /* that data's first row is of the matrix */
} hd_fill;

/* Fills n_rows x n_cols elements, rows row_stride elements apart (4-bit: an even number). */
void hd_fill_dense(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_cols,
                   void *data, uint64_t row_stride);

/* Fills a 2:4 matrix of m x k in dense form. k is a multiple of the group. */
void hd_fill_sparse(const hd_fill *fill, heddle_elem elem, uint64_t m, uint64_t k, void *data,
                    uint64_t row_stride);

/* Fills block scales, a byte each, or f32. Exact (limit not 0): 1 or 2; random: 2^-3 to 2^3, times
 * 1 + i/8 for ue4m3, 1 + i/2^23 for f32. */
void hd_fill_scales(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_blocks,
                    void *data);

/* The largest limits (at most 8) with K/2 * limit_a * limit_b + 64 within 2^bits for both operands'
 * types (64: room for C and bias), so that every partial sum in any order is exact.
 * HEDDLE_UNSUPPORTED names the largest K when there are none. */
heddle_status hd_exact_limits(heddle_context *ctx, heddle_elem a, heddle_elem b,
                              heddle_elem accumulator, uint64_t k, unsigned *limit_a,
                              unsigned *limit_b);

#endif
