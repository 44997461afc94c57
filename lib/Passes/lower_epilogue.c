/* lower_epilogue: how D is written.
 *
 * Requires   split_roles.
 * Ensures    every store.tile names its path: quad (the lanes of a quad trade registers so that
 *            each stores 16 bytes) where the schedule does not ask for direct and whole quads of
 *            8-column blocks are there, permuted (it has 16 bytes) where B's rows came so, else
 *            direct.
 * Why here   the roles' stores exist; the checker must see the accesses that are emitted.
 * Does not   change what is computed.
 */
#include <string.h>

#include "Passes/pass_list.h"
#include "Passes/variants.h"

static int32_t n_blocks(const hd_op *store) {
  int32_t elems = 0;
  for (int32_t i = 6; i < store->n_operands; i++)
    elems += store->operands[i]->type.n;
  return elems / 4;
}

static heddle_status lower(void *user, hd_op *op) {
  const hd_pass_context *pass = user;
  if (op->kind != HD_OP_STORE_TILE)
    return HEDDLE_OK;
  hd_schedule s;
  HD_TRY(hd_schedule_chosen(pass->ctx, hd_op_kernel(op), &s));
  const hd_b_variant *variant = hd_b_variant_find(hd_op_str(hd_op_kernel(op), HD_ATTR_VARIANT));
  bool permuted = variant && variant->permutes;
  bool quad = strcmp(s.store, "direct") != 0 && n_blocks(op) % 4 == 0;
  hd_attr *path = (hd_attr *)hd_op_attr(op, HD_ATTR_PATH);
  path->s = permuted ? "permuted" : quad ? "quad" : "direct";
  return HEDDLE_OK;
}

heddle_status hd_pass_lower_epilogue(hd_pass_context *pass, hd_module *module) {
  return hd_walk(module->body, lower, pass);
}
