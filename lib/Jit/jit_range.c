#include "Jit/jit_range.h"

#include <stdio.h>
#include <string.h>

#include "Choice/size_choice.h"
#include "Compile/compile_front.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/memory.h"

/* ---- loading ---- */

typedef struct loading {
  const heddle_jit *jit;
  heddle_kernel *kernel;
} loading;

heddle_status hd_jit_say_again(heddle_context *ctx, heddle_status status,
                               const heddle_context *said) {
  const heddle_diagnostic *d;
  for (size_t i = 0; (d = heddle_context_get(said, i)); i++)
    if (strcmp(d->rule, "schedule.spilled") == 0)
      hd_note(ctx, HD_NOWHERE, d->rule, "%s", d->text);
  d = hd_first_error(said);
  if (status != HEDDLE_OK && d)
    hd_error(ctx, status, HD_NOWHERE, d->rule, "%s", d->text);
  return status;
}

/* True if a kernel uses the workspace as planned for all ranges. The replacement of a schedule that
 * spilled may use it differently, which a shared workspace does not allow. Variants whose columns
 * are combined always pass, since their products may lie anywhere in the workspace. */
static bool shares_workspace(const heddle_jit *jit, const hd_manifest *m) {
  int64_t slot = jit->records.bytes * jit->records.n;
  for (int32_t i = 0; i < m->n_variants; i++) {
    const hd_variant *v = &m->variant[i];
    const hd_expr *bytes = &v->workspace_bytes_per_tile;
    bool counts = bytes->div > 0 && !v->runs_ahead && !v->behind;
    if (v->runs_ahead ? slot > 0 : counts && (jit->copies || bytes->add != slot * bytes->div))
      return false;
  }
  return true;
}

static void refuse(hd_refusal *refusal, const char *why) {
  refusal->any = refusal->bucket[0] = true;
  snprintf(refusal->why, sizeof refusal->why, "%s", why);
}

/* Loads a kernel. Spills found by the driver's compiler are a refusal, like those of ptxas. */
static heddle_status load(heddle_context *ctx, void *user, const heddle_compiled *compiled,
                          hd_refusal *refusal) {
  loading *l = user;
  heddle_image image = {0};
  size_t json_bytes;
  const char *json = heddle_compiled_manifest(compiled, &json_bytes);
  heddle_context *said = heddle_context_create();
  image.cubin = heddle_compiled_cubin(compiled, &image.cubin_bytes);
  image.ptx = heddle_compiled_ptx(compiled, &image.ptx_bytes);
  heddle_status status =
      heddle_kernel_load(said, l->jit->runtime, json, json_bytes, &image, &l->kernel);
  const heddle_diagnostic *d = hd_first_error(said);
  if (status == HEDDLE_UNSUPPORTED && d && strcmp(d->rule, "kernel.gate") == 0) {
    refuse(refusal, d->text);
    status = HEDDLE_OK;
  } else if (status == HEDDLE_OK && !shares_workspace(l->jit, &l->kernel->manifest)) {
    refuse(refusal, "it needs more workspace than the other ranges planned");
    heddle_kernel_free(l->kernel);
    l->kernel = NULL;
  } else if (status != HEDDLE_OK) {
    status = hd_jit_say_again(ctx, status, said);
  }
  heddle_context_free(said);
  return status;
}

/* ---- compiling ---- */

/* overlapping: with weights_ready. */
static heddle_status read_front(heddle_context *ctx, heddle_jit *jit, bool overlapping,
                                hd_front *front) {
  hd_pass_context pass = {.ctx = ctx, .target = jit->compile.target};
  hd_module *module = NULL;
  pthread_mutex_lock(&jit->lock);
  heddle_status status = hd_module_copy(ctx, jit->module, &module);
  pthread_mutex_unlock(&jit->lock);
  HD_TRY(status);
  if (overlapping)
    hd_op_set_flag(module, module->body->first, HD_ATTR_WEIGHTS_READY);
  return hd_front_read(&pass, module, front);
}

/* hint: the size that the schedule is chosen for; 0: any. */
static heddle_status compile_choice(heddle_context *ctx, heddle_jit *jit, hd_front *front,
                                    const hd_schedule_words *words, int64_t hint, loading *l,
                                    heddle_compiled **compiled) {
  hd_chosen *chosen = hd_try_zalloc(ctx, sizeof *chosen, "a choice");
  if (!chosen) {
    hd_front_free(front);
    return HEDDLE_NO_MEMORY;
  }
  *chosen = (hd_chosen){
      .plan = {.n = 1}, .tuned = jit->compile.tuned, .load = load, .load_user = l};
  chosen->plan.list[0].words = *words;
  if (jit->dim)
    chosen->hint_mnk[hd_dim_index(jit->dim)] = hint;
  heddle_status status = hd_compile_front(ctx, front, chosen, &jit->compile, compiled);
  hd_free(chosen);
  return status;
}

static heddle_status compile_named(heddle_context *ctx, heddle_jit *jit, hd_front *front,
                                   const hd_schedule_words *words, loading *l,
                                   heddle_compiled **compiled) {
  heddle_compile_options options = jit->compile;
  char text[HD_SCHEDULE_TEXT];
  hd_refusal refusal = {0};
  hd_schedule_print_words(words, text);
  options.schedule = jit->has_words ? text : NULL;
  HD_TRY(hd_compile_front(ctx, front, NULL, &options, compiled));
  HD_TRY(load(ctx, l, *compiled, &refusal));
  return refusal.any ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.gate", "%s",
                                refusal.why)
                     : HEDDLE_OK;
}

/* ---- the overlapping kernel ---- */

