/* Support/batch.h: where the matrices of a batch lie. */
#ifndef HD_BATCH_H
#define HD_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Products of a batch: times the longest stride in bytes they stay far below 2^63. */
enum { HD_BATCH_MOST = 1 << 20 };
/* Columns of the products that a column of D is the sum of. */
enum { HD_COMBINE_MOST = 64 };
/* Groups of one: their table lies in shared memory. */
enum { HD_GROUPS_MOST = 1024 };
/* Columns that a tensor map of D clips where a group ends (docs/ir.md, copy.out). */
enum { HD_RAGGED_MOST = 1 << 30 };

/* Have two of g matrices, `stride` elements from one to the next, elements in common? Each is
 * `rows` rows of `row` elements, `pitch` apart, which is no less than `row`. They have none where
 * each begins behind the whole one before, or where the first rows of all stand before the second
 * ones. ORDER launch checks: launcher_checks.c. */
static inline bool hd_batch_overlaps(int64_t g, int64_t stride, int64_t rows, int64_t row,
                                     int64_t pitch) {
  if (g < 2 || rows < 1 || row < 1)
    return false;
  return stride < row ||
         ((stride - row) / pitch < rows - 1 && (pitch - row) / stride < g - 1);
}

#endif
