/* All kernels of a module into one PTX text. */
#include "Emit/emit.h"

#include <string.h>

#include "Emit/emit_llvm.h"
#include "Support/memory.h"

/* The target that all kernels name. */
static heddle_status find_target(hd_emitter *e, const hd_module *module) {
  const char *name = NULL;
  HD_FOR_OPS(op, module->body) {
    const char *mine = hd_op_str(op, HD_ATTR_TARGET);
    if (op->kind != HD_OP_KERNEL || !mine)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.module",
                      "got an op that is no kernel with a target; legal: kernels with a target");
    if (name && strcmp(name, mine) != 0)
      return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.target",
                      "kernels for %s and %s in one module; legal: one target", name, mine);
    name = mine;
  }
  if (!name)
    return hd_error(e->ctx, HEDDLE_INVALID, HD_NOWHERE, "emit.module",
                    "got a module without kernel; legal: 1 or more");
  if (hd_target_parse(name, &e->target) != HEDDLE_OK)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, module->body->first->loc, "emit.target",
                    "no target %s; nearest: %s", name, hd_target_nearest(name));
  return HEDDLE_OK;
}

static heddle_status emit_kernels(hd_emitter *e, const hd_module *module) {
  HD_FOR_OPS(op, module->body) {
    uint64_t before = hd_memory_shortages();
    HD_TRY(hd_memory_status(e->ctx, before, hd_emit_one_kernel(e, op)));
    if (e->failed)
      return HEDDLE_INTERNAL;
  }
  return HEDDLE_OK;
}

static void describe(hd_emitter *e, const hd_op *op, hd_emit_result *result) {
  hd_emit_kernel *k = &result->kernel[result->n_kernels++];
  hd_shared_layout layout = {0};
  k->entry = hd_arena_strdup(&result->arena, hd_op_str(op, HD_ATTR_NAME));
  k->n_threads = (int32_t)hd_op_int(op, HD_ATTR_THREADS, 0);
  k->cluster = (int32_t)hd_op_int(op, HD_ATTR_CLUSTER, 1);
  k->param = hd_emit_params(op, &result->arena, &k->n_params);
  if (hd_shared_layout_make(e->ctx, op, &e->arena, &layout) == HEDDLE_OK)
    k->shared_bytes = (int32_t)layout.n_bytes;
}

/* The caller's text as comment lines, then the PTX. */
static void assemble_text(const char *header, char *ptx, size_t n, hd_emit_result *result) {
  hd_strbuf text = {0};
  while (header && *header) {
    size_t line = strcspn(header, "\n");
    hd_strbuf_add(&text, line ? "// " : "//");
    hd_strbuf_addn(&text, header, line);
    hd_strbuf_add(&text, "\n");
    header += line + (header[line] != 0);
  }
  hd_strbuf_addn(&text, ptx, n);
  hd_free(ptx);
  result->n_bytes = text.len;
  result->ptx = hd_strbuf_take(&text);
}

static heddle_status emit_module(hd_emitter *e, const hd_module *module, hd_emit_result *result) {
  HD_TRY(emit_kernels(e, module));
  if (e->options->keep_llvm) {
    char *text = LLVMPrintModuleToString(e->module);
    result->llvm_ir = hd_xstrdup(text);
    LLVMDisposeMessage(text);
  }
  char *ptx = NULL;
  size_t n = 0;
  HD_TRY(hd_emit_codegen(e, &ptx, &n));
  assemble_text(e->options->header, ptx, n, result);
  int32_t n_kernels = 0;
  HD_FOR_OPS(op, module->body)
    n_kernels++;
  result->kernel = HD_NEW_ARRAY(&result->arena, hd_emit_kernel, n_kernels);
  HD_FOR_OPS(op, module->body)
    describe(e, op, result);
  return HEDDLE_OK;
}

heddle_status hd_emit_ptx(heddle_context *ctx, const hd_module *module,
                          const hd_emit_options *options, hd_emit_result *result) {
  static const hd_emit_options defaults;
  hd_emitter e = {.ctx = ctx, .options = options ? options : &defaults};
  hd_emit_result made = {0};
  if (module->level != HD_LEVEL_ROLE || !module->sync_placed)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "emit.level",
                    "got level=%s sync=%s; legal: level=role sync=placed",
                    hd_level_name(module->level), module->sync_placed ? "placed" : "none");
  HD_TRY(find_target(&e, module));
  HD_TRY(hd_emit_pick_ptx(&e));
  HD_TRY(hd_emit_open(&e));
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_memory_status(ctx, before, emit_module(&e, module, &made));
  hd_emit_close(&e);
  hd_facts_free(&e.values);
  hd_arena_free(&e.arena);
  if (status == HEDDLE_OK)
    *result = made;
  else
    hd_emit_result_free(&made);
  return status;
}

void hd_emit_result_free(hd_emit_result *result) {
  if (!result)
    return;
  hd_free(result->ptx);
  hd_free(result->llvm_ir);
  hd_arena_free(&result->arena);
  *result = (hd_emit_result){0};
}
