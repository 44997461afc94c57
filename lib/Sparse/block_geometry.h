/* Sparse/block_geometry.h: where each byte of a packed block stands (docs/format.md). */
#ifndef HD_BLOCK_GEOMETRY_H
#define HD_BLOCK_GEOMETRY_H

#include "Sparse/sparse_sizes.h"

enum {
  HD_CHUNK_BYTES = 16,
  HD_CHUNKS_A_ROW = HD_BLOCK_VALUE_ROW_BYTES / HD_CHUNK_BYTES,
  HD_WORD_BYTES = 4
};

/* Values: two k-steps of 32 bytes a row, each a grid of 8-row x 16-byte core matrices.
 * (row, chunk of 16 bytes) -> byte in the block */
static inline size_t hd_value_offset(unsigned row, unsigned chunk) {
  unsigned step = chunk / 2, half = chunk % 2;
  return step * 2048 + row / 8 * 256 + half * 128 + row % 8 * 16;
}

/* Metadata: thread t = 32w + 4g + q of a warpgroup (w warp, g = lane / 4, q = lane % 4).
 *
 *   8 code bytes a row (16-bit, tf32), one word a thread:
 *      31        16 15         0
 *     +------------+------------+
 *     | row 16w+g+8|  row 16w+g |   code bytes 2q, 2q+1 of the k-block
 *     +------------+------------+
 *   16 code bytes a row (8- and 4-bit), two words a thread, k-step s = 0 and 1:
 *     +-------------------------+
 *     |  row 16w + g + 8(q & 1) |   code bytes 8s + 4(q >> 1) to +3
 *     +-------------------------+
 *
 * So codes travel in runs of 2 or 4 bytes. (row, run) -> byte in the metadata plane */
static inline size_t hd_code_offset(unsigned row, unsigned run, unsigned code_bytes) {
  unsigned w = row / 16, upper = row / 8 % 2, g = row % 8;
  if (code_bytes == 8)
    return (32 * w + 4 * g + run) * HD_WORD_BYTES + 2 * upper;
  unsigned step = run / 2, q = upper + 2 * (run % 2);
  return (2 * (32 * w + 4 * g + q) + step) * HD_WORD_BYTES;
}

#endif
