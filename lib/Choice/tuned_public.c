/* heddle/tuned.h over Choice/tuned.h. */
#include <string.h>

#include "IR/public_module.h"
#include "Passes/front.h"
#include "Support/diag.h"
#include "Choice/bucket_choose.h"
#include "Schedule/heuristic.h"

_Static_assert((int)HEDDLE_SCHEDULE_BYTES == (int)HD_SCHEDULE_TEXT, "ORDER SCHEDULE BYTES");

/* Whether the table has another model than the target, whose model compilation uses by default. */
static bool is_other_model(const hd_tuned *tuned, const hd_problem *p) {
  return strcmp(hd_tuned_ceilings(tuned)->device, hd_device_model_of(p->target)->device) != 0;
}

/* The front is consumed. */
static heddle_status pick(heddle_context *ctx, const hd_tuned *tuned, hd_front *front,
                          const int64_t size_mnk[3], char schedule[HEDDLE_SCHEDULE_BYTES]) {
  static const int64_t none[3];
  uint64_t before = hd_memory_shortages();
  const hd_problem *p = &front->problem;
  const hd_tuned_entry *entry = NULL;
  hd_schedule s;
  hd_product product = hd_product_of(p, size_mnk ? size_mnk : none);
  heddle_status status = hd_check_sizes(ctx, p, size_mnk ? size_mnk : none);
  bool has_chosen = hd_op_has(p->kernel, HD_ATTR_SCHEDULE); /* the author of the kernel */
  if (status == HEDDLE_OK && !has_chosen)
    entry = hd_tune_pick(tuned, p, &product, NULL, &s);
  bool picked = entry != NULL;
  if (status == HEDDLE_OK && !has_chosen && !entry && is_other_model(tuned, p)) {
    s = hd_schedule_default(hd_tuned_ceilings(tuned), p);
    picked = true;
  }
  hd_front_free(front);
  HD_TRY(hd_memory_status(ctx, before, status));
  schedule[0] = '\0';
  if (picked)
    hd_schedule_print(&s, schedule);
  return HEDDLE_OK;
}

heddle_status heddle_tuned_pick(heddle_context *ctx, const heddle_tuned *tuned, const char *text,
                                size_t text_bytes, const char *target, const int64_t size_mnk[3],
                                char schedule[HEDDLE_SCHEDULE_BYTES]) {
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front;
  HD_TRY(hd_front_parse(&pass, NULL, text, text_bytes, &front));
  return pick(ctx, tuned, &front, size_mnk, schedule);
}

heddle_status heddle_tuned_pick_module(heddle_context *ctx, const heddle_tuned *tuned,
                                       const heddle_module *module, const char *target,
                                       const int64_t size_mnk[3],
                                       char schedule[HEDDLE_SCHEDULE_BYTES]) {
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front;
  hd_module *copy;
  HD_TRY(hd_module_copy(ctx, module->ir, &copy));
  HD_TRY(hd_front_read(&pass, copy, &front));
  return pick(ctx, tuned, &front, size_mnk, schedule);
}

heddle_status heddle_tuned_buckets(heddle_context *ctx, const heddle_tuned *tuned,
                                   const heddle_module *module, const char *target,
                                   const int64_t size_mnk[3], char **plan) {
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front;
  hd_module *copy;
  HD_TRY(hd_module_copy(ctx, module->ir, &copy));
  HD_TRY(hd_front_read(&pass, copy, &front));
  uint64_t before = hd_memory_shortages();
  hd_bucket_plan made = {0};
  hd_bucket_options options = {.tuned = tuned};
  hd_strbuf text = {0};
  if (size_mnk)
    memcpy(options.hint_mnk, size_mnk, sizeof options.hint_mnk);
  heddle_status status = hd_check_sizes(ctx, &front.problem, options.hint_mnk);
  bool has_chosen = hd_op_has(front.problem.kernel, HD_ATTR_SCHEDULE); /* the author */
  if (status == HEDDLE_OK && !has_chosen)
    status = hd_bucket_choose(ctx, &front, &options, &made);
  hd_front_free(&front);
  if (status == HEDDLE_OK)
    hd_bucket_plan_print(&made, &text);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *plan = hd_strbuf_take(&text);
  hd_strbuf_free(&text);
  return status;
}
