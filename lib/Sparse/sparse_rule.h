/* Sparse/sparse_rule.h: the sparsity pattern of an element type, as one row of a table. */
#ifndef HD_SPARSE_RULE_H
#define HD_SPARSE_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "heddle/context.h"
#include "heddle/sparse.h"

/* A group is n_units units of unit_bytes each, of which `kept` stay. */
typedef struct hd_sparse_rule {
  uint8_t unit_bytes, n_units, kept;
  bool in_wgmma;         /* wgmma.mma_async.sp takes the type as A */
  uint32_t nonzero_mask; /* value bits of a unit without signs; a unit is zero if all are 0 */
  const char *pattern;   /* "2:4" */
} hd_sparse_rule;

/* The rule of a type; NULL if the type cannot be a sparse operand. */
const hd_sparse_rule *hd_sparse_rule_get(heddle_elem elem);

/* The same with a diagnostic: HEDDLE_UNSUPPORTED, or HEDDLE_INVALID if elem is not a type. */
heddle_status hd_sparse_rule_find(heddle_context *ctx, heddle_elem elem,
                                  const hd_sparse_rule **rule);

/* The code of a set of non-zero units (bit i: unit i). Unused slots get the lowest free units; 0 if
 * there are too many units. */
uint8_t hd_sparse_code(const hd_sparse_rule *rule, unsigned nonzero);

/* True for the six legal codes, or for 1:2 for 4 and 14. */
bool hd_sparse_code_is_legal(const hd_sparse_rule *rule, unsigned code);

/* Reports an illegal code with its row and group; returns HEDDLE_INVALID. */
heddle_status hd_sparse_bad_code(heddle_context *ctx, const hd_sparse_rule *rule, uint64_t row,
                                 uint64_t group, unsigned code);

/* The unit of the i-th kept value of a group (1:2: code 4 is unit 0, code E is unit 1). */
static inline unsigned hd_sparse_unit(const hd_sparse_rule *rule, unsigned code, unsigned i) {
  return rule->kept == 1 ? code >> 3 : code >> (2 * i) & 3;
}

/* The code of padding and of a group of zeros: the first two units. */
enum { HD_CODE_ZERO = 0x4 };

static inline uint32_t hd_unit_load(const uint8_t *p, unsigned unit_bytes) {
  uint16_t half;
  uint32_t word;
  switch (unit_bytes) {
  case 1:
    return *p;
  case 2:
    memcpy(&half, p, 2);
    return half;
  default:
    memcpy(&word, p, 4);
    return word;
  }
}

static inline unsigned hd_nibble(const uint8_t *row, uint64_t index) {
  return row[index / 2] >> (index % 2 * 4) & 15;
}

#endif
