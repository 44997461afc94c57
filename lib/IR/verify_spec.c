/* Rules by lib/Spec: the target exists; each row exists, fits its op, is legal on the target with
 * the given selector, has a verified layout, and matches the fragments that are its operands. */
#include <string.h>

#include "IR/shared_layout.h"
#include "IR/verify.h"
#include "Spec/spec.h"

/* The rows that an op may name, and the operand indices of its fragments; -1: none. */
static const struct row_rule {
  hd_op_kind op;
  uint32_t families;           /* bits of hd_family */
  int8_t in_registers, scaled; /* required of the row; -1: either */
  int8_t a, b, d, meta;
  bool takes_selector;
} row_rules[] = {
    {HD_OP_LOAD_A, 1u << HD_FAMILY_MMA_SP | 1u << HD_FAMILY_WGMMA_SP, 1, -1, -1, -1, -1, -1, false},
    {HD_OP_LOAD_B, 1u << HD_FAMILY_MMA_SP, -1, -1, -1, -1, -1, -1, false},
    {HD_OP_LOAD_SCALE, 1u << HD_FAMILY_MMA_SP, -1, 1, -1, -1, -1, -1, false},
    {HD_OP_MMA_SP, 1u << HD_FAMILY_MMA_SP, -1, 0, 1, 2, 0, 3, true},
    {HD_OP_MMA_SP_SCALED, 1u << HD_FAMILY_MMA_SP, -1, 1, 1, 2, 0, 3, true},
    {HD_OP_WGMMA_SS, 1u << HD_FAMILY_WGMMA_SP, 0, 0, -1, -1, 0, 5, true},
    {HD_OP_WGMMA_RS, 1u << HD_FAMILY_WGMMA_SP, 1, 0, 1, -1, 0, 4, true},
    /* the selector is in the instruction descriptor */
    {HD_OP_TCGEN05_MMA_SP, 1u << HD_FAMILY_TCGEN05_SP, 0, -1, -1, -1, -1, -1, false},
    {HD_OP_TCGEN05_ST, 1u << HD_FAMILY_TCGEN05, -1, -1, -1, -1, -1, -1, false},
    {HD_OP_TCGEN05_LD, 1u << HD_FAMILY_TCGEN05, -1, -1, -1, -1, -1, -1, false},
    {HD_OP_TCGEN05_CP, 1u << HD_FAMILY_TCGEN05, -1, -1, -1, -1, -1, -1, false},
};

static const struct row_rule *rule_of(hd_op_kind kind) {
  for (size_t i = 0; i < HD_COUNT(row_rules); i++)
    if (row_rules[i].op == kind)
      return &row_rules[i];
  return NULL;
}

static bool fits_op(const struct row_rule *rule, const hd_spec_row *row) {
  const char *text = hd_op_get_info(rule->op)->text;
  if (row->family == HD_FAMILY_TCGEN05 && strncmp(row->ptx, text, strlen(text)) != 0)
    return false; /* rows of tcgen05.ld, st and cp begin with the name of their op */
  return (rule->families >> row->family & 1) &&
         (rule->in_registers < 0 || row->family == HD_FAMILY_MMA_SP ||
          rule->in_registers == row->a_in_registers) &&
         (rule->scaled < 0 || row->family != HD_FAMILY_MMA_SP ||
          rule->scaled == (row->operand[HD_OPERAND_SCALE_A].space != HD_SPACE_NONE));
}

/* A wgmma may have accumulators for more columns than it multiplies. */
static bool may_be_wider(const hd_spec_row *row, hd_operand_id operand) {
  return row->family == HD_FAMILY_WGMMA_SP && operand == HD_OPERAND_D;
}

static void check_fragment(hd_verifier *v, const hd_op *op, const hd_spec_row *row, int8_t index,
                           hd_operand_id operand) {
  if (index < 0)
    return;
  const hd_operand *want = &row->operand[operand];
  hd_type type = op->operands[index]->type;
  bool typed = operand != HD_OPERAND_META;
  int64_t n = hd_type_registers(type);
  bool wider = may_be_wider(row, operand), fits = wider ? n >= want->n_regs : n == want->n_regs;
  if (!fits || (typed && type.elem != want->elem))
    hd_verify_fail(v, op, "ir.fragment",
                   "operand %d has %d registers of %s; legal: %d%s of %s, like %s of the row",
                   (int)index, (int)n, heddle_elem_get(type.elem)->name, (int)want->n_regs,
                   wider ? " or more" : "", typed ? heddle_elem_get(want->elem)->name : "s32",
                   hd_operand_name(operand));
}

static void check_result(hd_verifier *v, const hd_op *op, const hd_spec_row *row,
                         hd_operand_id operand) {
  const hd_operand *want = &row->operand[operand];
  hd_type type = op->results[0]->type;
  if (hd_type_registers(type) != want->n_regs || type.elem != want->elem)
    hd_verify_fail(v, op, "ir.fragment",
                   "the result has %d registers of %s; legal: %d of %s, like %s of the row",
                   (int)hd_type_registers(type), heddle_elem_get(type.elem)->name,
                   (int)want->n_regs, heddle_elem_get(want->elem)->name, hd_operand_name(operand));
}

static void check_legal(hd_verifier *v, const hd_op *op, const struct row_rule *rule,
                        const hd_spec_row *row) {
  const hd_target *target;
  if (hd_target_parse(hd_op_str(v->kernel, HD_ATTR_TARGET), &target) != HEDDLE_OK)
    return; /* reported at the kernel */
  char reason[300];
  hd_legal_query query = {.target = target, .ptx = target->llvm_ptx, .selector = -1};
  if (rule->takes_selector)
    query.selector = (int)hd_op_int(op, HD_ATTR_SELECTOR, 0);
  if (hd_spec_legal(row, &query, reason, sizeof reason) != HD_LEGAL)
    hd_verify_unsupported(v, op, "ir.row", "row %s: %s", row->name, reason);
}

