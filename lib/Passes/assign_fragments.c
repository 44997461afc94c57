/* assign_fragments: chooses the register fragments of each operand of the instruction.
 *
 * Requires   tile.
 * Ensures    `fragments` on each matmul, from the layouts of the spec row. The accumulators are in
 *            the layout that the epilogue's store expects (every lane and register is checked).
 * Why here   select_operand_path needs the location of the fragments.
 * Does not   create values.
 */
#include "Passes/pass_list.h"

#include "Passes/plan.h"

/* The layout of store.tile: register r of a lane holds row lane/4 + 8*(r&2)/2, column (r/4)*8 +
 * (lane%4)*2 + (r&1) of a 16-row strip; the strips of a warpgroup are consecutive. */
static bool store_order(const hd_fragment *d, uint32_t per_register) {
  for (uint32_t lane = 0; lane < d->n_lanes; lane++)
    for (uint32_t i = 0; i < d->n_regs * per_register; i++) {
      uint32_t row, col;
      if (!hd_fragment_at(d, lane, i / per_register, i % per_register, &row, &col))
        return false;
      if (row != lane / 32 * 16 + lane % 32 / 4 + (i & 2) * 4 ||
          col != i / 4 * 8 + lane % 4 * 2 + (i & 1))
        return false;
    }
  return true;
}

heddle_status hd_pass_assign_fragments(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_plan *plan;
    hd_fragment d;
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
    /* Accumulators in tensor memory are loaded by tcgen05.ld. */
    bool tensor = plan->row->family == HD_FAMILY_TCGEN05_SP;
    const hd_spec_row *loaded = tensor ? hd_spec_find("tcgen05_ld_16x256b_x16") : plan->row;
    HD_TRY(hd_spec_fragment(loaded, HD_OPERAND_D, 0, &d));
    if (!store_order(&d, 32 / d.field_bits))
      return HD_BUG(pass->ctx, "accumulators in another layout than a store expects");
    plan->fragments = hd_plan_fragments(plan->row);
    hd_plan_write_fragments(module, plan);
  }
  return HEDDLE_OK;
}
