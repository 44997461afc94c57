/* Sparse/sparse_sizes.h: checked sizes, shared by the files of lib/Sparse. */
#ifndef HD_SPARSE_SIZES_H
#define HD_SPARSE_SIZES_H

#include "Layout/packed_format.h"
#include "Sparse/sparse_rule.h"

/* Refuses what no form can hold (a type that does not fit, an empty matrix, a K that is not whole
 * groups, a size past SIZE_MAX), and a dense row stride shorter than a row, or past SIZE_MAX. */
heddle_status hd_sparse_stride_check(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                     size_t row_bytes, const hd_sparse_rule **rule);

/* Compresses one row of a checked shape; row_index is for the refusal. */
heddle_status hd_sparse_compress_row(heddle_context *ctx, heddle_elem elem, uint64_t row_index,
                                     uint64_t k, const uint8_t *dense, uint8_t *values,
                                     uint8_t *codes);

/* Bytes of a k-block's codes in one row: 8, or 16 for 8- and 4-bit units. */
static inline unsigned hd_k_block_code_bytes(const hd_sparse_rule *rule) {
  return rule->unit_bytes == 1 ? 16 : 8;
}

#endif
