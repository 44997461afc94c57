#include "Passes/front.h"

#include "Support/diag.h"

static heddle_status refuse_but_one(heddle_context *ctx, const hd_module *module) {
  const hd_op *kernel = module->body->first;
  if (kernel && !kernel->next)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED,
                  kernel ? kernel->next->loc : (hd_loc){.file = module->file}, "compile.one-kernel",
                  "got %s to compile; legal: one kernel", kernel ? "more" : "none");
}

static heddle_status legalize(hd_pass_context *pass, hd_module *module, hd_problem *problem) {
  HD_TRY(hd_run_pipeline(pass, module, &(hd_pipeline_options){.stop_after = "legalize"}));
  HD_TRY(refuse_but_one(pass->ctx, module));
  return hd_problem_read(pass->ctx, module->body->first, problem);
}

heddle_status hd_front_read(hd_pass_context *pass, hd_module *module, hd_front *front) {
  hd_front read = {.module = module};
  heddle_status status = legalize(pass, module, &read.problem);
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
  HD_TRY(hd_run_pass(pass, front->module, hd_pass_find("select_shape")));
  return hd_schedule_chosen(pass->ctx, front->problem.kernel, &front->schedule);
}

void hd_front_free(hd_front *front) {
  hd_module_free(front->module);
  *front = (hd_front){0};
}
