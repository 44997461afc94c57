/* The instruction rows that a problem can use. */
#include "Schedule/problem.h"

/* Whether the row applies the block scales of the problem, or neither has any. For promoted sums,
 * any wgmma row qualifies, since no instruction applies their scales. */
static bool takes_blocks(const hd_problem *p, const hd_spec_row *row) {
  if (hd_scales_promoted(p))
    return row->family == HD_FAMILY_WGMMA_SP;
  if (hd_spec_block(row) != p->block)
    return false;
  return !p->block || (row->operand[HD_OPERAND_SCALE_A].elem == p->block_a.elem &&
                       row->operand[HD_OPERAND_SCALE_B].elem == p->block_b.elem);
}

/* Considers only rows that can be generated, which are the verified ones. */
static const hd_spec_row *first_row(const hd_problem *p, const hd_mma_query *query) {
  size_t at = 0;
  const hd_spec_row *row = hd_spec_next_mma(query, &at);
  while (row && (!takes_blocks(p, row) || !hd_spec_can_generate(row)))
    row = hd_spec_next_mma(query, &at);
  return row;
}

static const hd_spec_row *find_row(const hd_problem *p, hd_family family, const char *kind, int n,
                                   bool a_in_registers) {
  hd_mma_query query = HD_MMA_ANY;
  query.family = (int)family;
  query.a = p->a_elem;
  query.b = p->b.elem;
  query.d = p->acc_elem;
  query.n = n;
  query.ordered = 1;
  query.target = p->target;
  query.a_in_registers = a_in_registers || family == HD_FAMILY_MMA_SP;
  query.kind = kind;
  query.k = hd_k_block_size(p->a_elem) / 2; /* the packed order has two k-steps per k-block */
  return first_row(p, &query);
}

/* A row of the problem's kind, or the first one of any kind. 128 rows per CTA. n is a field of the
 * instruction descriptor. */
static const hd_spec_row *find_tensor_row(const hd_problem *p, int ctas) {
  hd_mma_query query = HD_MMA_ANY;
  query.family = HD_FAMILY_TCGEN05_SP;
  query.m = 128 * ctas;
  query.k = hd_k_block_size(p->a_elem) / 2; /* as above */
  query.a = p->a_elem;
  query.b = p->b.elem;
  query.d = p->acc_elem;
  query.cta_group = ctas;
  query.target = p->target;
  query.a_in_registers = 0;
  query.kind = p->kind;
  return first_row(p, &query);
}

/* Prefers rows without a .kind, then kind::f8f6f4 for narrow floats. With block scales and without
 * a kind in the problem: the first kind that applies them. */
const hd_spec_row *hd_problem_row(const hd_problem *p, hd_family family, int n,
                                  bool a_in_registers) {
  if (family == HD_FAMILY_TCGEN05_SP)
    return a_in_registers ? NULL : find_tensor_row(p, 1);
  if (p->block || p->kind)
    return find_row(p, family, p->kind, n, a_in_registers);
  const hd_spec_row *plain = find_row(p, family, "", n, a_in_registers);
  return plain ? plain : find_row(p, family, "f8f6f4", n, a_in_registers);
}

bool hd_problem_has(const hd_problem *p, hd_family family) {
  return hd_problem_row(p, family, 0, family == HD_FAMILY_MMA_SP) != NULL;
}

const hd_spec_row *hd_problem_pair_row(const hd_problem *p) { return find_tensor_row(p, 2); }

bool hd_problem_is_emulated(const hd_problem *p) {
  bool fp8 = p->a_elem == HEDDLE_E4M3 || p->a_elem == HEDDLE_E5M2;
  return fp8 && !p->block && p->target->sm >= 90 && p->target->sm < 120;
}
