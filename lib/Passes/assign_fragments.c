/* assign_fragments: which warp computes what.
 *
 * Requires   tile.
 * Ensures    `tile` and `warps` on each matmul; the accumulators of its instruction lie as the
 *            epilogue's store writes them (checked against the spec row, every lane and register).
 * Why here   operand paths ask where fragments lie.
 * Does not   create values.
 */
#include "Passes/pass_list.h"

#include "Passes/problem.h"

/* store.tile: register r of a lane holds row lane/4 + 8*(r&2)/2, column (r/4)*8 + (lane%4)*2 +
 * (r&1) of a 16-row strip; a warpgroup's strips follow each other. */
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

static heddle_status assign(hd_pass_context *pass, hd_module *m, hd_op *kernel) {
  hd_problem p;
  hd_schedule s;
  HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
  HD_TRY(hd_schedule_chosen(pass->ctx, kernel, &s));
  const hd_spec_row *row = hd_spec_find(hd_op_str(p.matmul, HD_ATTR_ROW));
  hd_fragment d;
  /* Out of tensor memory they come by tcgen05.ld. */
  bool tensor = row->family == HD_FAMILY_TCGEN05_SP;
  HD_TRY(
      hd_spec_fragment(tensor ? hd_spec_find("tcgen05_ld_16x256b_x16") : row, HD_OPERAND_D, 0, &d));
  if (!store_order(&d, 32 / d.field_bits))
    return HD_BUG(pass->ctx, "accumulators that do not lie as a store writes them");
  int64_t tile[] = {s.tile_m, s.tile_n, s.tile_k}, warps[] = {s.warps_m, s.warps_n};
  hd_op_set_ints(m, p.matmul, HD_ATTR_TILE, tile, 3);
  hd_op_set_ints(m, p.matmul, HD_ATTR_WARPS, warps, 2);
  return HEDDLE_OK;
}

heddle_status hd_pass_assign_fragments(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body)
    HD_TRY(assign(pass, module, kernel));
  return HEDDLE_OK;
}
