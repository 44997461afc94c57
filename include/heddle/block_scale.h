/* heddle/block_scale.h: block scales in the order that kernels read them (docs/format.md; source:
 * PTX ISA, "Block Scaling", of mma.sync and of tcgen05.mma).
 *
 * Each of R rows of A (or columns of B) with K elements has ceil(K / block) scales, one for each
 * `block` elements of k. A scale is a byte (ue8m0, ue4m3), or an f32 for sm_90a. A k-block is 128
 * bytes of a row of B. If 128 rows of A share a scale, R is the number of such blocks.
 *
 * K-block order (mma.sp: sm_120a, sm_121a): the scales of all rows for one k-block are contiguous,
 * one row after another; k-blocks have the distance `pitch` bytes, a multiple of 16. With `each` =
 * k-block / block, scale b of a row is the byte
 *   b / each * pitch + row * each + b % each
 * For f32 (sm_90a: blocks of 128 of 8-bit types, `each` is 1) it is the four bytes from
 *   b * pitch + row * 4
 * Tile order (tcgen05.mma.sp: sm_100a to sm_110a): tiles of 128 rows by 4 scales, 512 bytes each,
 * as tensor memory expects them. The tiles of the same 128 rows are contiguous along k, in whole
 * k-blocks, and take `pitch` bytes together. Scale b of a row is the byte
 *   row / 128 * pitch + b / 4 * 512 + row % 32 * 16 + row / 32 % 4 * 4 + b % 4
 *
 * In the last k-block, the scales of blocks past K are 0. Kernels read these scales and multiply
 * them by zero, so they must not be NaN.
 *
 * Common errors: HEDDLE_INVALID (no order, no rows, K 0, a pitch or row too short, a size above
 * SIZE_MAX) and HEDDLE_UNSUPPORTED (an element type that is not of 8 or 4 bits, a block that does
 * not divide its k-block, another scale_bytes), with a diagnostic in ctx (may be NULL). Thread-safe
 * for distinct buffers. */
#ifndef HEDDLE_BLOCK_SCALE_H
#define HEDDLE_BLOCK_SCALE_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heddle_scales_order {
  HEDDLE_SCALES_K_BLOCKS,
  HEDDLE_SCALES_TILES
} heddle_scales_order;

/* The matrix and the order of its scales. */
typedef struct heddle_block_scale_shape {
  heddle_scales_order order;
  heddle_elem elem; /* element type of the matrix */
  uint32_t block;   /* elements of k that share a scale */
  uint64_t rows, k;
  uint32_t scale_bytes; /* bytes of a scale: 1 (or 0), or 4 for f32, which needs k-block order */
} heddle_block_scale_shape;

/* The minimum pitch (the only legal one for tiles), and the size of all scales with this pitch. */
HEDDLE_API heddle_status heddle_block_scale_plan(heddle_context *ctx,
                                                 const heddle_block_scale_shape *shape,
                                                 size_t *pitch, size_t *n_bytes);

/* Converts row-major scales with row pitch row_bytes to an order with the caller's pitch. Bytes
 * between the scales of a k-block and the pitch are not changed; rows of a tile after R become 0.
 * Nothing is written on failure. */
HEDDLE_API heddle_status heddle_block_scale_pack(heddle_context *ctx,
                                                 const heddle_block_scale_shape *shape,
                                                 const void *scales, size_t row_bytes,
                                                 void *packed, size_t pitch);

#ifdef __cplusplus
}
#endif
#endif
