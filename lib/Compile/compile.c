/* The façade: a problem in, PTX, cubin and manifest out. */
#include "heddle/compile.h"

#include <stdlib.h>
#include <string.h>

#include "Compile/bucket_kernels.h"
#include "Compile/cache_key.h"
#include "Compile/combine_kernel.h"
#include "Compile/compile_front.h"
#include "Compile/compiled.h"
#include "Compile/copy_kernel.h"
#include "Compile/manifest_make.h"
#include "Emit/emit.h"
#include "Emit/ptxas.h"
#include "IR/public_module.h"
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

static heddle_status assemble(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                              heddle_compiled *c) {
  if (!ptxas)
    return HEDDLE_OK;
  hd_ptxas_report report = {0};
  heddle_status status = hd_ptxas_assemble(ctx, ptxas, c->ptx, manifest->target, &c->cubin,
                                           &c->entry.cubin_bytes, &report);
  for (int32_t v = 0; v < manifest->n_variants; v++)
    for (int32_t e = 0; e < report.n_entries; e++)
      if (strcmp(report.entry[e].name, manifest->variant[v].entry) == 0)
        manifest->variant[v].n_registers = report.entry[e].registers;
  hd_ptxas_report_free(&report);
  c->entry.cubin = c->cubin;
  return status;
}

heddle_status hd_compiled_finish(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                                 char *ptx, size_t n_bytes, heddle_compiled *c) {
  c->entry.ptx = c->ptx = ptx;
  c->entry.ptx_bytes = n_bytes;
  HD_TRY(assemble(ctx, ptxas, manifest, c));
  hd_manifest_name_code(manifest, &(heddle_image){c->entry.cubin, c->entry.cubin_bytes,
                                                  c->entry.ptx, c->entry.ptx_bytes});
  HD_TRY(hd_manifest_write(ctx, manifest, &c->json));
  c->entry.manifest_json = c->json;
  c->entry.manifest_bytes = strlen(c->json);
  return HEDDLE_OK;
}

/* One a kernel, in their order. Where some read a copy of B, or store columns that are combined,
 * the kernel that does that comes last, and has none. */
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

static heddle_status build(hd_pass_context *pass, const hd_front *f,
                           const heddle_compile_options *options, hd_hash hash,
                           heddle_compiled *c) {
  heddle_context *ctx = pass->ctx;
  /* Of the problem, before passes take it apart. */
  char *header = header_text(f, c->schedule, &c->arena);
  HD_TRY(hd_run_pipeline(pass, f->module, &(hd_pipeline_options){.start_after = f->last_pass}));
  const hd_plan *plans[HD_MAX_VARIANTS + 1];
  HD_TRY(find_plans(ctx, &f->problem, f->module, plans));
  hd_emit_options emit = {.ptx_version = f->problem.target->llvm_ptx,
                          .header = header,
                          .user = {options->user_epilogue, options->user_epilogue_bytes,
                                   options->epilogue_worker}};
  hd_emit_result emitted = {0};
  HD_TRY(hd_emit_ptx(ctx, f->module, &emit, &emitted));
  hd_manifest manifest;
  heddle_status status = hd_manifest_make(ctx, &f->problem, plans, &emitted, hash,
                                          &c->arena, &manifest);
  char *ptx = emitted.ptx;
  emitted.ptx = NULL;
  if (status == HEDDLE_OK)
    status = hd_compiled_finish(ctx, options->ptxas, &manifest, ptx, emitted.n_bytes, c);
  else
    hd_free(ptx);
  hd_emit_result_free(&emitted);
  return status;
}

static heddle_status check_user(heddle_context *ctx, const hd_front *f,
                                const heddle_compile_options *options) {
  if (f->problem.user && !options->user_epilogue)
    return hd_error(ctx, HEDDLE_INVALID, f->problem.epilogue->loc, "epilogue.user",
                    "the epilogue calls @%s, and no LLVM IR or bitcode that defines it was given",
                    f->problem.user);
  if (!f->problem.user && options->user_epilogue)
    return hd_error(ctx, HEDDLE_INVALID, f->problem.store->loc, "epilogue.user",
                    "an epilogue function was given, and the problem calls none; nearest: epilogue "
                    "%%x {act = user, user = \"NAME\"}");
  return HEDDLE_OK;
}

/* A cache that cannot be written costs time and nothing else. */
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

/* Right, and so slow that it is hardly meant. */
static void warn_emulated(heddle_context *ctx, const hd_front *f) {
  const char *target = f->problem.target->name;
  bool plain = !strpbrk(target, "af");
  if (hd_problem_is_emulated(&f->problem) && hd_schedule_is_mma(&f->schedule))
    hd_warning(ctx, f->problem.matmul->loc, "schedule.emulated",
               "ptxas emulates mma.sp of %s on %s, far slower than f16's; nearest: %s%s%s",
               heddle_elem_get(f->problem.a_elem)->name, target,
               plain ? "target " : "the default family", plain ? target : "", plain ? "a" : "");
}

