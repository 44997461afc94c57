/* Spec/tables.h: the tables that heddle-tblgen generates. Private to lib/Spec. */
#ifndef HD_SPEC_TABLES_H
#define HD_SPEC_TABLES_H

#include "Spec/spec.h"

extern const size_t hd_spec_n_rows, hd_spec_n_targets, hd_spec_n_descriptors;
extern const hd_spec_row hd_spec_rows[];
extern const uint16_t hd_spec_by_ptx[], hd_spec_by_name[]; /* sorted row indices */

/* What most searches ask of a row, in one word. The words of all rows fill less of a cache than the
 * rows of one family do, so hd_spec_next_mma looks at them first.
 *
 *    39    32 31    24 23    16 15            0
 *   |   d    |   b    |   a    |      n        |     a, b, d: heddle_elem */
#define HD_MMA_KEY(n, a, b, d)                                                                     \
  ((uint64_t)(uint16_t)(n) | (uint64_t)(uint8_t)(a) << 16 | (uint64_t)(uint8_t)(b) << 24 |         \
   (uint64_t)(uint8_t)(d) << 32)
extern const uint64_t hd_spec_mma_keys[]; /* of every row */

/* Keys of the rows' texts that ignore the order of qualifiers (spelling.h), ascending. */
typedef struct hd_spelling {
  uint64_t key;
  uint16_t row;
} hd_spelling;
extern const size_t hd_spec_n_spellings;
extern const hd_spelling hd_spec_spellings[];

extern const hd_target hd_spec_targets[];
extern const hd_descriptor hd_spec_descriptors[];
extern const uint64_t hd_spec_tables_hash[2];

#endif
