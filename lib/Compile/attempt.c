/* One attempt to compile: passes, emission, assembly, and the cache. */
#include "Compile/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Compile/bucket_kernels.h"
#include "Compile/cache_key.h"
#include "Compile/combine_kernel.h"
#include "Compile/compiled.h"
#include "Compile/copy_kernel.h"
#include "Compile/manifest_make.h"
#include "Emit/emit.h"
#include "Passes/front.h"
#include "Schedule/resources.h"
#include "Runtime/kernel_cache.h"
#include "heddle/version.h"
#include "Support/memory.h"

static char *header_text(const hd_front *f, const char *schedule, hd_arena *arena) {
  hd_strbuf problem = {0};
  hd_print_op(f->problem.kernel, &problem);
  char *text = hd_arena_printf(
      arena, "Heddle %s. D = epilogue(A_sparse x B).\nschedule: %s\ninstruction: %s\n%s",
      HEDDLE_VERSION, schedule,
      hd_op_str(f->problem.matmul, HD_ATTR_ROW), hd_strbuf_text(&problem));
  hd_strbuf_free(&problem);
  return text;
}

/* Each bucket has at most two kernels, since store=permuted and staged have conditions on D. The
 * last one has three more, which gather B; then one more kernel copies B or combines columns. */
_Static_assert(2 * HD_MOST_BUCKETS + 3 + 1 <= HD_MAX_VARIANTS, "room for all kernels");

/* Finds the plan of each kernel, in order. If B is copied or columns are combined, adds the kernel
 * that does so at the end. That kernel has no plan. */
static heddle_status find_plans(heddle_context *ctx, const hd_problem *p, hd_module *module,
                                const hd_plan *plans[HD_MAX_VARIANTS + 1]) {
  int32_t n = 0;
  bool copied = false;
  HD_FOR_OPS(kernel, module->body) {
    hd_plan *plan;
    HD_TRY(hd_plan_of(ctx, module, kernel, &plan));
    if (n == HD_MAX_VARIANTS)
      return HD_BUG(ctx, "more kernels than variants");
    copied |= plan->s.b_path == HD_B_COPIED;
    plans[n++] = plan;
  }
  plans[n] = NULL;
  if ((copied || p->combine) && n == HD_MAX_VARIANTS)
    return HD_BUG(ctx, "more kernels than variants");
  if (p->combine)
    return hd_combine_kernel_add(ctx, p, module);
  return copied ? hd_copy_kernel_add(ctx, p, module) : HEDDLE_OK;
}

/* ---- buckets that were chosen ---- */

/* The last kernel has no upper limit (at_most). */
static int32_t bucket_of(const hd_attempt *a, const hd_op *kernel) {
  const hd_bucket_plan *plan = &a->chosen->plan;
  int64_t to = hd_op_int(kernel, HD_ATTR_AT_MOST, 0);
  int32_t i = 0;
  while (i + 1 < plan->n && plan->list[i].to != to)
    i++;
  return i;
}

/* Records in the manifest the first choice of each variant whose bucket fell back. */
static void name_first(const hd_attempt *a, const hd_plan *const *plans, hd_arena *arena,
                       hd_manifest *m) {
  char words[HD_SCHEDULE_TEXT];
  for (int32_t v = 0; a->chosen && v < m->n_variants && plans[v]; v++) {
    int32_t i = bucket_of(a, plans[v]->p.kernel);
    if (!a->chosen->fell_back[i])
      continue;
    hd_schedule_print(&a->chosen->first[i], words);
    m->variant[v].instead_of = hd_arena_strdup(arena, words);
  }
}

static heddle_status build(hd_pass_context *pass, const hd_front *f,
                           const heddle_compile_options *options, hd_hash hash,
                           heddle_compiled *c, hd_attempt *a) {
  heddle_context *ctx = pass->ctx;
  /* The header describes the problem, which the passes are about to rewrite. */
  char *header = header_text(f, c->schedule, &c->arena);
  HD_TRY(hd_run_pipeline(pass, f->module, &(hd_pipeline_options){.start_after = f->last_pass}));
  const hd_plan *plans[HD_MAX_VARIANTS + 1];
  HD_TRY(find_plans(ctx, &f->problem, f->module, plans));
  hd_emit_options emit = {.ptx_version = f->problem.target->llvm_ptx,
                          .header = header,
                          .n_threads = options->n_threads,
                          .user = {options->user_epilogue, options->user_epilogue_bytes,
                                   options->epilogue_worker}};
  hd_emit_result emitted = {0};
  HD_TRY(hd_emit_ptx(ctx, f->module, &emit, &emitted));
  hd_manifest manifest;
  heddle_status status = hd_manifest_make(ctx, &f->problem, plans, &emitted, hash,
                                          &c->arena, &manifest);
  char *ptx = emitted.ptx;
  emitted.ptx = NULL;
  hd_gated gated = {0};
  if (status == HEDDLE_OK) {
    name_first(a, plans, &c->arena, &manifest);
    status = hd_compiled_finish(ctx, options->ptxas, &manifest, ptx, emitted.n_bytes, c,
                                a->chosen && !a->is_last ? &gated : NULL);
  } else {
    hd_free(ptx);
  }
  if (gated.any) {
    a->refusal.any = true;
    snprintf(a->refusal.why, sizeof a->refusal.why, "%s", gated.why);
    for (int32_t v = 0; plans[v]; v++)
      if (gated.variant[v])
        a->refusal.bucket[bucket_of(a, plans[v]->p.kernel)] = true;
  }
  hd_emit_result_free(&emitted);
  return status;
}

