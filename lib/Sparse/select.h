/* Sparse/select.h: prunes and compresses the 128 dense bytes of a row in a k-block to 64 bytes of
 * values and 8 or 16 bytes of codes. These sizes are the same for every type that is packed. */
#ifndef HD_SELECT_H
#define HD_SELECT_H

#include "Sparse/prune_rank.h"
#include "Sparse/sparse_sizes.h"

typedef struct hd_selected {
  uint8_t values[HD_BLOCK_VALUE_ROW_BYTES];
  uint8_t codes[16];
} hd_selected;

typedef void (*hd_select_fn)(const hd_ranker *ranker, const uint8_t *dense, hd_selected *out);

/* For any type, one group at a time. */
void hd_select_any(const hd_ranker *ranker, const uint8_t *dense, hd_selected *out);

/* With AVX2, for f16, bf16, e4m3, e5m2, s8. NULL for other types and for CPUs without AVX2. */
hd_select_fn hd_select_fast(heddle_elem elem);

#endif