/* Words for a kernel with weights_ready that needs no workspace, for the sizes of a range. */
static heddle_status choose_overlapping(heddle_context *ctx, const heddle_jit *jit,
                                        const hd_front *front, const hd_jit_range *r,
                                        hd_schedule_words *words) {
  int64_t sizes[3] = {0};
  const hd_tuned_entry *entry;
  hd_schedule s;
  if (jit->dim)
    sizes[hd_dim_index(jit->dim)] = r->hint;
  HD_TRY(hd_choose_for_sizes(ctx, front, jit->compile.tuned, sizes, NULL, &entry, &s));
  if (s.reduce == HD_REDUCE_WORKSPACE)
    s.split_k = 1;
  s.stream_k = 0;
  *words = hd_schedule_all_words(&s);
  return HEDDLE_OK;
}

static heddle_status compile_overlapping(heddle_context *ctx, heddle_jit *jit,
                                         const hd_jit_range *r, loading *l) {
  hd_schedule_words words = r->words;
  heddle_compiled *compiled = NULL;
  hd_front front;
  HD_TRY(read_front(ctx, jit, true, &front));
  heddle_status status =
      jit->is_choice ? choose_overlapping(ctx, jit, &front, r, &words) : HEDDLE_OK;
  if (status != HEDDLE_OK)
    hd_front_free(&front);
  else if (jit->is_choice)
    status = compile_choice(ctx, jit, &front, &words, r->hint, l, &compiled);
  else
    status = compile_named(ctx, jit, &front, &words, l, &compiled);
  heddle_compiled_free(compiled);
  return status;
}

/* Gives a kernel an overlapping one. Without one, because it spills or needs a workspace, all
 * launches are ordinary. */
static heddle_status add_overlapping(heddle_context *ctx, heddle_jit *jit, const hd_jit_range *r,
                                     heddle_kernel *kernel) {
  loading l = {.jit = jit};
  heddle_context *said = heddle_context_create();
  heddle_status status = compile_overlapping(said, jit, r, &l);
  if (status == HEDDLE_OK && heddle_kernel_set_overlapping(NULL, kernel, l.kernel) == HEDDLE_OK)
    l.kernel = NULL;
  else if (status == HEDDLE_OK || status == HEDDLE_UNSUPPORTED)
    status = heddle_kernel_set_overlapping(said, kernel, NULL);
  heddle_kernel_free(l.kernel);
  status = hd_jit_say_again(ctx, status, said);
  heddle_context_free(said);
  return status;
}

static heddle_status make(heddle_context *ctx, heddle_jit *jit, hd_jit_range *r,
                          heddle_kernel **kernel) {
  loading l = {.jit = jit};
  heddle_compiled *compiled = NULL;
  hd_front front;
  HD_TRY(read_front(ctx, jit, false, &front));
  heddle_status status =
      jit->is_choice ? compile_choice(ctx, jit, &front, &r->words, r->hint, &l, &compiled)
                     : compile_named(ctx, jit, &front, &r->words, &l, &compiled);
  if (status == HEDDLE_OK && strcmp(l.kernel->manifest.family, jit->family) != 0)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "schedule.buckets",
                      "a range reads A packed for %s, but the last one reads A packed for %s; "
                      "legal: one family",
                      l.kernel->manifest.family, jit->family);
  if (status == HEDDLE_OK && jit->overlaps)
    status = add_overlapping(ctx, jit, r, l.kernel);
  if (status == HEDDLE_OK)
    r->schedule = hd_xstrdup(heddle_compiled_schedule(compiled));
  heddle_compiled_free(compiled);
  if (status == HEDDLE_OK)
    *kernel = l.kernel;
  else
    heddle_kernel_free(l.kernel);
  return status;
}

/* ---- making a kernel once ---- */

/* Runs with the range's lock held. Only the caller that compiles the kernel receives the notes. */
static heddle_status make_once(heddle_context *ctx, heddle_jit *jit, hd_jit_range *r,
                               heddle_kernel **kernel) {
  if ((*kernel = atomic_load(&r->kernel)))
    return HEDDLE_OK;
  if (r->failed)
    return hd_error(ctx, r->failed, HD_NOWHERE, r->rule, "%s", r->text);
  void *current = NULL;
  HD_CU_TRY(ctx, jit->runtime, context_get, &current);
  if (current != jit->context)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "jit.context",
                    "the current CUDA context is not the one of heddle_jit_create; legal: that "
                    "context");
  heddle_context *said = heddle_context_create();
  heddle_status status = make(said, jit, r, kernel);
  bool is_final = status != HEDDLE_ENVIRONMENT && status != HEDDLE_NO_MEMORY;
  const heddle_diagnostic *d = hd_first_error(said);
  hd_jit_say_again(ctx, status, said);
  if (status == HEDDLE_OK) {
    atomic_store(&r->kernel, *kernel);
  } else if (is_final && d) { /* later calls report the same */
    snprintf(r->rule, sizeof r->rule, "%s", d->rule);
    snprintf(r->text, sizeof r->text, "%s", d->text);
    r->failed = status;
  }
  heddle_context_free(said);
  return status;
}

heddle_status hd_jit_range_get(heddle_context *ctx, heddle_jit *jit, hd_jit_range *range,
                               heddle_kernel **kernel) {
  hd_jit_range *r = range->same ? range->same : range;
  if ((*kernel = atomic_load(&r->kernel)))
    return HEDDLE_OK;
  pthread_mutex_lock(&r->lock);
  heddle_status status = make_once(ctx, jit, r, kernel);
  pthread_mutex_unlock(&r->lock);
  return status;
}
