/* select_shape: chooses the schedule and the instruction.
 *
 * Requires   legalize.
 * Ensures    `schedule` on each kernel (all keys, legal for problem and target) and `row` on its
 *            matmul.
 * Why here   all later choices (tile, fragments, paths) depend on the instruction.
 * Does not   change the problem.
 */
#include "Passes/pass_list.h"

#include "Passes/plan.h"
#include "Schedule/resolve.h"

/* Chooses the schedule from the kernel's own words, which those in `over` override. */
static heddle_status choose(const hd_pass_context *pass, const hd_schedule_words *over,
                            hd_plan *plan) {
  const hd_problem *p = &plan->p;
  const hd_device_model *device = pass->device ? pass->device : hd_device_model_of(p->target);
  hd_loc loc = p->kernel->loc;
  hd_schedule_words words = {0};
  if (plan->words)
    words = *plan->words;
  else
    HD_TRY(hd_schedule_parse(pass->ctx, loc, hd_op_str(p->kernel, HD_ATTR_SCHEDULE), &words));
  hd_schedule_add_words(over, &words);
  hd_schedule_note_renamed(pass->ctx, loc, &words);
  heddle_status status = hd_schedule_resolve(pass->ctx, device, p, &words, &plan->s);
  if (status == HEDDLE_OK)
    status = hd_schedule_check(pass->ctx, p, &plan->s);
  if (status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED)
    hd_schedule_note_nearest(pass->ctx, device, p, &words);
  return status;
}

heddle_status hd_pass_select_shape(hd_pass_context *pass, hd_module *module) {
  hd_schedule_words over = {0};
  const hd_op *first = module->body->first;
  if (first)
    HD_TRY(hd_schedule_parse(pass->ctx, first->loc, pass->schedule_text, &over));
  HD_FOR_OPS(kernel, module->body) {
    hd_plan *plan;
    char text[HD_SCHEDULE_TEXT];
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
    HD_TRY(choose(pass, &over, plan));
    plan->row = hd_plan_row(&plan->p, &plan->s);
    hd_schedule_print(&plan->s, text);
    hd_op_set_str(module, kernel, HD_ATTR_SCHEDULE, text);
    hd_op_set_str(module, plan->p.matmul, HD_ATTR_ROW, plan->row->name);
  }
  return HEDDLE_OK;
}
