/* Converts dense to canonical and back. The inner loops are instantiated three times, once per unit
 * size, with constant unit_bytes, n_units and kept. */
#include "Sparse/sparse_sizes.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/strbuf.h"

#define FOR_UNIT_BYTES(rule, call)                                                                 \
  ((rule)->unit_bytes == 1   ? call(1, 4, 2)                                                       \
   : (rule)->unit_bytes == 2 ? call(2, 4, 2)                                                       \
                             : call(4, 2, 1))

static inline unsigned nonzero_units(const uint8_t *group, unsigned unit_bytes, unsigned n_units,
                                     uint32_t mask) {
  unsigned set = 0;
  for (unsigned i = 0; i < n_units; i++)
    set |= (unsigned)((hd_unit_load(group + i * unit_bytes, unit_bytes) & mask) != 0) << i;
  return set;
}

/* Unused slots are +0, even if the matrix has -0 there, so that equal matrices have equal bytes. */
static inline void keep_units(const hd_sparse_rule *rule, const uint8_t *group, uint8_t *values,
                              unsigned code, unsigned set, unsigned unit_bytes, unsigned kept) {
  for (unsigned i = 0; i < kept; i++) {
    unsigned unit = hd_sparse_unit(rule, code, i);
    if (set >> unit & 1)
      memcpy(values + i * unit_bytes, group + unit * unit_bytes, unit_bytes);
    else
      memset(values + i * unit_bytes, 0, unit_bytes);
  }
}

/* The index of the first group with too many non-zeros, or n_groups. */
static inline uint64_t compress_row(const hd_sparse_rule *rule, const uint8_t *dense,
                                    uint8_t *values, uint8_t *codes, uint64_t n_groups,
                                    unsigned unit_bytes, unsigned n_units, unsigned kept) {
  memset(codes, 0, (size_t)((n_groups + 1) / 2));
  for (uint64_t g = 0; g < n_groups; g++) {
    const uint8_t *group = dense + g * n_units * unit_bytes;
    unsigned set = nonzero_units(group, unit_bytes, n_units, rule->nonzero_mask);
    unsigned code = hd_sparse_code(rule, set);
    if (!code)
      return g;
    keep_units(rule, group, values + g * kept * unit_bytes, code, set, unit_bytes, kept);
    codes[g / 2] |= (uint8_t)(code << (g % 2 * 4));
  }
  return n_groups;
}

static heddle_status not_sparse(heddle_context *ctx, heddle_elem elem, const hd_sparse_rule *rule,
                                const uint8_t *row, uint64_t row_index, uint64_t group_index) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  hd_strbuf values = {0};
  uint64_t first = group_index * info->group;
  for (unsigned i = 0; i < info->group; i++)
    hd_strbuf_printf(&values, "%s%g", i ? ", " : "", hd_elem_load(elem, row, (size_t)first + i));
  heddle_status status = hd_error(
      ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.not-2-4",
      "row %llu, group %llu (columns %llu to %llu) holds {%s}: more than %d non-zero %s of %d, so "
      "the matrix is not %s; `heddle prune` keeps the largest",
      (unsigned long long)row_index, (unsigned long long)group_index, (unsigned long long)first,
      (unsigned long long)(first + info->group - 1), hd_strbuf_text(&values), rule->kept,
      info->group == 8 ? "pairs" : "values", rule->n_units, rule->pattern);
  hd_strbuf_free(&values);
  return status;
}

heddle_status hd_sparse_compress_row(heddle_context *ctx, heddle_elem elem, uint64_t row_index,
                                     uint64_t k, const uint8_t *dense, uint8_t *values,
                                     uint8_t *codes) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
  uint64_t n_groups = k / heddle_elem_get(elem)->group;
#define COMPRESS_ROW(unit, n, kept)                                                                \
  compress_row(rule, dense, values, codes, n_groups, unit, n, kept)
  uint64_t group = FOR_UNIT_BYTES(rule, COMPRESS_ROW);
#undef COMPRESS_ROW
  return group == n_groups ? HEDDLE_OK : not_sparse(ctx, elem, rule, dense, row_index, group);
}

heddle_status heddle_sparse_compress(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                     const void *dense, size_t row_bytes, void *values,
                                     void *codes) {
  const hd_sparse_rule *rule;
  heddle_sparse_info info;
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, elem, HEDDLE_FAMILY_NONE, m, k, &info));
  for (uint64_t i = 0; i < m; i++)
    HD_TRY(hd_sparse_compress_row(ctx, elem, i, k, (const uint8_t *)dense + i * row_bytes,
                                  (uint8_t *)values + i * info.values_row_bytes,
                                  (uint8_t *)codes + i * info.codes_row_bytes));
  return HEDDLE_OK;
}

/* The index of the first group with an illegal code, or n_groups. */
static inline uint64_t decompress_row(const hd_sparse_rule *rule, const uint8_t *values,
                                      const uint8_t *codes, uint8_t *dense, uint64_t n_groups,
                                      unsigned unit_bytes, unsigned n_units, unsigned kept) {
  memset(dense, 0, (size_t)(n_groups * n_units * unit_bytes));
  for (uint64_t g = 0; g < n_groups; g++) {
    unsigned code = hd_nibble(codes, g);
    if (!hd_sparse_code_is_legal(rule, code))
      return g;
    for (unsigned i = 0; i < kept; i++)
      memcpy(dense + (g * n_units + hd_sparse_unit(rule, code, i)) * unit_bytes,
             values + (g * kept + i) * unit_bytes, unit_bytes);
  }
  return n_groups;
}

heddle_status heddle_sparse_decompress(heddle_context *ctx, heddle_elem elem, uint64_t m,
                                       uint64_t k, const void *values, const void *codes,
                                       void *dense, size_t row_bytes) {
  const hd_sparse_rule *rule;
  heddle_sparse_info info;
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, elem, HEDDLE_FAMILY_NONE, m, k, &info));
  uint64_t n_groups = k / heddle_elem_get(elem)->group;
  for (uint64_t i = 0; i < m; i++) {
    const uint8_t *v = (const uint8_t *)values + i * info.values_row_bytes;
    const uint8_t *c = (const uint8_t *)codes + i * info.codes_row_bytes;
    uint8_t *row = (uint8_t *)dense + i * row_bytes;
#define DECOMPRESS_ROW(unit, n, kept) decompress_row(rule, v, c, row, n_groups, unit, n, kept)
    uint64_t group = FOR_UNIT_BYTES(rule, DECOMPRESS_ROW);
#undef DECOMPRESS_ROW
    if (group != n_groups)
      return hd_sparse_bad_code(ctx, rule, i, group, hd_nibble(c, group));
  }
  return HEDDLE_OK;
}