static heddle_status check_user(heddle_context *ctx, const hd_front *f,
                                const heddle_compile_options *options) {
  if (f->problem.user && !options->user_epilogue)
    return hd_error(ctx, HEDDLE_INVALID, f->problem.epilogue->loc, "epilogue.user",
                    "the epilogue calls @%s, but no LLVM IR or bitcode that defines it was given",
                    f->problem.user);
  if (!f->problem.user && options->user_epilogue)
    return hd_error(ctx, HEDDLE_INVALID, f->problem.store->loc, "epilogue.user",
                    "an epilogue function was given, but the problem calls none; nearest: epilogue "
                    "%%x {act = user, user = \"NAME\"}");
  return HEDDLE_OK;
}

/* Caches an entry. Adds only a note if the cache cannot be written, since no result is lost. */
static void keep(heddle_context *ctx, const char *folder, hd_hash key,
                 const hd_cache_entry *entry) {
  heddle_context *said = heddle_context_create();
  if (hd_cache_put(said, folder, key, entry) != HEDDLE_OK) {
    const heddle_diagnostic *d = hd_first_error(said);
    hd_note(ctx, (hd_loc){.file = d && d->file ? d->file : folder}, "cache.write",
            "the kernel is compiled, but could not be cached: %s", d ? d->text : "no memory");
  }
  heddle_context_free(said);
}

/* Warns of an emulated instruction. Its results are correct, but it is very slow. */
static void warn_emulated(heddle_context *ctx, const hd_front *f) {
  const char *target = f->problem.target->name;
  bool plain = !strpbrk(target, "af");
  if (hd_problem_is_emulated(&f->problem) && hd_schedule_is_mma(&f->schedule))
    hd_warning(ctx, f->problem.matmul->loc, "schedule.emulated",
               "ptxas emulates mma.sp of %s on %s, which is much slower than f16; nearest: %s%s%s",
               heddle_elem_get(f->problem.a_elem)->name, target,
               plain ? "target " : "the default family", plain ? target : "", plain ? "a" : "");
}

/* If the schedule is a plan of several buckets, creates a kernel for each of them. */
static heddle_status split_buckets(hd_pass_context *pass, hd_front *f, const hd_chosen *chosen) {
  hd_bucket_plan plan;
  const hd_op *kernel = f->problem.kernel;
  const char *own = hd_op_str(kernel, HD_ATTR_SCHEDULE);
  bool over = hd_bucket_plan_is(pass->schedule_text);
  if (f->module->level != HD_LEVEL_PROBLEM)
    return HEDDLE_OK;
  if (chosen)
    return hd_bucket_kernels(pass->ctx, f->module, &chosen->plan);
  if (!over && !hd_bucket_plan_is(own))
    return HEDDLE_OK;
  HD_TRY(hd_bucket_plan_parse(pass->ctx, kernel->loc, over ? pass->schedule_text : own, &plan));
  if (over)
    pass->schedule_text = NULL;
  return hd_bucket_kernels(pass->ctx, f->module, &plan);
}

/* ---- an attempt ---- */

static heddle_status list_schedules(heddle_context *ctx, hd_module *module, hd_attempt *a) {
  hd_plan *plan;
  HD_FOR_OPS(kernel, module->body) {
    HD_TRY(hd_plan_of(ctx, module, kernel, &plan));
    a->schedule[bucket_of(a, kernel)] = plan->s;
  }
  return HEDDLE_OK;
}

/* Refusals by ptxas are cached too, under the same key: without PTX, with the refused buckets. */
static const char refused_word[] = "refused";

static void keep_refusal(heddle_context *ctx, const char *folder, hd_hash key,
                         const hd_refusal *refusal) {
  hd_strbuf text = {0};
  hd_strbuf_add(&text, refused_word);
  for (int32_t i = 0; i < HD_MOST_BUCKETS; i++)
    if (refusal->bucket[i])
      hd_strbuf_printf(&text, " %d", i);
  hd_cache_entry entry = {.manifest_json = hd_strbuf_text(&text), .manifest_bytes = text.len};
  keep(ctx, folder, key, &entry);
  hd_strbuf_free(&text);
}

