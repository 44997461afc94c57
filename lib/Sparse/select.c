/* Selection for every type, one group at a time. Tests compare the AVX2 version with it. */
#include "Sparse/select.h"

/* The bits of unit i of a group; 0 if its value is zero (for example -0). */
static uint32_t nonzero_bits(const hd_sparse_rule *rule, const uint8_t *group, unsigned i) {
  uint32_t bits = hd_unit_load(group + i * rule->unit_bytes, rule->unit_bytes);
  return bits & rule->nonzero_mask ? bits : 0;
}

/* Bit i: unit i stays and is not zero. */
static unsigned kept_units(const hd_ranker *r, const uint8_t *group) {
  unsigned stay = hd_ranker_winners(r, group), kept = 0;
  for (unsigned i = 0; i < r->rule->n_units; i++)
    kept |= (unsigned)((stay >> i & 1) && nonzero_bits(r->rule, group, i)) << i;
  return kept;
}

void hd_select_any(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  const hd_sparse_rule *rule = r->rule;
  unsigned group_bytes = rule->n_units * rule->unit_bytes;
  uint8_t *value = out->values;
  for (unsigned g = 0; g < HEDDLE_SPARSE_K_BLOCK_BYTES / group_bytes; g++) {
    const uint8_t *group = dense + g * group_bytes;
    unsigned kept = kept_units(r, group), code = hd_sparse_code(rule, kept);
    for (unsigned i = 0; i < rule->kept; i++, value += rule->unit_bytes) {
      unsigned unit = hd_sparse_unit(rule, code, i);
      uint32_t bits = kept >> unit & 1 ? nonzero_bits(rule, group, unit) : 0;
      memcpy(value, &bits, rule->unit_bytes); /* the formats are little-endian */
    }
    out->codes[g / 2] = (uint8_t)(g % 2 ? out->codes[g / 2] | code << 4 : code);
  }
}
