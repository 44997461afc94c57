/* Layout/packed_format.h: the offset of each byte of packed A (docs/format.md is normative). The
 * host code that packs, the passes and lib/Emit all use these functions. Only lib/Sim has its own
 * implementation, on purpose. */
#ifndef HD_PACKED_FORMAT_H
#define HD_PACKED_FORMAT_H

#include "heddle/sparse.h"

/* A block: a slab of 64 rows by one k-block; its values, then its metadata.
 *
 *   values     two consecutive k-steps of 64 rows x 32 bytes: 4 strips of 16 rows, each of 4 core
 *              matrices of 8 rows x 16 bytes
 *   metadata   one plane (two for 8- and 4-bit types) with one word per thread of a warpgroup, 32
 *              words per strip */
enum {
  HD_K_BLOCK_BYTES = HEDDLE_SPARSE_K_BLOCK_BYTES, /* bytes of a row of B */
  HD_SLAB_ROWS = HEDDLE_SPARSE_BLOCK_ROWS,
  HD_STRIP_ROWS = 16,
  HD_SLAB_STRIPS = HD_SLAB_ROWS / HD_STRIP_ROWS,
  HD_K_STEPS = 2,
  HD_CHUNK_BYTES = 16, /* a row of a core matrix */
  HD_CORE_BYTES = 8 * HD_CHUNK_BYTES,
  HD_WORD_BYTES = 4,
  HD_BLOCK_VALUE_ROW_BYTES = HD_K_BLOCK_BYTES / 2,
  HD_CHUNKS_A_ROW = HD_BLOCK_VALUE_ROW_BYTES / HD_CHUNK_BYTES,
  HD_BLOCK_VALUE_BYTES = HD_SLAB_ROWS * HD_BLOCK_VALUE_ROW_BYTES,
  HD_STEP_VALUE_BYTES = HD_BLOCK_VALUE_BYTES / HD_K_STEPS,
  HD_STRIP_VALUE_BYTES = HD_STEP_VALUE_BYTES / HD_SLAB_STRIPS,
  HD_META_STRIP_BYTES = 32 * HD_WORD_BYTES,
  HD_META_PLANE_BYTES = HD_SLAB_STRIPS * HD_META_STRIP_BYTES
};

/* Logical elements of k in a k-block. */
static inline int32_t hd_k_block_size(heddle_elem elem) {
  return HD_K_BLOCK_BYTES * 8 / heddle_elem_get(elem)->container_bits;
}
/* Planes of metadata: words of a block per thread of a warpgroup. */
static inline int32_t hd_block_meta_words(heddle_elem elem) {
  return heddle_elem_get(elem)->container_bits >= 16 ? 1 : 2;
}
static inline int32_t hd_block_meta_bytes(heddle_elem elem) {
  return hd_block_meta_words(elem) * HD_META_PLANE_BYTES;
}
static inline int32_t hd_block_bytes(heddle_elem elem) {
  return HD_BLOCK_VALUE_BYTES + hd_block_meta_bytes(elem);
}

/* Values: (row, chunk of 16 bytes) -> byte offset in the block */
static inline size_t hd_value_offset(unsigned row, unsigned chunk) {
  unsigned step = chunk / 2, half = chunk % 2;
  return step * HD_STEP_VALUE_BYTES + row / 8 * (2 * HD_CORE_BYTES) + half * HD_CORE_BYTES +
         row % 8 * HD_CHUNK_BYTES;
}

/* Metadata: thread t = 32w + 4g + q of a warpgroup (w warp, g = lane / 4, q = lane % 4).
 *
 *   8 code bytes per row (16-bit, tf32), one word per thread:
 *      31        16 15         0
 *     +------------+------------+
 *     | row 16w+g+8|  row 16w+g |   code bytes 2q, 2q+1 of the k-block
 *     +------------+------------+
 *   16 code bytes per row (8- and 4-bit), two words per thread, k-step s = 0 and 1:
 *     +-------------------------+
 *     |  row 16w + g + 8(q & 1) |   code bytes 8s + 4(q >> 1) to +3
 *     +-------------------------+
 *
 * So codes are contiguous in runs of 2 or 4 bytes. (row, run) -> byte offset in the metadata */
static inline size_t hd_code_offset(unsigned row, unsigned run, unsigned code_bytes) {
  unsigned w = row / HD_STRIP_ROWS, upper = row / 8 % 2, g = row % 8;
  if (code_bytes == 8)
    return (32 * w + 4 * g + run) * HD_WORD_BYTES + 2 * upper;
  unsigned step = run / 2, q = upper + 2 * (run % 2);
  return (2 * (32 * w + 4 * g + q) + step) * HD_WORD_BYTES;
}

#endif
