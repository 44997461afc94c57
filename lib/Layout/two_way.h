/* Layout/two_way.h: which elements of a matrix stay if it is to be 2:4 along rows and columns.
 *
 * A 4 x 4 tile has 90 patterns with two elements in each row and column. By the number of elements
 * that rows 0-1, the upper half, have in each column, they are of three kinds. Pairs are of
 * columns, in the order 01 02 03 12 13 23:
 *
 *   crossed   1 1 1 1   x x . .    row 0 has a pair and row 1 the other one; the lower half has
 *                       . . x x    its own two: 6 x 6 patterns
 *                       x . x .
 *                       . x . x
 *
 *   shared    2 1 1 0   x x . .    for a pair of columns, once in each half: the two halves choose
 *                       x . x .    the order by themselves; one other column is in both upper rows,
 *                       . x . x    the other one in both lower rows: 6 x 2 x 2 x 2
 *                       . . x x
 *
 *   equal     2 2 0 0   x x . .    the upper rows have a pair, the lower ones the other pair: 6
 *                       x x . .
 *                       . . x x
 *                       . . x x
 *
 * ORDER TWO-WAY: lib/Sparse, lib/Emit and heddle.torch add the same f32 in the same order, so that
 * their choices agree. In a half with rows x and y, for columns b and c,
 *
 *   both[c]  = x[c] + y[c]
 *   one[b,c] = x[b] + y[c]
 *   once     = for a pair b < c the larger of one[b,c] and one[c,b]
 *   cross    = the largest one[a,c] + one[b,d] of the pairs a < b with the other pair c < d
 *
 * and the sums of a tile are, with ' for the lower half,
 *
 *   crossed  = cross + cross'
 *   shared   = (once + once') + the larger of both[a] + both'[d] and both[d] + both'[a], for a pair
 *              with the other columns a < d
 *   equal    = (both[a] + both[b]) + (both'[c] + both'[d])
 *
 * The largest one counts, in this order. Of equal sums, the first. */
#ifndef HD_TWO_WAY_H
#define HD_TWO_WAY_H

#include <stdint.h>

enum { HD_TWO_WAY_SIDE = 4 /* of a tile */, HD_TWO_WAY_PAIRS = 6 };

/* A pair of columns in ascending order, and the other two. */
typedef struct hd_two_way_pair {
  uint8_t a, b, c, d;
} hd_two_way_pair;

static const hd_two_way_pair hd_two_way_pairs[HD_TWO_WAY_PAIRS] = {
    {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};

/* Columns as bits. */
static inline unsigned hd_two_way_columns(unsigned a, unsigned b) { return 1u << a | 1u << b; }

#endif
