#include "IR/ir.h"

heddle_status hd_walk(hd_region *region, hd_visit *visit, void *user) {
  HD_FOR_OPS(op, region) {
    HD_TRY(visit(user, op));
    if (op->region != region) /* erased or moved by the visit */
      continue;
    for (int32_t i = 0; i < op->n_regions; i++)
      HD_TRY(hd_walk(op->regions[i], visit, user));
  }
  return HEDDLE_OK;
}

hd_op *hd_find_op(hd_region *region, hd_op_kind kind) {
  for (hd_op *op = region->first; op; op = op->next) {
    if (op->kind == kind)
      return op;
    for (int32_t i = 0; i < op->n_regions; i++) {
      hd_op *found = hd_find_op(op->regions[i], kind);
      if (found)
        return found;
    }
  }
  return NULL;
}

hd_op *hd_op_kernel(hd_op *op) {
  while (op && op->kind != HD_OP_KERNEL)
    op = op->region ? op->region->parent : NULL;
  return op;
}

struct replacement {
  const hd_value *old;
  hd_value *with;
  const hd_op *from;
  bool active;
};

static void replace_in(hd_region *region, struct replacement *r) {
  for (hd_op *op = region->first; op; op = op->next) {
    if (op == r->from) {
      r->active = true;
      continue;
    }
    for (int32_t i = 0; r->active && i < op->n_operands; i++)
      if (op->operands[i] == r->old)
        op->operands[i] = r->with;
    for (int32_t i = 0; i < op->n_regions; i++)
      replace_in(op->regions[i], r);
  }
}

void hd_replace_uses(hd_region *region, const hd_value *old, hd_value *with, const hd_op *from) {
  struct replacement r = {old, with, from, from == NULL};
  replace_in(region, &r);
}