static heddle_status print_schedules(heddle_context *ctx, hd_module *module, hd_arena *arena,
                                     const char **schedules) {
  hd_strbuf text = {0};
  heddle_status status = hd_bucket_kernels_print(ctx, module, &text);
  *schedules = hd_arena_strdup(arena, hd_strbuf_text(&text));
  hd_strbuf_free(&text);
  return status;
}

/* Where the schedule is a plan of several buckets, the module gets a kernel for each. */
static heddle_status split_buckets(hd_pass_context *pass, hd_front *f,
                                   const hd_bucket_plan *chosen) {
  hd_bucket_plan plan;
  const hd_op *kernel = f->problem.kernel;
  const char *own = hd_op_str(kernel, HD_ATTR_SCHEDULE);
  bool over = hd_bucket_plan_is(pass->schedule_text);
  if (f->module->level != HD_LEVEL_PROBLEM)
    return HEDDLE_OK;
  if (chosen)
    return hd_bucket_kernels(pass->ctx, f->module, chosen);
  if (!over && !hd_bucket_plan_is(own))
    return HEDDLE_OK;
  HD_TRY(hd_bucket_plan_parse(pass->ctx, kernel->loc, over ? pass->schedule_text : own, &plan));
  if (over)
    pass->schedule_text = NULL;
  return hd_bucket_kernels(pass->ctx, f->module, &plan);
}

/* What the front end knows, before any pass has chosen memory or sync, is the cache key's
 * material. */
static heddle_status find_or_build(hd_pass_context *pass, hd_front *f, const hd_bucket_plan *chosen,
                                   const heddle_compile_options *options, heddle_compiled *c) {
  HD_TRY(split_buckets(pass, f, chosen));
  HD_TRY(hd_front_choose(pass, f));
  HD_TRY(check_user(pass->ctx, f, options));
  warn_emulated(pass->ctx, f);
  hd_hash hash = hd_kernel_hash(f->module, options), key;
  c->name = hd_arena_strdup(&c->arena, hd_op_str(f->problem.kernel, HD_ATTR_NAME));
  HD_TRY(print_schedules(pass->ctx, f->module, &c->arena, &c->schedule));
  bool cached = hd_cache_key(hash, options, &key);
  if (cached && hd_cache_get(options->cache, key, &c->entry) == HEDDLE_OK)
    return HEDDLE_OK;
  uint64_t before = hd_memory_shortages();
  HD_TRY(hd_memory_status(pass->ctx, before, build(pass, f, options, hash, c)));
  if (cached)
    keep(pass->ctx, options->cache, key, &c->entry);
  return HEDDLE_OK;
}

heddle_status hd_compile_front(heddle_context *ctx, hd_front *front, const hd_bucket_plan *chosen,
                               const heddle_compile_options *options, heddle_compiled **compiled) {
  static const heddle_compile_options defaults = {0};
  options = options ? options : &defaults;
  hd_pass_context pass = {
      .ctx = ctx, .target = options->target, .schedule_text = chosen ? NULL : options->schedule};
  uint64_t before = hd_memory_shortages();
  heddle_compiled *c = hd_try_zalloc(ctx, sizeof *c, "a kernel");
  heddle_status status = c ? find_or_build(&pass, front, chosen, options, c) : HEDDLE_NO_MEMORY;
  hd_front_free(front);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *compiled = c;
  else
    heddle_compiled_free(c);
  return status;
}

/* module is consumed. */
static heddle_status compile_module(heddle_context *ctx, hd_module *module,
                                    const heddle_compile_options *options,
                                    heddle_compiled **compiled) {
  hd_pass_context pass = {.ctx = ctx, .target = options ? options->target : NULL};
  hd_front front;
  HD_TRY(hd_front_read(&pass, module, &front));
  return hd_compile_front(ctx, &front, NULL, options, compiled);
}

heddle_status heddle_compile(heddle_context *ctx, const char *file, const char *text,
                             size_t text_bytes, const heddle_compile_options *options,
                             heddle_compiled **compiled) {
  hd_module *module = NULL;
  HD_TRY(hd_parse(ctx, file, text, text_bytes, &module));
  return compile_module(ctx, module, options, compiled);
}

heddle_status heddle_compile_module(heddle_context *ctx, const heddle_module *module,
                                    const heddle_compile_options *options,
                                    heddle_compiled **compiled) {
  hd_module *copy;
  HD_TRY(hd_module_copy(ctx, module->ir, &copy));
  return compile_module(ctx, copy, options, compiled);
}

void heddle_compiled_free(heddle_compiled *c) {
  if (!c)
    return;
  hd_cache_entry_free(&c->entry);
  hd_free(c->ptx);
  hd_free(c->json);
  hd_free(c->cubin);
  hd_arena_free(&c->arena);
  hd_free(c);
}

const char *heddle_compiled_name(const heddle_compiled *c) { return c->name; }

const char *heddle_compiled_schedule(const heddle_compiled *c) { return c->schedule; }

const char *heddle_compiled_ptx(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.ptx_bytes;
  return c->entry.ptx;
}

const void *heddle_compiled_cubin(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.cubin_bytes;
  return c->entry.cubin;
}

const char *heddle_compiled_manifest(const heddle_compiled *c, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = c->entry.manifest_bytes;
  return c->entry.manifest_json;
}
