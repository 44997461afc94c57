/* Reference/operands.h: seeded operands for tests and `heddle run`.
 *
 * Element (i, j) depends only on seed, i and j, so that rows can be generated in any order and a
 * larger matrix contains the smaller one. mix(x) is the finalizer of splitmix64, and all arithmetic
 * is modulo 2^64:
 *     h(i, j) = mix(mix(seed + 0x9e3779b97f4a7c15 * (i + 1)) + 0xd1b54a32d192ed03 * (j + 1))
 * exact:  magnitude 1 + (h mod limit), negative if bit 63 of h is set and the type has a sign. No
 *         element is zero, unless one_in is set: then elements are +0 if bits 32 to 62 of h are not
 *         a multiple of one_in.
 * random: the sum of h's four 16-bit parts, centered and scaled to variance 1 (close to normal, at
 *         most 3.47 in magnitude), times the type's scale (1 for floats; a third of the range for
 *         integers, at most of 8 bits). Unsigned types take the absolute value. Rounded once.
 * A sparse operand has these elements in its kept units and +0 elsewhere. The kept units of a group
 * depend on its hash g = h(i, ~group): pattern number g mod 6 (tf32: 2) in ascending order of
 * codes. One group in 8 (bits 8 to 10 of g are zero) loses its last kept unit, and one in 64 (bits
 * 8 to 13) loses both, so that there are groups with two, one and no non-zeros. */
#ifndef HD_OPERANDS_H
#define HD_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

typedef struct hd_fill {
  uint64_t seed;
  unsigned limit; /* exact: the maximum magnitude; 0: random */
  unsigned one_in; /* exact, dense: about one element in one_in is not zero; 0: all */
  uint64_t first_row; /* index of the first row of data in the matrix */
} hd_fill;

/* Fills n_rows x n_cols elements, rows row_stride elements apart (4-bit: an even number). */
void hd_fill_dense(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_cols,
                   void *data, uint64_t row_stride);

/* Fills a 2:4 matrix of m x k in dense form. k is a multiple of the group. */
void hd_fill_sparse(const hd_fill *fill, heddle_elem elem, uint64_t m, uint64_t k, void *data,
                    uint64_t row_stride);

/* Fills block scales of one byte, or f32. Exact (limit not 0): 1 or 2. Random: 2^-3 to 2^3, times
 * 1 + i/8 for ue4m3, 1 + i/2^23 for f32. */
void hd_fill_scales(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_blocks,
                    void *data);

/* The largest limits (at most 8) for both types with K/2 * limit_a * limit_b + 64 <= 2^bits (64 is
 * for C and bias), so that every partial sum is exact in any order. HEDDLE_UNSUPPORTED if there are
 * no such limits; the message names the largest K. */
heddle_status hd_exact_limits(heddle_context *ctx, heddle_elem a, heddle_elem b,
                              heddle_elem accumulator, uint64_t k, unsigned *limit_a,
                              unsigned *limit_b);

#endif
