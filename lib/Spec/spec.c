/* Rows: iteration, and search by name, text or properties. */
#include "Spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "Spec/tables.h"
#include "Spec/text.h"

size_t hd_spec_count(void) {
  return hd_spec_n_rows;
}

const hd_spec_row *hd_spec_get(size_t i) {
  return i < hd_spec_n_rows ? &hd_spec_rows[i] : NULL;
}

static int compare_name(const void *name, const void *at) {
  return strcmp(name, hd_spec_rows[*(const uint16_t *)at].name);
}

const hd_spec_row *hd_spec_find(const char *name_or_ptx) {
  hd_instruction in;
  if (!strchr(name_or_ptx, '.')) {
    const uint16_t *at = bsearch(name_or_ptx, hd_spec_by_name, hd_spec_n_rows,
                                 sizeof *hd_spec_by_name, compare_name);
    return at ? &hd_spec_rows[*at] : NULL;
  }
  return hd_instruction_parse(name_or_ptx, &in) ? hd_instruction_row(&in) : NULL;
}

/* True if elements fill their bytes or nibbles. Shared memory pads the elements of other types. */
static bool is_dense(const heddle_elem_info *info) {
  return info->value_bits >= 8 || info->container_bits == 4;
}

/* The supported forms of tcgen05.mma.sp: 128 rows per CTA, A by descriptor, 32-bit accumulators. */
static bool has_tensor_form(const hd_spec_row *row) {
  const heddle_elem_info *a = heddle_elem_get(row->operand[HD_OPERAND_A].elem);
  const heddle_elem_info *b = heddle_elem_get(row->operand[HD_OPERAND_B].elem);
  return row->m == 128 * row->cta_group && !row->a_in_registers && is_dense(a) && is_dense(b) &&
         row->operand[HD_OPERAND_D].elem != HEDDLE_F16;
}

bool hd_spec_can_generate(const hd_spec_row *row) {
  bool moves_matrix = row->family <= HD_FAMILY_STMATRIX;
  return row->syntax_verified_by != HD_VERIFIED_BY_NONE &&
         (row->family != HD_FAMILY_TCGEN05_SP || has_tensor_form(row)) &&
         (!moves_matrix || row->layout_verified_by != HD_VERIFIED_BY_NONE);
}

const char *hd_verified_by_name(hd_verified_by by) {
  static const char *const names[] = {"none", "ptxas", "H200", "Spec and Sim"};
  return names[by];
}

hd_hash hd_spec_hash(void) {
  return (hd_hash){hd_spec_tables_hash[0], hd_spec_tables_hash[1]};
}

/* ---- by properties ---- */

static bool any_or_equal(int wanted, int got, int any) {
  return wanted == any || wanted == got;
}

static bool matches(const hd_mma_query *q, const hd_spec_row *row) {
  return any_or_equal(q->m, row->m, 0) && any_or_equal(q->n, row->n, 0) &&
         any_or_equal(q->k, row->k, 0) &&
         any_or_equal(q->a, (int)row->operand[HD_OPERAND_A].elem, -1) &&
         any_or_equal(q->b, (int)row->operand[HD_OPERAND_B].elem, -1) &&
         any_or_equal(q->d, (int)row->operand[HD_OPERAND_D].elem, -1) &&
         any_or_equal(q->family, (int)row->family, -1) &&
         any_or_equal(q->ordered, row->ordered, -1) &&
         any_or_equal(q->a_in_registers, row->a_in_registers, -1) &&
         any_or_equal(q->cta_group, row->cta_group, 0) && (!q->kind || !strcmp(q->kind, row->kind));
}

static bool target_matches(const hd_mma_query *q, const hd_spec_row *row) {
  if (!q->target)
    return true;
  hd_legal_query legal = {.target = q->target,
                          .ptx = (uint16_t)(q->ptx ? q->ptx : q->target->llvm_ptx),
                          .selector = -1};
  return hd_spec_legal(row, &legal, NULL, 0) == HD_LEGAL;
}

/* The first row that is not of a family before `family`: the table is sorted by family. */
static size_t first_of(int family) {
  size_t lo = 0, hi = hd_spec_n_rows;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if ((int)hd_spec_rows[mid].family < family)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const hd_spec_row *hd_spec_next_mma(const hd_mma_query *query, size_t *cursor) {
  bool any = query->family < 0;
  size_t begin = any ? 0 : first_of(query->family);
  size_t end = first_of((any ? (int)HD_FAMILY_TCGEN05_SP : query->family) + 1);
  uint64_t asked = HD_MMA_KEY(query->n ? UINT16_MAX : 0, query->a < 0 ? 0 : UINT8_MAX,
                              query->b < 0 ? 0 : UINT8_MAX, query->d < 0 ? 0 : UINT8_MAX);
  uint64_t key = HD_MMA_KEY(query->n, query->a, query->b, query->d) & asked;
  *cursor = *cursor < begin ? begin : *cursor;
  for (size_t i = *cursor; i < end; i++) {
    const hd_spec_row *row = &hd_spec_rows[i];
    if ((hd_spec_mma_keys[i] & asked) != key || row->family > HD_FAMILY_TCGEN05_SP ||
        !matches(query, row) || !target_matches(query, row))
      continue;
    *cursor = i + 1;
    return row;
  }
  *cursor = end;
  return NULL;
}
