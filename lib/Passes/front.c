#include "Passes/front.h"

#include "Passes/plan.h"
#include "Support/diag.h"

static heddle_status read_module(hd_pass_context *pass, hd_module *module, hd_front *front) {
  hd_plan *plan;
  static const hd_pipeline_options to_legalize = {.stop_after = "legalize"};
  bool has_plan = module->level == HD_LEVEL_TILE;
  HD_TRY(has_plan ? hd_verify(pass->ctx, module, NULL)
                  : hd_run_pipeline(pass, module, &to_legalize));
  hd_op *kernel = module->body->first;
  if (!kernel || kernel->next)
    return hd_error(pass->ctx, HEDDLE_UNSUPPORTED,
                    kernel ? kernel->next->loc : (hd_loc){.file = module->file},
                    "compile.one-kernel", "got %s to compile; legal: one kernel",
                    kernel ? "more" : "none");
  HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
  front->problem = plan->p;
  front->schedule = plan->s;
  /* At tile level the attributes of the matmul tell which pass has run last. */
  const hd_op *matmul = plan->p.matmul;
  front->last_pass = !has_plan                              ? "legalize"
                     : hd_op_has(matmul, HD_ATTR_SWIZZLE)   ? "select_operand_path"
                     : hd_op_has(matmul, HD_ATTR_FRAGMENTS) ? "assign_fragments"
                                                            : "tile";
  return HEDDLE_OK;
}

heddle_status hd_front_read(hd_pass_context *pass, hd_module *module, hd_front *front) {
  hd_front read = {.module = module};
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_memory_status(pass->ctx, before, read_module(pass, module, &read));
  if (status != HEDDLE_OK) {
    hd_front_free(&read);
    return status;
  }
  *front = read;
  return HEDDLE_OK;
}

heddle_status hd_front_parse(hd_pass_context *pass, const char *file, const char *text,
                             size_t n_bytes, hd_front *front) {
  hd_module *module;
  HD_TRY(hd_parse(pass->ctx, file, text, n_bytes, &module));
  return hd_front_read(pass, module, front);
}

heddle_status hd_front_made(hd_pass_context *pass, hd_loc place, const char *text,
                            hd_front *front) {
  hd_module *module;
  HD_TRY(hd_parse_made(pass->ctx, place, text, &module));
  return hd_front_read(pass, module, front);
}

heddle_status hd_front_choose(hd_pass_context *pass, hd_front *front) {
  hd_plan *plan;
  if (front->module->level == HD_LEVEL_TILE && (pass->target || pass->schedule_text))
    return hd_error(pass->ctx, HEDDLE_INVALID, front->problem.kernel->loc, "compile.planned",
                    "got a %s for a kernel at tile level, which already has one; nearest: without "
                    "it",
                    pass->target ? "target" : "schedule");
  if (front->module->level == HD_LEVEL_TILE)
    return HEDDLE_OK;
  front->last_pass = "select_shape";
  HD_TRY(hd_run_pass(pass, front->module, hd_pass_find(front->last_pass)));
  HD_TRY(hd_plan_of(pass->ctx, front->module, front->problem.kernel, &plan));
  front->schedule = plan->s;
  return HEDDLE_OK;
}

void hd_front_free(hd_front *front) {
  hd_module_free(front->module);
  *front = (hd_front){0};
}
