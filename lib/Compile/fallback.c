/* Replaces a chosen schedule that spills by the next best one, and tries again until the kernel
 * fits into registers. */
#include <stdio.h>
#include <string.h>

#include "Compile/attempt.h"
#include "Passes/front.h"
#include "Support/arena.h"
#include "Support/memory.h"

enum { MAX_TRIES = 4 }; /* attempts with a next best schedule; a modest one is then the last */

/* Prints only the keys by which people distinguish schedules. */
static void print_short(const hd_schedule *s, char out[HD_SCHEDULE_TEXT]) {
  static const hd_key keys[] = {HD_KEY_TILE,        HD_KEY_STAGES,  HD_KEY_CLUSTER,
                                HD_KEY_CTAS_PER_SM, HD_KEY_SPLIT_K, HD_KEY_STREAM_K,
                                HD_KEY_STORE};
  hd_schedule_words words = {.value = *s};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    words.given |= 1u << keys[i];
  hd_schedule_print_words(&words, out);
}

/* The size that a bucket's schedule is chosen for: its limit, or the start of the last bucket. */
static int64_t size_of_bucket(const hd_problem *p, const hd_bucket_plan *plan, int32_t i) {
  const hd_size *size = plan->dim[0] == 'm' ? &p->m : plan->dim[0] == 'n' ? &p->n : &p->k;
  int64_t unit = size->divisible_by > 1 ? size->divisible_by : 1;
  int64_t at = plan->list[i].to ? plan->list[i].to : plan->list[i - 1].to + 1;
  return (at + unit - 1) / unit * unit;
}

static heddle_status choose_next(heddle_context *ctx, const hd_front *front,
                                 const hd_chosen *chosen, int32_t i, const hd_spilled *spilled,
                                 int32_t tries, hd_schedule *next) {
  const hd_bucket_plan *plan = &chosen->plan;
  const hd_tuned_entry *entry;
  int64_t mnk[3];
  memcpy(mnk, chosen->hint_mnk, sizeof mnk);
  if (plan->n > 1)
    mnk[hd_dim_index(plan->dim[0])] = size_of_bucket(&front->problem, plan, i);
  HD_TRY(hd_choose_for_sizes(ctx, front, chosen->tuned, mnk, spilled, &entry, next));
  if (tries > MAX_TRIES || hd_spilled_has(spilled, next))
    hd_choose_modest(&front->problem, next);
  return HEDDLE_OK;
}

/* Replaces the schedule of each refused bucket in the plan. spilled: all schedules that spilled so
 * far; tries: the number of attempts made. */
static heddle_status fall_back(heddle_context *ctx, const hd_front *front, const hd_attempt *a,
                               hd_spilled *spilled, int32_t tries, hd_chosen *chosen) {
  const hd_refusal *refusal = &a->refusal;
  const hd_schedule *schedule = a->schedule;
  hd_bucket_plan *plan = &chosen->plan;
  for (int32_t i = 0; i < plan->n; i++)
    if (refusal->bucket[i])
      hd_spilled_add(spilled, &schedule[i]);
  for (int32_t i = 0; i < plan->n; i++) {
    hd_bucket *b = &plan->list[i];
    hd_schedule next;
    if (!refusal->bucket[i])
      continue;
    HD_TRY(choose_next(ctx, front, chosen, i, spilled, tries, &next));
    if (!chosen->fell_back[i])
      chosen->first[i] = schedule[i];
    chosen->fell_back[i] = true;
    b->words = hd_schedule_all_words(&next);
    snprintf(b->why, sizeof b->why, "next best, because %dx%d stages=%d spills",
             chosen->first[i].tile_m, chosen->first[i].tile_n, chosen->first[i].stages);
  }
  return HEDDLE_OK;
}

/* Adds a note for each bucket that fell back, with its first choice and the schedule used. */
static void note_fallbacks(heddle_context *ctx, hd_loc loc, const hd_chosen *chosen) {
  const hd_bucket_plan *plan = &chosen->plan;
  for (int32_t i = 0; i < plan->n; i++) {
    char first[HD_SCHEDULE_TEXT], taken[HD_SCHEDULE_TEXT], sizes[40] = "";
    if (!chosen->fell_back[i])
      continue;
    print_short(&chosen->first[i], first);
    print_short(&plan->list[i].words.value, taken);
    if (plan->n > 1 && plan->list[i].to)
      snprintf(sizes, sizeof sizes, " for %s <= %lld", plan->dim, (long long)plan->list[i].to);
    else if (plan->n > 1)
      snprintf(sizes, sizeof sizes, " for %s > %lld", plan->dim, (long long)plan->list[i - 1].to);
    hd_note(ctx, loc, "schedule.spilled",
            "the first choice%s does not fit into registers: %s; used instead: %s", sizes, first,
            taken);
  }
}

/* ---- attempts ---- */

/* True if the options leave the schedule to Heddle, or give one that it chose before. */
static bool is_choice(const hd_front *f, const heddle_compile_options *options) {
  const char *own = hd_op_str(f->problem.kernel, HD_ATTR_SCHEDULE);
  bool named = options->schedule && *options->schedule && !options->schedule_is_choice;
  return f->module->level == HD_LEVEL_PROBLEM && !named && !(own && *own);
}

static heddle_status compile_chosen(heddle_context *ctx, const hd_front *front, hd_chosen *chosen,
                                    const heddle_compile_options *options, hd_spilled *spilled,
                                    heddle_compiled **compiled) {
  heddle_status status = HEDDLE_UNSUPPORTED;
  for (int32_t tries = 0; status == HEDDLE_UNSUPPORTED; tries++) {
    hd_attempt a = {.chosen = chosen, .is_last = tries > MAX_TRIES};
    /* An attempt consumes its front. The copy is read without a context, because its notes were
     * already reported when it was first read. */
    hd_pass_context pass = {.target = options->target};
    hd_module *module;
    hd_front copy;
    HD_TRY(hd_module_copy(ctx, front->module, &module));
    HD_TRY(hd_front_read(&pass, module, &copy));
    status = hd_compile_attempt(ctx, &copy, options, &a, compiled);
    if (!a.refusal.any)
      break;
    HD_TRY(fall_back(ctx, front, &a, spilled, tries + 1, chosen));
  }
  if (status == HEDDLE_OK)
    note_fallbacks(ctx, front->problem.kernel->loc, chosen);
  return status;
}

heddle_status hd_compile_front(heddle_context *ctx, hd_front *front, hd_chosen *chosen,
                               const heddle_compile_options *options, heddle_compiled **compiled) {
  static const heddle_compile_options defaults = {0};
  heddle_status status = HEDDLE_OK;
  options = options ? options : &defaults;
  hd_chosen own = {.plan.n = 1, .tuned = options->tuned};
  if (!chosen && is_choice(front, options)) {
    if (options->schedule && *options->schedule)
      status = hd_bucket_plan_parse(ctx, front->problem.kernel->loc, options->schedule, &own.plan);
    chosen = &own;
  }
  bool may_refuse = chosen && (options->ptxas || chosen->load);
  if (status == HEDDLE_OK && !may_refuse) {
    hd_attempt only = {.chosen = chosen};
    return hd_compile_attempt(ctx, front, options, &only, compiled);
  }
  hd_spilled *spilled = hd_try_zalloc(ctx, sizeof *spilled, "what spilled");
  if (status == HEDDLE_OK)
    status = spilled ? compile_chosen(ctx, front, chosen, options, spilled, compiled)
                     : HEDDLE_NO_MEMORY;
  hd_free(spilled);
  hd_front_free(front);
  return status;
}
