/* Sparse/prune_rank.h: selects the units of a group that pruning keeps. */
#ifndef HD_PRUNE_RANK_H
#define HD_PRUNE_RANK_H

#include "Sparse/sparse_rule.h"

/* Ranks units by magnitude: 8-bit units by a table, wider floats by their bits and a NaN check. */
typedef struct hd_ranker {
  const hd_sparse_rule *rule;
  uint32_t infinity; /* Inf without the sign; bits above it are a NaN */
  uint32_t of_byte[256];
} hd_ranker;

void hd_ranker_make(hd_ranker *ranker, heddle_elem elem, const hd_sparse_rule *rule);

static inline uint32_t hd_ranker_of(const hd_ranker *r, uint32_t bits) {
  if (r->rule->unit_bytes == 1)
    return r->of_byte[bits];
  bits &= r->rule->nonzero_mask;
  return bits > r->infinity ? UINT32_MAX : bits;
}

/* The units that stay (bit i: unit i): those with fewer than `kept` units of higher rank. In a tie
 * the lower index has the higher rank. */
static inline unsigned hd_ranker_winners(const hd_ranker *r, const uint8_t *group) {
  const hd_sparse_rule *rule = r->rule;
  uint32_t ranks[4];
  unsigned stay = 0;
  for (unsigned i = 0; i < rule->n_units; i++)
    ranks[i] = hd_ranker_of(r, hd_unit_load(group + i * rule->unit_bytes, rule->unit_bytes));
  for (unsigned i = 0; i < rule->n_units; i++) {
    unsigned beaten_by = 0;
    for (unsigned j = 0; j < rule->n_units; j++)
      beaten_by += j < i ? ranks[j] >= ranks[i] : ranks[j] > ranks[i];
    stay |= (unsigned)(beaten_by < rule->kept) << i;
  }
  return stay;
}

#endif
