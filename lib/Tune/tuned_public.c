/* heddle/tuned.h over Tune/tuned.h. */
#include <string.h>

#include "IR/public_module.h"
#include "Passes/passes.h"
#include "Support/diag.h"
#include "Tune/tuned.h"

_Static_assert((int)HEDDLE_SCHEDULE_BYTES == (int)HD_SCHEDULE_TEXT, "ORDER SCHEDULE BYTES");

heddle_status heddle_tuned_read(heddle_context *ctx, const char *path, heddle_tuned **tuned) {
  return hd_tuned_read(ctx, path, tuned);
}

void heddle_tuned_free(heddle_tuned *tuned) { hd_tuned_free(tuned); }

static heddle_status pick(heddle_context *ctx, const hd_tuned *tuned, const char *target,
                          hd_module *module, const int64_t size_mnk[3],
                          char schedule[HEDDLE_SCHEDULE_BYTES]) {
  hd_pass_context pass = {.ctx = ctx, .target = target};
  const hd_tuned_entry *entry;
  hd_problem p;
  hd_schedule s;
  HD_TRY(hd_verify(ctx, module, NULL));
  HD_TRY(hd_run_pipeline(&pass, module, &(hd_pipeline_options){.stop_after = "legalize"}));
  hd_op *kernel = hd_find_op(module->body, HD_OP_KERNEL);
  if (!kernel)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "compile.one-kernel",
                    "the text holds no kernel");
  schedule[0] = '\0';
  if (hd_op_has(kernel, HD_ATTR_SCHEDULE)) /* its author has chosen */
    return HEDDLE_OK;
  static const int64_t none[3];
  HD_TRY(hd_problem_read(ctx, kernel, &p));
  hd_product product = hd_product_of(&p, size_mnk ? size_mnk : none);
  HD_TRY(hd_tune_pick(ctx, tuned, kernel, &product, &entry, &s));
  if (entry)
    hd_schedule_print(&s, schedule);
  return HEDDLE_OK;
}

heddle_status heddle_tuned_pick(heddle_context *ctx, const heddle_tuned *tuned, const char *text,
                                size_t text_bytes, const char *target, const int64_t size_mnk[3],
                                char schedule[HEDDLE_SCHEDULE_BYTES]) {
  hd_module *module;
  HD_TRY(hd_parse(ctx, NULL, text, text_bytes, &module));
  heddle_status status = pick(ctx, tuned, target, module, size_mnk, schedule);
  hd_module_free(module);
  return status;
}

heddle_status heddle_tuned_pick_module(heddle_context *ctx, const heddle_tuned *tuned,
                                       const heddle_module *module, const char *target,
                                       const int64_t size_mnk[3],
                                       char schedule[HEDDLE_SCHEDULE_BYTES]) {
  hd_module *copy = hd_module_clone(module->ir);
  heddle_status status = pick(ctx, tuned, target, copy, size_mnk, schedule);
  hd_module_free(copy);
  return status;
}
