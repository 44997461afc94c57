/* Support/batch.h: limits of batches, and the layout of their matrices. */
#ifndef HD_BATCH_H
#define HD_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum number of products of a batch; times the longest stride in bytes it is far below 2^63. */
enum { HD_BATCH_MOST = 1 << 20 };
/* Maximum number of product columns that are added up to a column of D. */
enum { HD_COMBINE_MOST = 64 };
/* Maximum number of groups of a batch; their table is in shared memory. */
enum { HD_GROUPS_MOST = 1024 };
/* Columns of D's tensor map that clips stores at the end of a group (docs/ir.md, copy.out). */
enum { HD_RAGGED_MOST = 1 << 30 };

/* True if any two of g matrices share elements. The matrices are `stride` elements apart. Each has
 * `rows` rows of `row` elements, `pitch` elements apart; pitch >= row. They are disjoint if each
 * begins after the end of the previous one, or if the first rows of all matrices precede the second
 * rows. ORDER launch checks: launcher_checks.c. */
static inline bool hd_batch_overlaps(int64_t g, int64_t stride, int64_t rows, int64_t row,
                                     int64_t pitch) {
  if (g < 2 || rows < 1 || row < 1)
    return false;
  return stride < row ||
         ((stride - row) / pitch < rows - 1 && (pitch - row) / stride < g - 1);
}

#endif