/* Byte and thread ids: a scale vector begins at a multiple of its length; A's scales are in two
 * lanes of a quad. */
static void check_scale_ids(hd_verifier *v, const hd_op *op, const hd_spec_row *row) {
  const int64_t *ids = hd_op_attr(op, HD_ATTR_SCALE_IDS)->ints;
  if (hd_op_attr(op, HD_ATTR_SCALE_IDS)->n != 4)
    return; /* reported by its own rule */
  for (int i = 0; i < 4; i += 2)
    if (ids[i] % row->scale_vec)
      hd_verify_fail(v, op, "ir.scale-ids",
                     "byte-id %lld with scale_vec::%dX; legal: multiples of %d", (long long)ids[i],
                     row->scale_vec, row->scale_vec);
  if (ids[1] > 1)
    hd_verify_fail(v, op, "ir.scale-ids", "thread-id-a %lld; legal: 0, 1", (long long)ids[1]);
}

/* The number of registers that tcgen05.ld loads and st stores; any element type is legal. */
static void check_move(hd_verifier *v, const hd_op *op, const hd_spec_row *row) {
  enum { FIRST_WORD = 3 };
  int32_t registers = 0, wanted = row->operand[HD_OPERAND_D].n_regs;
  for (int32_t i = 0; i < op->n_results; i++)
    registers += (int32_t)hd_type_registers(op->results[i]->type);
  for (int32_t i = FIRST_WORD; i < op->n_operands; i++)
    registers += (int32_t)hd_type_registers(op->operands[i]->type);
  if (registers != wanted)
    hd_verify_fail(v, op, "ir.fragment", "moves %d registers; legal: %d, like row %s",
                   (int)registers,
                   (int)wanted, row->name);
}

static void check_fragments(hd_verifier *v, const hd_op *op, const struct row_rule *rule,
                            const hd_spec_row *row) {
  check_fragment(v, op, row, rule->a, HD_OPERAND_A);
  check_fragment(v, op, row, rule->b, HD_OPERAND_B);
  check_fragment(v, op, row, rule->d, HD_OPERAND_D);
  check_fragment(v, op, row, rule->meta, HD_OPERAND_META);
  if (op->kind == HD_OP_MMA_SP_SCALED) {
    check_fragment(v, op, row, 4, HD_OPERAND_SCALE_A);
    check_fragment(v, op, row, 5, HD_OPERAND_SCALE_B);
  }
  if (op->kind == HD_OP_LOAD_A)
    check_result(v, op, row, HD_OPERAND_A);
  else if (op->kind == HD_OP_LOAD_B)
    check_result(v, op, row, HD_OPERAND_B);
  else if (op->kind == HD_OP_LOAD_SCALE)
    check_result(v, op, row,
                 hd_op_is(op, HD_ATTR_OPERAND, "scale_a") ? HD_OPERAND_SCALE_A
                                                          : HD_OPERAND_SCALE_B);
  else if (op->kind == HD_OP_TCGEN05_LD || op->kind == HD_OP_TCGEN05_ST)
    check_move(v, op, row);
}

/* All tcgen05 ops of a kernel have the same .cta_group; a pair of CTAs is in one cluster. */
static void check_pair(hd_verifier *v, const hd_op *op, const hd_spec_row *row) {
  int64_t cluster = hd_op_int(v->kernel, HD_ATTR_CLUSTER, 1);
  if (row->cta_group != v->tensor_ctas)
    hd_verify_fail(v, op, "ir.pair",
                   "row %s is for .cta_group::%d; legal: %d, like the kernel's first row",
                   row->name,
                   row->cta_group, (int)v->tensor_ctas);
  else if (cluster % row->cta_group)
    hd_verify_fail(v, op, "ir.pair", "row %s is for a pair of CTAs, got cluster = %lld; legal: 2",
                   row->name, (long long)cluster);
}

static void check_row(hd_verifier *v, const hd_op *op) {
  const struct row_rule *rule = rule_of(op->kind);
  const char *name = hd_op_str(op, HD_ATTR_ROW);
  const hd_spec_row *row = name ? hd_spec_find(name) : NULL;
  if (!name)
    return;
  if (!row || strcmp(row->name, name) != 0)
    hd_verify_fail(v, op, "ir.row",
                   "there is no spec row \"%.100s\"; legal: the rows of `heddle list`", name);
  else if (rule && !fits_op(rule, row))
    hd_verify_fail(v, op, "ir.row", "row %s; legal: rows of the op (`heddle list`)", name);
  else if (rule && row->layout_verified_by == HD_VERIFIED_BY_NONE)
    hd_verify_unsupported(
        v, op, "ir.unverified",
        "the layout of row %s is not verified; legal: verified rows (`heddle list`)",
        name);
  else if (rule) {
    check_legal(v, op, rule, row);
    check_fragments(v, op, rule, row);
    if (op->kind == HD_OP_MMA_SP_SCALED)
      check_scale_ids(v, op, row);
    if (op->kind == HD_OP_TCGEN05_MMA_SP || op->kind == HD_OP_TCGEN05_CP)
      check_pair(v, op, row);
  }
}

void hd_verify_spec(hd_verifier *v, const hd_op *op) {
  const hd_target *target;
  const char *name = op->kind == HD_OP_KERNEL ? hd_op_str(op, HD_ATTR_TARGET) : NULL;
  if (name && hd_target_parse(name, &target) != HEDDLE_OK)
    hd_verify_unsupported(v, op, "ir.target", "target \"%.40s\"; nearest: %s", name,
                          hd_target_nearest(name));
  check_row(v, op);
}
