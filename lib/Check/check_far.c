/* Conditions that no instance shows: those on a loop's index beyond the iterations that are run. */
#include "Check/check_instances.h"

/* The loop whose index v is, or is a sum with; NULL for other values. */
static const hd_op *loop_of(const hd_value *v) {
  if (v->op && (v->op->kind == HD_OP_ADD || v->op->kind == HD_OP_SUB))
    return loop_of(hd_binary_x(v->op)) ? loop_of(hd_binary_x(v->op)) : loop_of(hd_binary_y(v->op));
  bool is_index = !v->op && v->index == 0 && v->region->parent;
  return is_index && v->region->parent->kind == HD_OP_FOR ? v->region->parent : NULL;
}

static bool is_const(const hd_value *v, int64_t *value) {
  if (!v->op || v->op->kind != HD_OP_CONST)
    return false;
  *value = hd_op_int(v->op, HD_ATTR_VALUE, 0);
  return true;
}

typedef struct constants {
  hd_ck_kernel *k;
  int64_t most;
} constants;

/* An index may be compared with the loop's own bounds, and with constants among the first
 * iterations (or, if the end is fixed, the last ones). All iterations that can differ are then
 * run. */
static bool is_near(const hd_op *loop, const hd_value *other, int64_t most) {
  int64_t value, end = 0;
  bool fixed = is_const(hd_for_hi(loop), &end);
  if (other == hd_for_lo(loop) || other == hd_for_hi(loop) || (fixed && end <= most))
    return true;
  return is_const(other, &value) && (value <= most || (fixed && value + most > end));
}

static heddle_status far_condition(void *user, hd_op *op) {
  constants *c = user;
  for (int32_t i = 0; op->kind == HD_OP_CMP && i < 2; i++) {
    const hd_op *loop = loop_of(op->operands[i]);
    if (loop && !is_near(loop, op->operands[1 - i], c->most))
      hd_ck_static_find(c->k, "undecided", op, "a loop bound, or one of the first iterations",
                        "a condition on a loop's index past the %lld iterations that are checked",
                        (long long)c->most);
  }
  return HEDDLE_OK;
}

void hd_ck_far_conditions(hd_ck_kernel *k, int64_t most) {
  constants c = {k, most};
  hd_walk(k->program.kernel->regions[0], far_condition, &c);
}
