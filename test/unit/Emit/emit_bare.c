/* Emits each spec row alone in a kernel of its own. */
#include "emit_bare.h"

#include <string.h>

#include "Emit/emit_instruction.h"
#include "Emit/emit_llvm.h"

enum {
  NVPTX_KERNEL = 71, /* calling convention */
  SETMAXNREG = 64,   /* registers */
  HALF_SPLIT = 16,   /* columns between the halves of 16x32bx2 */
  MAP_BYTES = 128    /* fenced by fence.proxy.tensormap */
};

unsigned hd_emit_bare_version(const hd_spec_row *row, const hd_target *target) {
  unsigned least = hd_spec_min_ptx(row, target);
  return least ? hd_emit_next_ptx(least) : 0;
}

/* Begins a kernel whose parameters are those types and the result pointer. Returns the
 * parameters. */
static void begin(hd_emitter *e, const char *name, LLVMTypeRef *types, int32_t n,
                  LLVMValueRef *params) {
  types[n] = e->global_ptr;
  e->function =
      LLVMAddFunction(e->module, name, LLVMFunctionType(e->none, types, (unsigned)n + 1, false));
  LLVMSetFunctionCallConv(e->function, NVPTX_KERNEL);
  LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, e->function, ""));
  LLVMGetParams(e->function, params);
}

static void end(hd_emitter *e, LLVMValueRef const *results, int32_t n, LLVMValueRef out) {
  for (int32_t i = 0; i < n; i++) {
    LLVMValueRef at = hd_emit_global_at(e, out, hd_emit_i64(e, 8 * i));
    LLVMBuildStore(e->b, results[i], at);
  }
  LLVMBuildRetVoid(e->b);
}

/* ---- inline asm ---- */

static void by_asm(hd_emitter *e, const hd_spec_row *row) {
  LLVMTypeRef types[HD_MAX_EMIT_ARGS + 1];
  LLVMValueRef params[HD_MAX_EMIT_ARGS + 1], results[HD_MAX_EMIT_ARGS];
  int32_t n = hd_emit_row_inputs(e, row, types);
  begin(e, row->name, types, n, params);
  hd_emit_row_asm(e, row, params, NULL, 0, results);
  end(e, results, hd_emit_row_results(e, row, types), params[n]);
}

/* ---- intrinsics ---- */

/* LLVM's number for a tcgen05 kind. */
static int64_t kind_number(const hd_spec_row *row) {
  static const char *const kinds[] = {"f16", "tf32", "f8f6f4", "i8"};
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    if (!strcmp(kinds[i], row->kind))
      return (int64_t)i;
  return 0;
}

static bool has(const hd_spec_row *row, const char *word) { return strstr(row->ptx, word) != NULL; }

/* Returns an immediate argument, counted from the last one. tcgen05.mma.sp ends in (kind,)
 * cta_group, collector; tcgen05.ld and st end in (split, …) is_packed; copies that can multicast
 * end in (is_multicast, has_hint,) or (is_multicast, has_hint, cta_group). */
static int64_t immediate(const hd_spec_row *row, unsigned from_end) {
  if (row->family == HD_FAMILY_TCGEN05_SP)
    return from_end == 2 ? row->cta_group : from_end == 3 ? kind_number(row) : 0;
  if (row->family == HD_FAMILY_TCGEN05)
    return from_end == 1 ? has(row, "pack::16b") : HALF_SPLIT;
  if (row->family == HD_FAMILY_SYNC)
    return has(row, "setmaxnreg") ? SETMAXNREG : MAP_BYTES;
  bool is_tensor = has(row, ".tensor.");
  if (is_tensor && from_end == 1)
    return row->cta_group;
  return has(row, ".multicast::cluster") && from_end == (is_tensor ? 3 : 2);
}

static bool is_immediate(LLVMValueRef function, unsigned i) {
  unsigned kind = LLVMGetEnumAttributeKindForName("immarg", 6);
  return LLVMGetEnumAttributeAtIndex(function, i + 1, kind) != NULL;
}

