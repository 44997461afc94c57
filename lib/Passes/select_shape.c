/* select_shape: the schedule and the instruction.
 *
 * Requires   legalize.
 * Ensures    `schedule` on each kernel (the whole record, legal for problem and target) and `row`
 *            on its matmul.
 * Why here   every later choice (tile, fragments, paths) follows from the instruction.
 * Does not   change the problem.
 */
#include "Passes/pass_list.h"

#include <string.h>

#include "Passes/problem.h"
#include "Passes/schedule_fit.h"

static heddle_status choose(heddle_context *ctx, const hd_op *kernel, const char *wish,
                            hd_schedule *s) {
  heddle_status status = hd_schedule_resolve(ctx, kernel, wish, s);
  if (status == HEDDLE_OK)
    status = hd_schedule_check(ctx, kernel, s);
  if (status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED)
    hd_schedule_note_nearest(ctx, kernel, wish);
  return status;
}

heddle_status hd_pass_select_shape(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_problem p;
    hd_schedule s;
    HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
    /* The kernel's own words first, those of the run over them. */
    const char *own = hd_op_str(kernel, HD_ATTR_SCHEDULE);
    const char *wish = hd_arena_printf(&module->arena, "%s %s", own ? own : "",
                                       pass->schedule_text ? pass->schedule_text : "");
    HD_TRY(hd_schedule_check_text(pass->ctx, kernel, own));
    HD_TRY(hd_schedule_check_text(pass->ctx, kernel, pass->schedule_text));
    HD_TRY(choose(pass->ctx, kernel, wish, &s));
    int32_t n = hd_schedule_is_wgmma(&s) ? s.tile_n : 0;
    const hd_spec_row *row =
        hd_schedule_is_pair(&s)
            ? hd_problem_pair_row(&p)
            : hd_problem_row(&p, s.family, n, strcmp(s.a_path, "reg") == 0);
    char text[HD_SCHEDULE_TEXT];
    hd_schedule_print(&s, text);
    hd_op_set_str(module, kernel, HD_ATTR_SCHEDULE, text);
    hd_op_set_str(module, p.matmul, HD_ATTR_ROW, row->name);
  }
  return HEDDLE_OK;
}
