/* tile: makes the tile level: one `work` op that covers D with tiles.
 *
 * Requires   select_shape.
 * Ensures    tile level. Each kernel has one `work` op that contains matmul, epilogue and store.
 *            From here on the schedule is stored only in their attributes.
 * Why here   fragments and operand paths belong to a tile.
 * Does not   allocate memory.
 */
#include "Passes/pass_list.h"

#include "Passes/plan.h"

heddle_status hd_pass_tile(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_plan *plan;
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
    const hd_problem *p = &plan->p;
    hd_value *sizes[] = {p->m.op->results[0], p->n.op->results[0], p->k.op->results[0],
                         hd_is_batch(p) ? p->g.op->results[0] : NULL};
    hd_builder b = hd_builder_before(module, p->store); /* after all operands of the epilogue */
    b.loc = p->matmul->loc;
    plan->work = hd_build(&b, HD_OP_WORK, sizes, 3 + hd_is_batch(p), NULL, 0);
    hd_op_set_str(module, plan->work, HD_ATTR_ORDER, "grouped");
    hd_op_move_to_end(p->matmul, plan->work->regions[0]);
    hd_op_move_to_end(p->epilogue, plan->work->regions[0]);
    hd_op_move_to_end(p->store, plan->work->regions[0]);
    hd_builder inside = hd_builder_at_end(module, plan->work->regions[0]);
    hd_build_yield(&inside, NULL, 0);
    hd_plan_write_schedule(module, plan);
    hd_op_remove_attr(kernel, HD_ATTR_SCHEDULE);
  }
  module->level = HD_LEVEL_TILE;
  return HEDDLE_OK;
}