/* An overloaded intrinsic is overloaded on a pointer to shared memory. */
static LLVMValueRef declare(hd_emitter *e, const char *name) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) {
    hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.intrinsic", "LLVM has no intrinsic %s",
             name);
    e->failed = true;
    return NULL;
  }
  return LLVMGetIntrinsicDeclaration(e->module, id, &e->shared_ptr, LLVMIntrinsicIsOverloaded(id));
}

/* The results of an intrinsic: none, one, or a structure. */
static int32_t take_results(hd_emitter *e, LLVMValueRef call, LLVMValueRef *results) {
  LLVMTypeRef type = LLVMTypeOf(call);
  if (LLVMGetTypeKind(type) == LLVMVoidTypeKind)
    return 0;
  results[0] = call;
  if (LLVMGetTypeKind(type) != LLVMStructTypeKind)
    return 1;
  int32_t n = (int32_t)LLVMCountStructElementTypes(type);
  for (int32_t i = 0; i < n; i++)
    results[i] = LLVMBuildExtractValue(e->b, call, (unsigned)i, "");
  return n;
}

static void by_intrinsic(hd_emitter *e, const hd_spec_row *row) {
  LLVMTypeRef types[HD_MAX_EMIT_ARGS + 1], variable[HD_MAX_EMIT_ARGS + 1];
  LLVMValueRef params[HD_MAX_EMIT_ARGS + 1], args[HD_MAX_EMIT_ARGS], results[HD_MAX_EMIT_ARGS];
  LLVMValueRef callee = declare(e, row->llvm_intrinsic);
  if (!callee)
    return;
  LLVMTypeRef type = LLVMGlobalGetValueType(callee);
  unsigned n = LLVMCountParamTypes(type);
  int32_t n_variable = 0;
  LLVMGetParamTypes(type, types);
  for (unsigned i = 0; i < n; i++)
    if (!is_immediate(callee, i))
      variable[n_variable++] = types[i];
  begin(e, row->name, variable, n_variable, params);
  LLVMValueRef *next = params, out = params[n_variable];
  for (unsigned i = 0; i < n; i++)
    args[i] = is_immediate(callee, i)
                  ? LLVMConstInt(types[i], (uint64_t)immediate(row, n - i), false)
                  : *next++;
  LLVMValueRef call = LLVMBuildCall2(e->b, type, callee, args, n, "");
  int32_t n_results = take_results(e, call, results);
  end(e, results, n_results, out);
}

/* ---- module ---- */

static heddle_status emit_rows(hd_emitter *e, const hd_spec_row *const *rows, size_t n_rows) {
  for (size_t i = 0; i < n_rows && !e->failed; i++) {
    char reason[256] = "";
    hd_legal_query query = {e->target, (uint16_t)e->ptx_version, -1};
    if (hd_spec_legal(rows[i], &query, reason, sizeof reason) != HD_LEGAL)
      return hd_error(e->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "emit.row", "%s: %s", rows[i]->name,
                      reason);
    (rows[i]->llvm_intrinsic ? by_intrinsic : by_asm)(e, rows[i]);
  }
  return e->failed ? HEDDLE_INTERNAL : HEDDLE_OK;
}

heddle_status hd_emit_bare_rows(heddle_context *ctx, const hd_target *target, unsigned ptx_version,
                                const hd_spec_row *const *rows, size_t n_rows, char **ptx,
                                size_t *n_bytes) {
  hd_emitter e = {.ctx = ctx, .target = target, .ptx_version = (int32_t)ptx_version};
  HD_TRY(hd_emit_open(&e));
  heddle_status status = emit_rows(&e, rows, n_rows);
  if (status == HEDDLE_OK)
    status = hd_emit_codegen(&e, ptx, n_bytes);
  hd_emit_close(&e);
  hd_arena_free(&e.arena);
  return status;
}
