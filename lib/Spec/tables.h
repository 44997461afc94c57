/* Spec/tables.h: the tables that heddle-tblgen generates. Private to lib/Spec. */
#ifndef HD_SPEC_TABLES_H
#define HD_SPEC_TABLES_H

#include "Spec/spec.h"

extern const size_t hd_spec_n_rows, hd_spec_n_targets, hd_spec_n_descriptors;
extern const hd_spec_row hd_spec_rows[];
extern const uint16_t hd_spec_by_ptx[], hd_spec_by_name[]; /* sorted row indices */

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
