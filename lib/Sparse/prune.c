#include "Sparse/prune_rank.h"
#include "Sparse/sparse_sizes.h"
#include "Support/convert.h"
#include "Support/diag.h"

/* A number that orders elements by magnitude. For floats: the value bits without the sign, which
 * increase with the magnitude up to Inf. All NaNs have the same rank, above all others. */
static uint32_t element_rank(heddle_elem elem, const heddle_elem_info *info, uint32_t bits) {
  if (info->kind == HEDDLE_UNSIGNED)
    return bits;
  double value = hd_elem_to_double(elem, bits);
  if (info->kind == HEDDLE_SIGNED)
    return (uint32_t)(value < 0 ? -value : value);
  if (value != value)
    return UINT32_MAX;
  return bits & hd_sparse_rule_get(elem)->nonzero_mask;
}

/* The rank of a pair is the sum of its magnitudes, doubled for e2m1 so that it is an integer. */
static uint32_t pair_rank(heddle_elem elem, const heddle_elem_info *info, uint32_t bits) {
  if (info->kind != HEDDLE_FLOAT)
    return element_rank(elem, info, bits & 15) + element_rank(elem, info, bits >> 4);
  return (uint32_t)(2 * hd_elem_to_double(elem, bits & 7) +
                    2 * hd_elem_to_double(elem, bits >> 4 & 7));
}

void hd_ranker_make(hd_ranker *r, heddle_elem elem, const hd_sparse_rule *rule) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  r->rule = rule;
  if (rule->unit_bytes == 1) {
    for (uint32_t bits = 0; bits < 256; bits++)
      r->of_byte[bits] =
          info->container_bits == 4 ? pair_rank(elem, info, bits) : element_rank(elem, info, bits);
  } else {
    r->infinity = elem == HEDDLE_F16 ? 0x7c00 : elem == HEDDLE_BF16 ? 0x7f80 : 0x7f800000;
  }
}

static void prune_row(const hd_ranker *r, uint8_t *row, uint64_t n_groups) {
  const hd_sparse_rule *rule = r->rule;
  for (uint64_t g = 0; g < n_groups; g++) {
    uint8_t *group = row + g * rule->n_units * rule->unit_bytes;
    unsigned stay = hd_ranker_winners(r, group);
    for (unsigned i = 0; i < rule->n_units; i++)
      if (!(stay >> i & 1))
        memset(group + i * rule->unit_bytes, 0, rule->unit_bytes);
  }
}

heddle_status heddle_sparse_prune(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                  void *dense, size_t row_bytes) {
  const hd_sparse_rule *rule;
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  hd_ranker r = {0};
  hd_ranker_make(&r, elem, rule);
  for (uint64_t i = 0; i < m; i++)
    prune_row(&r, (uint8_t *)dense + i * row_bytes, k / heddle_elem_get(elem)->group);
  return HEDDLE_OK;
}
