/* heddle/schedule.h over Schedule/. */
#include "heddle/schedule.h"

#include "Choice/bucket_plan.h"
#include "Choice/product.h"
#include "IR/public_module.h"
#include "Passes/front.h"
#include "Schedule/cost.h"
#include "Schedule/enumerate.h"
#include "Support/arena.h"
#include "Support/diag.h"

static heddle_status read_module(hd_pass_context *pass, const heddle_module *module,
                                 hd_front *front) {
  hd_module *copy;
  HD_TRY(hd_module_copy(pass->ctx, module->ir, &copy));
  return hd_front_read(pass, copy, front);
}

/* ---- one schedule ---- */

static int64_t size_of(const hd_size *size, int64_t asked) {
  enum { OPEN_SIZE = 4096 };
  int64_t open = size->max && size->max < OPEN_SIZE ? size->max : OPEN_SIZE;
  return size->value ? size->value : asked ? asked : open;
}

static heddle_status predict(hd_pass_context *pass, hd_front *front, const char *schedule,
                             const int64_t asked[3], heddle_prediction *prediction) {
  const hd_problem *p = &front->problem;
  char one[HD_SCHEDULE_TEXT];
  const int64_t size[3] = {size_of(&p->m, asked[0]), size_of(&p->n, asked[1]),
                           size_of(&p->k, asked[2])};
  HD_TRY(hd_check_sizes(pass->ctx, p, asked));
  if (!hd_cost_is_estimate(p))
    return hd_error(pass->ctx, HEDDLE_UNSUPPORTED, p->kernel->loc, "schedule.predict",
                    "got target %s, whose rates were not measured; nearest: sm_90a",
                    p->target->name);
  pass->schedule_text = schedule;
  if (hd_bucket_plan_is(schedule)) {
    hd_bucket_plan plan;
    HD_TRY(hd_bucket_plan_parse(pass->ctx, HD_NOWHERE, schedule, &plan));
    int64_t n = size[hd_dim_index(*plan.dim)];
    hd_schedule_print_words(&hd_bucket_plan_find(&plan, n)->words, one);
    pass->schedule_text = one;
  }
  HD_TRY(hd_front_choose(pass, front));
  const hd_device_model *device = hd_device_model_of(p->target);
  hd_cost cost = hd_schedule_cost(p, &front->schedule, size, device);
  *prediction = (heddle_prediction){.seconds = cost.seconds,
                                    .dense_seconds = hd_dense_seconds(p, size, device),
                                    .binds = hd_resource_name(cost.binds),
                                    .device = device->device,
                                    .units = cost.units,
                                    .waves = cost.waves};
  return HEDDLE_OK;
}

heddle_status heddle_schedule_predict(heddle_context *ctx, const heddle_module *module,
                                      const char *target, const char *schedule,
                                      const int64_t size_mnk[3], heddle_prediction *prediction) {
  static const int64_t none[3];
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front;
  uint64_t before = hd_memory_shortages();
  heddle_prediction made;
  HD_TRY(read_module(&pass, module, &front));
  heddle_status status = predict(&pass, &front, schedule, size_mnk ? size_mnk : none, &made);
  hd_front_free(&front);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *prediction = made;
  return status;
}

/* ---- all of them ---- */

struct heddle_schedule_list {
  hd_arena arena;    /* the texts */
  const char **text; /* owned */
  size_t n, cap;
};

static heddle_status collect(heddle_context *ctx, const hd_front *front, const char *keys,
                             heddle_schedule_list *list) {
  const hd_problem *p = &front->problem;
  hd_schedule_words words = {0};
  hd_schedule *all;
  size_t n;
  if (front->module->level == HD_LEVEL_TILE)
    return hd_error(ctx, HEDDLE_INVALID, p->kernel->loc, "schedule.planned",
                    "got a kernel at tile level, which already has a schedule; legal: problem "
                    "level");
  if (keys)
    HD_TRY(hd_schedule_parse(ctx, HD_NOWHERE, keys, &words));
  hd_schedule_enumerate(hd_device_model_of(p->target), p, &all, &n);
  for (size_t i = 0; i < n; i++) {
    char text[HD_SCHEDULE_TEXT];
    if (!hd_schedule_matches(&all[i], &words))
      continue;
    hd_schedule_print(&all[i], text);
    HD_PUSH(list->text, list->n, list->cap, hd_arena_strdup(&list->arena, text));
  }
  hd_free(all);
  return HEDDLE_OK;
}

heddle_status heddle_schedule_enumerate(heddle_context *ctx, const heddle_module *module,
                                        const char *target, const char *keys,
                                        heddle_schedule_list **list) {
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front;
  uint64_t before = hd_memory_shortages();
  HD_TRY(read_module(&pass, module, &front));
  heddle_schedule_list *made = hd_try_zalloc(ctx, sizeof *made, "schedules");
  heddle_status status = made ? collect(ctx, &front, keys, made) : HEDDLE_NO_MEMORY;
  hd_front_free(&front);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *list = made;
  else
    heddle_schedule_list_free(made);
  return status;
}

size_t heddle_schedule_list_count(const heddle_schedule_list *list) { return list->n; }

const char *heddle_schedule_list_get(const heddle_schedule_list *list, size_t i) {
  return i < list->n ? list->text[i] : NULL;
}

void heddle_schedule_list_free(heddle_schedule_list *list) {
  if (!list)
    return;
  hd_arena_free(&list->arena);
  hd_free(list->text);
  hd_free(list);
}
