/* Sparse/select.h: the 128 dense bytes that a row has in a k-block, pruned and compressed: 64 bytes
 * of values and 8 or 16 of codes, the same for every type that is packed. */
#ifndef HD_SELECT_H
#define HD_SELECT_H

#include "Sparse/prune_rank.h"
#include "Sparse/sparse_sizes.h"

typedef struct hd_selected {
  uint8_t values[HD_BLOCK_VALUE_ROW_BYTES];
  uint8_t codes[16];
} hd_selected;

typedef void (*hd_select_fn)(const hd_ranker *ranker, const uint8_t *dense, hd_selected *out);

/* Any type, one group after the other. */
void hd_select_any(const hd_ranker *ranker, const uint8_t *dense, hd_selected *out);

/* With AVX2: f16, bf16, e4m3, e5m2, s8; NULL for another type, or where the processor lacks it. */
hd_select_fn hd_select_fast(heddle_elem elem);

#endif
