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

typedef struct epilogue {
  hd_module *module;
  bool permuted, direct; /* B's rows came so; the schedule asks for it */
} epilogue;

static heddle_status lower(void *user, hd_op *op) {
  const epilogue *e = user;
  if (op->kind != HD_OP_STORE_TILE)
    return HEDDLE_OK;
  bool quad = !e->direct && n_blocks(op) % 4 == 0;
  hd_op_set_str(e->module, op, HD_ATTR_PATH, e->permuted ? "permuted" : quad ? "quad" : "direct");
  return HEDDLE_OK;
}

heddle_status hd_pass_lower_epilogue(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_schedule s;
    HD_TRY(hd_schedule_chosen(pass->ctx, kernel, &s));
    const hd_b_variant *variant = hd_b_variant_find(hd_op_str(kernel, HD_ATTR_VARIANT));
    epilogue e = {module, variant && variant->permutes, strcmp(s.store, "direct") == 0};
    HD_TRY(hd_walk(kernel->regions[0], lower, &e));
  }
  return HEDDLE_OK;
}
