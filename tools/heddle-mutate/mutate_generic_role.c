/* Generic operators at role level: change an attribute, an operand, a constant at one use, the kind
 * of an op, or its position. */
#include <string.h>

#include "mutate.h"

typedef bool change_op(uint64_t *seed, hd_module *m, hd_op *op);

static int64_t another(uint64_t *seed, int64_t i) {
  const int64_t others[] = {i + 1, i - 1, i * 2, i / 2, 0};
  return others[mutate_below(seed, HD_COUNT(others))];
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Words that can replace each other. */
static const char *const families[][7] = {
    {"eq", "ne", "lt", "le", "gt", "ge"},
    {"warp", "thread", "cluster", "cta"},
    {"row_major", "col_major"},
    {"k_major", "mn_major"},
    {"direct", "quad", "permuted"},
    {"none", "relu", "silu", "gelu"},
    {"m", "n", "k"},
    {"rows", "packed_a", "box", "linear"},
    {"ldb", "ldd", "ldc"},
    {"scale_a", "scale_b"},
};

static bool change_word(uint64_t *seed, hd_module *m, hd_op *op, const hd_attr *a) {
  for (size_t i = 0; i < HD_COUNT(families); i++) {
    uint32_t n = 0, own = UINT32_MAX;
    for (; n < 7 && families[i][n]; n++)
      own = strcmp(families[i][n], a->s) ? own : n;
    if (own == UINT32_MAX)
      continue;
    hd_op_set_str(m, op, a->key, families[i][(own + 1 + mutate_below(seed, n - 1)) % n]);
    return true;
  }
  return false;
}

static bool change_list(uint64_t *seed, hd_module *m, hd_op *op, const hd_attr *a) {
  enum { MAX_ELEMENTS = 16 };
  int64_t list[MAX_ELEMENTS];
  if (a->n < 1 || a->n > MAX_ELEMENTS)
    return false;
  memcpy(list, a->ints, (size_t)a->n * sizeof *list);
  int64_t *at = &list[mutate_below(seed, (uint32_t)a->n)];
  *at = another(seed, *at);
  hd_op_set_ints(m, op, a->key, list, a->n);
  return true;
}

static bool change_attribute(uint64_t *seed, hd_module *m, hd_op *op) {
  if (!op->n_attrs)
    return false;
  const hd_attr *a = &op->attrs[mutate_below(seed, (uint32_t)op->n_attrs)];
  switch (hd_attr_get_kind(a->key)) {
  case HD_ATTR_KIND_INT:
    hd_op_set_int(m, op, a->key, another(seed, a->i));
    return true;
  case HD_ATTR_KIND_FLAG:
    hd_op_remove_attr(op, a->key);
    return true;
  case HD_ATTR_KIND_SYMBOL:
    return change_word(seed, m, op, a);
  case HD_ATTR_KIND_INTS:
    return change_list(seed, m, op, a);
  default:
    return false;
  }
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Replaces an operand by another one of the op, or by a result of the previous op. */
static bool change_operand(uint64_t *seed, hd_module *m, hd_op *op) {
  (void)m;
  if (!op->n_operands)
    return false;
  hd_value **at = &op->operands[mutate_below(seed, (uint32_t)op->n_operands)];
  const hd_op *from = mutate_below(seed, 2) && op->prev ? op->prev : op;
  hd_value *other = NULL;
  if (from != op && from->n_results)
    other = from->results[mutate_below(seed, (uint32_t)from->n_results)];
  else
    other = op->operands[mutate_below(seed, (uint32_t)op->n_operands)];
  if (!other || other == *at || !hd_type_equal(other->type, (*at)->type))
    return false;
  *at = other;
  return true;
}

/* Changes a constant for this use only. */
static bool change_constant(uint64_t *seed, hd_module *m, hd_op *op) {
  if (!op->n_operands)
    return false;
  hd_value **at = &op->operands[mutate_below(seed, (uint32_t)op->n_operands)];
  const hd_op *from = (*at)->op;
  if (!from || from->kind != HD_OP_CONST || !op->region->parent)
    return false;
  hd_builder b = hd_builder_before(m, op);
  int64_t value = another(seed, hd_op_int(from, HD_ATTR_VALUE, 0));
  *at = (*at)->type.kind == HD_TYPE_I64 ? hd_build_i64(&b, value) : hd_build_i32(&b, value);
  return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bool change_kind(uint64_t *seed, hd_module *m, hd_op *op) {
  static const hd_op_kind kinds[] = {HD_OP_ADD, HD_OP_SUB, HD_OP_MUL, HD_OP_DIV,
                                     HD_OP_REM, HD_OP_MIN, HD_OP_MAX};
  (void)m;
  for (uint32_t i = 0; i < HD_COUNT(kinds); i++)
    if (op->kind == kinds[i]) {
      uint32_t by = 1 + mutate_below(seed, HD_COUNT(kinds) - 1);
      op->kind = kinds[(i + by) % HD_COUNT(kinds)];
      return true;
    }
  return false;
}

static bool uses(const hd_op *op, const hd_op *made) {
  for (int32_t i = 0; i < op->n_operands; i++)
    if (op->operands[i]->op == made)
      return true;
  return false;
}

/* Swaps the op with the previous op. */
static bool swap(uint64_t *seed, hd_module *m, hd_op *op) {
  (void)seed;
  (void)m;
  if (!op->prev || uses(op, op->prev) || op->kind == HD_OP_YIELD)
    return false;
  hd_op_move_before(op, op->prev);
  return true;
}

/* Removes an op that has no results and no regions. */
static bool take_away(uint64_t *seed, hd_module *m, hd_op *op) {
  (void)seed;
  (void)m;
  if (op->n_results || op->n_regions || op->kind == HD_OP_YIELD)
    return false;
  hd_op_erase(op);
  return true;
}

static const struct {
  const char *name;
  change_op *change;
} changes[] = {{"attribute", change_attribute}, {"operand", change_operand},
               {"constant", change_constant},   {"op", change_kind},
               {"op swapped", swap},            {"op removed", take_away}};

hd_module *mutate_generic_role(uint64_t *seed, const hd_module *module, int32_t i,
                               const char **name) {
  hd_module *copy = hd_module_clone(module);
  hd_op *op = mutate_op_at(copy, i);
  uint32_t change = mutate_below(seed, HD_COUNT(changes));
  bool changed = op->kind != HD_OP_PRODUCT && changes[change].change(seed, copy, op);
  heddle_context *ctx = heddle_context_create();
  changed = changed && hd_verify(ctx, copy, NULL) == HEDDLE_OK;
  heddle_context_free(ctx);
  *name = changes[change].name;
  if (changed)
    return copy;
  hd_module_free(copy);
  return NULL;
}
