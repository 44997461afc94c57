#include "Compile/bucket_kernels.h"

#include <string.h>

#include "Passes/plan.h"
#include "Support/diag.h"

static heddle_status check_size(heddle_context *ctx, const hd_op *kernel,
                                const hd_bucket_plan *plan) {
  const hd_op *size = NULL;
  HD_FOR_OPS(op, kernel->regions[0])
    if (op->kind == HD_OP_SIZE && hd_op_is(op, HD_ATTR_DIM, plan->dim))
      size = op;
  int64_t last = plan->list[plan->n - 2].to;
  if (!size || hd_op_has(size, HD_ATTR_VALUE))
    return hd_error(ctx, HEDDLE_INVALID, kernel->loc, "schedule.buckets",
                    "got buckets of %s, which is fixed; legal: a size that is known only at launch",
                    plan->dim);
  if (hd_op_has(size, HD_ATTR_MAX) && last >= hd_op_int(size, HD_ATTR_MAX, 0))
    return hd_error(ctx, HEDDLE_INVALID, size->loc, "schedule.buckets",
                    "got a limit at %s = %lld; legal: below the max, %lld", plan->dim,
                    (long long)last, (long long)hd_op_int(size, HD_ATTR_MAX, 0));
  return HEDDLE_OK;
}

/* Sets the schedule words of a bucket's kernel. The bucket's words override the kernel's. */
static void set_words(hd_module *m, hd_plan *plan, const hd_schedule_words *own,
                      const hd_bucket *b) {
  hd_schedule_words words = *own;
  hd_schedule_add_words(&b->words, &words);
  plan->words = hd_arena_copy(&m->arena, &words, sizeof words);
}

static void make_kernel(hd_module *m, const hd_plan *plan, const hd_schedule_words *own,
                        const char *dim, int64_t from, const hd_bucket *b) {
  hd_op *whole = plan->p.kernel;
  hd_builder builder = hd_builder_before(m, whole);
  hd_value_map map = {0};
  hd_op *kernel = hd_op_clone(&builder, whole, &map);
  hd_plan *clone = hd_plan_clone(m, plan, kernel, &map);
  hd_value_map_free(&map);
  hd_size *size = *dim == 'm' ? &clone->p.m : *dim == 'n' ? &clone->p.n : &clone->p.k;
  size->max = b->to;
  hd_op_set_str(m, kernel, HD_ATTR_NAME,
                hd_arena_printf(&m->arena, "%s_%s%lld", hd_op_str(whole, HD_ATTR_NAME), dim,
                                (long long)b->to));
  hd_op_set_str(m, kernel, HD_ATTR_BUCKET, dim);
  hd_op_set_int(m, kernel, HD_ATTR_AT_MOST, b->to);
  hd_op_set_int(m, kernel, HD_ATTR_AT_LEAST, from);
  hd_op_set_int(m, size->op, HD_ATTR_MAX, b->to);
  set_words(m, clone, own, b);
}

heddle_status hd_bucket_kernels(heddle_context *ctx, hd_module *module,
                                const hd_bucket_plan *plan) {
  hd_op *kernel = module->body->first;
  const char *text = hd_op_str(kernel, HD_ATTR_SCHEDULE);
  hd_schedule_words own = {0};
  hd_plan *whole;
  if (plan->n > 1)
    HD_TRY(check_size(ctx, kernel, plan));
  HD_TRY(hd_plan_of(ctx, module, kernel, &whole));
  if (!hd_bucket_plan_is(text))
    HD_TRY(hd_schedule_parse(ctx, kernel->loc, text, &own));
  for (int32_t i = 0; i + 1 < plan->n; i++)
    make_kernel(module, whole, &own, plan->dim, i ? plan->list[i - 1].to + 1 : 1, &plan->list[i]);
  set_words(module, whole, &own, &plan->list[plan->n - 1]);
  return HEDDLE_OK;
}

heddle_status hd_bucket_kernels_print(heddle_context *ctx, hd_module *module, hd_strbuf *out) {
  HD_FOR_OPS(kernel, module->body) {
    char schedule[HD_SCHEDULE_TEXT];
    hd_plan *plan;
    HD_TRY(hd_plan_of(ctx, module, kernel, &plan));
    hd_schedule_print(&plan->s, schedule);
    const char *dim = hd_op_str(kernel, HD_ATTR_BUCKET);
    if (kernel != module->body->first)
      hd_strbuf_add(out, "; ");
    if (dim)
      hd_strbuf_printf(out, "%s<=%lld: ", dim, (long long)hd_op_int(kernel, HD_ATTR_AT_MOST, 0));
    hd_strbuf_add(out, schedule);
  }
  return HEDDLE_OK;
}
