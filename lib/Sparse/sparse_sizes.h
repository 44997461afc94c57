/* Sparse/sparse_sizes.h: validation of sizes, used by the files of lib/Sparse. */
#ifndef HD_SPARSE_SIZES_H
#define HD_SPARSE_SIZES_H

#include "Layout/packed_format.h"
#include "Sparse/sparse_rule.h"

/* Refuses shapes that no form supports (an unsupported type, an empty matrix, a K that is not a
 * multiple of a group, sizes above SIZE_MAX), and row strides that are too short or too long. */
heddle_status hd_sparse_stride_check(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                     size_t row_bytes, const hd_sparse_rule **rule);

/* Compresses one row of a validated shape. row_index is for diagnostics. */
heddle_status hd_sparse_compress_row(heddle_context *ctx, heddle_elem elem, uint64_t row_index,
                                     uint64_t k, const uint8_t *dense, uint8_t *values,
                                     uint8_t *codes);

/* Bytes of codes of one row of a k-block: 16 for units of one byte, otherwise 8. */
static inline unsigned hd_k_block_code_bytes(const hd_sparse_rule *rule) {
  return rule->unit_bytes == 1 ? 16 : 8;
}

#endif
