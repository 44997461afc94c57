#include "Jit/jit_range.h"

#include <stdio.h>
#include <string.h>

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

static heddle_status read_front(heddle_context *ctx, heddle_jit *jit, hd_front *front) {
  hd_pass_context pass = {.ctx = ctx, .target = jit->compile.target};
  hd_module *module = NULL;
  pthread_mutex_lock(&jit->lock);
  heddle_status status = hd_module_copy(ctx, jit->module, &module);
  pthread_mutex_unlock(&jit->lock);
  HD_TRY(status);
  return hd_front_read(&pass, module, front);
}

static heddle_status compile_choice(heddle_context *ctx, heddle_jit *jit, hd_front *front,
                                    const hd_jit_range *r, loading *l,
                                    heddle_compiled **compiled) {
  hd_chosen *chosen = hd_try_zalloc(ctx, sizeof *chosen, "a choice");
  if (!chosen) {
    hd_front_free(front);
    return HEDDLE_NO_MEMORY;
  }
  *chosen = (hd_chosen){
      .plan = {.n = 1}, .tuned = jit->compile.tuned, .load = load, .load_user = l};
  chosen->plan.list[0].words = r->words;
  if (jit->dim)
    chosen->hint_mnk[hd_dim_index(jit->dim)] = r->hint;
  heddle_status status = hd_compile_front(ctx, front, chosen, &jit->compile, compiled);
  hd_free(chosen);
  return status;
}

static heddle_status compile_named(heddle_context *ctx, heddle_jit *jit, hd_front *front,
                                   const hd_jit_range *r, loading *l, heddle_compiled **compiled) {
  heddle_compile_options options = jit->compile;
  char words[HD_SCHEDULE_TEXT];
  hd_refusal refusal = {0};
  hd_schedule_print_words(&r->words, words);
  options.schedule = jit->has_words ? words : NULL;
  HD_TRY(hd_compile_front(ctx, front, NULL, &options, compiled));
  HD_TRY(load(ctx, l, *compiled, &refusal));
  return refusal.any ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.gate", "%s",
                                refusal.why)
                     : HEDDLE_OK;
}

static heddle_status make(heddle_context *ctx, heddle_jit *jit, hd_jit_range *r,
                          heddle_kernel **kernel) {
  loading l = {.jit = jit};
  heddle_compiled *compiled = NULL;
  hd_front front;
  HD_TRY(read_front(ctx, jit, &front));
  heddle_status status = (jit->is_choice ? compile_choice : compile_named)(ctx, jit, &front, r, &l,
                                                                          &compiled);
  if (status == HEDDLE_OK && strcmp(l.kernel->manifest.family, jit->family) != 0)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "schedule.buckets",
                      "a range reads A packed for %s, but the last one reads A packed for %s; "
                      "legal: one family",
                      l.kernel->manifest.family, jit->family);
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
