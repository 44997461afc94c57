/* Other data that explain gathers: buckets, alternatives, the kernel, its shared memory. */
#include <stdio.h>
#include <string.h>

#include "Passes/front.h"
#include "Schedule/resolve.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "explained.h"

/* ---- buckets ---- */

void explain_short(const hd_schedule *s, hd_strbuf *out) {
  char tile[24], splits[24] = "";
  snprintf(tile, sizeof tile, "%dx%d", s->tile_m, s->tile_n);
  if (s->split_k > 1)
    snprintf(splits, sizeof splits, " split_k=%d", s->split_k);
  hd_strbuf_printf(out, "%-8s stages=%-2d%s%s%s", tile, s->stages,
                   s->cluster > 1 ? " cluster=2" : "", splits, s->stream_k ? " stream_k=1" : "");
  if (s->store != HD_STORE_QUAD)
    hd_strbuf_printf(out, " %s", hd_key_word(HD_KEY_STORE, s->store));
}

const hd_bucket *explain_bucket_of(const compile_input *in, const int64_t size_mnk[3]) {
  int64_t asked = size_mnk[in->plan.dim[0] == 'n'];
  return in->plan.n ? hd_bucket_plan_find(&in->plan, asked ? asked : INT64_MAX) : NULL;
}

void explain_buckets(explained *e) {
  const hd_bucket_plan *plan = &e->input->plan;
  bool along_n = plan->dim[0] == 'n';
  int64_t from = 1, mnk[3] = {e->size_mnk[0], e->size_mnk[1], e->size_mnk[2]};
  e->n_buckets = plan->dim[0] ? plan->n : 0;
  for (int32_t i = 0; i < e->n_buckets; i++) {
    const hd_bucket *b = &plan->list[i];
    explain_bucket *x = &e->bucket[i];
    *x = (explain_bucket){from, b->to, mnk[along_n] = b->to ? b->to : from, 0, b};
    if (hd_cost_is_estimate(e->problem))
      x->seconds = hd_schedule_cost(e->problem, &b->words.value, mnk, e->ceilings).seconds;
    from = b->to + 1;
  }
}

/* ---- alternatives ---- */

/* --schedule is applied on top of the text's own words. */
static void look_at(explained *e, const hd_schedule_words *own, const char *text) {
  explain_alternative *x = &e->alternative[e->n_alternatives++];
  const hd_problem *p = e->problem;
  heddle_context *quiet = heddle_context_create();
  hd_schedule_words words = *own;
  hd_schedule s;
  *x = (explain_alternative){.words = text};
  heddle_status status = hd_schedule_parse(quiet, HD_NOWHERE, text, &words);
  if (status == HEDDLE_OK)
    status = hd_schedule_resolve(quiet, hd_device_model_of(p->target), p, &words, &s);
  if (status == HEDDLE_OK)
    status = hd_schedule_check(quiet, p, &s);
  x->legal = status == HEDDLE_OK;
  const heddle_diagnostic *d = x->legal ? NULL : hd_first_error(quiet);
  if (x->legal)
    x->cost = hd_schedule_cost(p, &s, e->mnk, e->ceilings);
  else
    hd_strbuf_printf(&x->refusal, "%s%s%s%s", d ? "refused[" : "refused", d ? d->rule : "",
                     d ? "]: " : "", d ? d->text : "");
  heddle_context_free(quiet);
}

void explain_alternatives(explained *e) {
  static const char *const words[EXPLAIN_MOST_ALTERNATIVES] = {
      "family=mma", "family=wgmma", "family=tcgen05", "a=reg",       "a=desc",
      "cluster=2",  "b=tma",        "b=gather",       "b=cp_async",  "b=ld_st",
      "split_k=2",  "stream_k=1",   "store=permuted", "store=staged"};
  char text[HD_SCHEDULE_TEXT];
  hd_schedule_print(e->schedule, text);
  for (size_t i = 0; i < HD_COUNT(words); i++)
    if (!strstr(text, words[i]))
      look_at(e, &e->own, words[i]);
}

/* ---- the kernel ---- */

const char *explain_item_name(const hd_shared_item *item) {
  return item->op->kind == HD_OP_TCGEN05_ALLOC ? "address of tensor memory"
                                               : hd_op_str(item->op, HD_ATTR_NAME);
}

/* Runs the passes again up to the layout of shared memory. Diagnostics were already reported by the
 * first run. */
static heddle_status lay_out(const hd_pass_context *as, explained *e) {
  const compile_input *in = e->input;
  heddle_context *quiet = heddle_context_create();
  hd_pass_context pass = *as;
  hd_front front = {0};
  pass.ctx = quiet;
  heddle_status status = hd_front_parse(&pass, in->path, in->text, in->text_bytes, &front);
  if (status == HEDDLE_OK)
    status = hd_front_choose(&pass, &front);
  const hd_pipeline_options options = {.start_after = front.last_pass,
                                       .stop_after = "insert_fences"};
  if (status == HEDDLE_OK)
    status = hd_run_pipeline(&pass, front.module, &options);
  if (status == HEDDLE_OK)
    status = hd_shared_layout_make(quiet, front.module->body->first, &e->arena, &e->shared);
  e->role = front.module;
  heddle_context_free(quiet);
  return status;
}

heddle_status explain_gather_kernel(const hd_pass_context *pass, explained *e) {
  const hd_problem *p = e->problem;
  heddle_context *ctx = pass->ctx;
  HD_TRY(e->failed);
  if (!e->kernel.compiled)
    HD_TRY(compile_input_compile(ctx, e->input, &e->kernel));
  if (p->m.value && p->k.value)
    HD_TRY(
        compile_packed_bytes(ctx, &e->kernel.manifest, p->m.value, p->k.value, &e->packed_bytes));
  const hd_bucket *b = explain_bucket_of(e->input, e->size_mnk);
  e->variant = b ? e->kernel.manifest.bucket_first[b - e->input->plan.list] : 0;
  explain_kernel_facts(e);
  return lay_out(pass, e);
}

void explain_gather(explained *e) {
  explain_problem_facts(e);
  explain_buckets(e);
  explain_schedule_facts(e);
  explain_cost(e);
  explain_alternatives(e);
}

void explained_free(explained *e) {
  for (int32_t i = 0; i < e->n_facts; i++)
    hd_strbuf_free(&e->fact[i].text);
  for (int32_t i = 0; i < e->n_alternatives; i++)
    hd_strbuf_free(&e->alternative[i].refusal);
  hd_free(e->fact);
  trial_kernel_free(&e->kernel);
  hd_module_free(e->role);
  hd_arena_free(&e->arena);
  *e = (explained){0};
}