static void read_refusal(const char *text, hd_refusal *refusal) {
  char *end;
  *refusal = (hd_refusal){.any = true};
  for (text += strlen(refused_word); *text; text = end) {
    long i = strtol(text, &end, 10);
    if (end == text || i < 0 || i >= HD_MOST_BUCKETS)
      break;
    refusal->bucket[i] = true;
  }
}

/* Looks up the attempt. HEDDLE_UNSUPPORTED: it was refused. Cached refusals of an author's schedule
 * and of the last attempt are ignored, so that ptxas runs again and its message is reported. */
static heddle_status get(const char *folder, hd_hash key, heddle_compiled *c, hd_attempt *a) {
  HD_TRY(hd_cache_get(folder, key, &c->entry));
  if (c->entry.ptx)
    return HEDDLE_OK;
  if (a->chosen && !a->is_last)
    read_refusal(c->entry.manifest_json, &a->refusal);
  hd_cache_entry_free(&c->entry);
  return a->refusal.any ? HEDDLE_UNSUPPORTED : HEDDLE_NOT_FOUND;
}

/* Adds the first choices of buckets that fell back to the key, because manifests contain them. */
static hd_hash fold_first(hd_hash key, const hd_chosen *chosen) {
  for (int32_t i = 0; chosen && i < chosen->plan.n; i++) {
    char words[HD_SCHEDULE_TEXT];
    if (!chosen->fell_back[i])
      continue;
    hd_schedule_print(&chosen->first[i], words);
    key = hd_hash_combine(key, hd_hash_bytes(&i, sizeof i));
    key = hd_hash_combine(key, hd_hash_bytes(words, strlen(words)));
  }
  return key;
}

/* The cache key is computed from the module of the front end, before any pass has chosen memory or
 * synchronisation. */
static heddle_status find_or_build(hd_pass_context *pass, hd_front *f,
                                   const heddle_compile_options *options, hd_attempt *a,
                                   heddle_compiled *c) {
  HD_TRY(split_buckets(pass, f, a->chosen));
  HD_TRY(hd_front_choose(pass, f));
  HD_TRY(check_user(pass->ctx, f, options));
  if (a->chosen)
    HD_TRY(list_schedules(pass->ctx, f->module, a));
  bool fell_back = false;
  for (int32_t i = 0; a->chosen && i < a->chosen->plan.n; i++)
    fell_back |= a->chosen->fell_back[i];
  if (!fell_back)
    warn_emulated(pass->ctx, f);
  hd_hash hash = hd_kernel_hash(f->module, options), key;
  c->name = hd_arena_strdup(&c->arena, hd_op_str(f->problem.kernel, HD_ATTR_NAME));
  hd_strbuf schedules = {0};
  heddle_status status = hd_bucket_kernels_print(pass->ctx, f->module, &schedules);
  c->schedule = hd_arena_strdup(&c->arena, hd_strbuf_text(&schedules));
  hd_strbuf_free(&schedules);
  HD_TRY(status);
  bool cached = hd_cache_key(hash, options, &key);
  key = fold_first(key, a->chosen);
  heddle_status found = cached ? get(options->cache, key, c, a) : HEDDLE_NOT_FOUND;
  if (found != HEDDLE_NOT_FOUND)
    return found;
  uint64_t before = hd_memory_shortages();
  status = hd_memory_status(pass->ctx, before, build(pass, f, options, hash, c, a));
  if (cached && a->refusal.any)
    keep_refusal(pass->ctx, options->cache, key, &a->refusal);
  HD_TRY(status);
  if (cached)
    keep(pass->ctx, options->cache, key, &c->entry);
  return HEDDLE_OK;
}

heddle_status hd_compile_attempt(heddle_context *ctx, hd_front *front,
                                 const heddle_compile_options *options, hd_attempt *a,
                                 heddle_compiled **compiled) {
  hd_pass_context pass = {.ctx = ctx,
                          .target = options->target,
                          .schedule_text = a->chosen ? NULL : options->schedule,
                          .n_threads = options->n_threads};
  uint64_t before = hd_memory_shortages();
  heddle_compiled *c = hd_try_zalloc(ctx, sizeof *c, "a kernel");
  heddle_status status = c ? find_or_build(&pass, front, options, a, c) : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK && a->chosen && a->chosen->load)
    status = a->chosen->load(ctx, a->chosen->load_user, c, &a->refusal);
  if (status == HEDDLE_OK && a->refusal.any) {
    status = HEDDLE_UNSUPPORTED;
    if (a->is_last) {
      a->refusal.any = false;
      hd_error(ctx, status, HD_NOWHERE, "kernel.gate", "%s", a->refusal.why);
    }
  }
  hd_front_free(front);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *compiled = c;
  else
    heddle_compiled_free(c);
  return status;
}
