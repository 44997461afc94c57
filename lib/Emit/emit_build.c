/* Helpers of emission: arithmetic, addresses, intrinsics, inline asm. */
#include <string.h>

#include "Emit/emit_state.h"

LLVMValueRef hd_emit_i32(hd_emitter *e, int64_t value) {
  return LLVMConstInt(e->i32, (uint64_t)value, true);
}

LLVMValueRef hd_emit_i64(hd_emitter *e, int64_t value) {
  return LLVMConstInt(e->i64, (uint64_t)value, true);
}

LLVMValueRef hd_emit_add(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(e->b, a, b, "");
}

LLVMValueRef hd_emit_sub(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(e->b, a, b, "");
}

LLVMValueRef hd_emit_mul(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildMul(e->b, a, b, "");
}

static LLVMValueRef like(LLVMValueRef a, int64_t value) {
  return LLVMConstInt(LLVMTypeOf(a), (uint64_t)value, true);
}

LLVMValueRef hd_emit_addi(hd_emitter *e, LLVMValueRef a, int64_t b) {
  return b ? LLVMBuildAdd(e->b, a, like(a, b), "") : a;
}

LLVMValueRef hd_emit_muli(hd_emitter *e, LLVMValueRef a, int64_t b) {
  return b == 1 ? a : LLVMBuildMul(e->b, a, like(a, b), "");
}

LLVMValueRef hd_emit_divi(hd_emitter *e, LLVMValueRef a, int64_t b) {
  return b == 1 ? a : LLVMBuildUDiv(e->b, a, like(a, b), "");
}

LLVMValueRef hd_emit_remi(hd_emitter *e, LLVMValueRef a, int64_t b) {
  return b == 1 ? like(a, 0) : LLVMBuildURem(e->b, a, like(a, b), "");
}

LLVMValueRef hd_emit_xor(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildXor(e->b, a, b, "");
}

LLVMValueRef hd_emit_and(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(e->b, a, b, "");
}

LLVMValueRef hd_emit_lt(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, a, b, "");
}

LLVMValueRef hd_emit_eqi(hd_emitter *e, LLVMValueRef a, int64_t b) {
  return LLVMBuildICmp(e->b, LLVMIntEQ, a, like(a, b), "");
}

LLVMValueRef hd_emit_select(hd_emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->b, c, a, b, "");
}

LLVMValueRef hd_emit_min(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return hd_emit_intrinsic_of(e, "llvm.smin", LLVMTypeOf(a), (LLVMValueRef[]){a, b}, 2);
}

LLVMValueRef hd_emit_max(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return hd_emit_intrinsic_of(e, "llvm.smax", LLVMTypeOf(a), (LLVMValueRef[]){a, b}, 2);
}

LLVMValueRef hd_emit_widen(hd_emitter *e, LLVMValueRef a) {
  return LLVMTypeOf(a) == e->i64 ? a : LLVMBuildSExt(e->b, a, e->i64, "");
}

LLVMValueRef hd_emit_fma(hd_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return hd_emit_intrinsic_of(e, "llvm.fma", e->f32, (LLVMValueRef[]){a, b, c}, 3);
}

/* ---- addresses ---- */

LLVMValueRef hd_emit_shared_ptr(hd_emitter *e, LLVMValueRef address, unsigned space) {
  return LLVMBuildIntToPtr(e->b, address, space == HD_AS_CLUSTER ? e->cluster_ptr : e->shared_ptr,
                           "");
}

LLVMValueRef hd_emit_global_at(hd_emitter *e, LLVMValueRef ptr, LLVMValueRef bytes) {
  return LLVMBuildGEP2(e->b, e->i8, ptr, &bytes, 1, "");
}

LLVMValueRef hd_emit_slot(hd_emitter *e, const hd_value *item, const hd_value *cursor,
                          int64_t bytes) {
  LLVMValueRef slot = hd_emit_get(e, cursor, NULL)[0];
  return hd_emit_add(e, hd_emit_get1(e, item), hd_emit_muli(e, slot, bytes));
}

const hd_op *hd_emit_def(const hd_value *value) { return value->op; }

/* ---- calls ---- */

LLVMValueRef hd_emit_bitcast(hd_emitter *e, LLVMValueRef value, LLVMTypeRef type) {
  return LLVMTypeOf(value) == type ? value : LLVMBuildBitCast(e->b, value, type, "");
}

static LLVMValueRef unknown_intrinsic(hd_emitter *e, const char *name) {
  hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.intrinsic", "LLVM has no intrinsic %s", name);
  e->failed = true;
  return LLVMGetUndef(e->i32);
}

static LLVMValueRef call(hd_emitter *e, const char *name, LLVMTypeRef *over, size_t n_over,
                         LLVMValueRef const *args, int32_t n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (id == 0)
    return unknown_intrinsic(e, name);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, id, over, n_over);
  LLVMTypeRef type = LLVMGlobalGetValueType(function), params[64];
  if (LLVMCountParamTypes(type) != (unsigned)n || n > 64)
    return unknown_intrinsic(e, name);
  LLVMGetParamTypes(type, params);
  LLVMValueRef cast[64];
  for (int32_t i = 0; i < n; i++)
    cast[i] = hd_emit_bitcast(e, args[i], params[i]);
  return LLVMBuildCall2(e->b, type, function, cast, (unsigned)n, "");
}

LLVMValueRef hd_emit_intrinsic(hd_emitter *e, const char *name, LLVMValueRef const *args,
                               int32_t n) {
  return call(e, name, NULL, 0, args, n);
}

LLVMValueRef hd_emit_intrinsic_of(hd_emitter *e, const char *name, LLVMTypeRef type,
                                  LLVMValueRef const *args, int32_t n) {
  return call(e, name, &type, 1, args, n);
}

static void mark(hd_emitter *e, LLVMValueRef made, const char *attribute) {
  unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
  LLVMAddCallSiteAttribute(made, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(e->llvm, kind, 0));
}

LLVMValueRef hd_emit_asm(hd_emitter *e, LLVMTypeRef result, const char *text,
                         const char *constraints, LLVMValueRef const *args, int32_t n,
                         hd_asm_kind kind) {
  LLVMTypeRef types[HD_MAX_EMIT_ARGS];
  for (int32_t i = 0; i < n; i++)
    types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, false);
  char *all = hd_arena_printf(&e->arena, "%s%s", constraints,
                              kind != HD_ASM_MEMORY ? ""
                              : *constraints        ? ",~{memory}"
                                                    : "~{memory}");
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), all, strlen(all),
                                       kind != HD_ASM_PURE, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef made = LLVMBuildCall2(e->b, type, code, (LLVMValueRef *)args, (unsigned)n, "");
  mark(e, made, "convergent");
  mark(e, made, "nounwind");
  return made;
}

void hd_emit_asm_registers(hd_emitter *e, const char *text, const char *constraints,
                           LLVMValueRef const *args, int32_t n, hd_asm_kind kind,
                           LLVMTypeRef *types, int32_t n_results, LLVMValueRef *results) {
  LLVMTypeRef type = n_results == 0 ? e->none
                     : n_results == 1
                         ? types[0]
                         : LLVMStructTypeInContext(e->llvm, types, (unsigned)n_results, 0);
  LLVMValueRef all = hd_emit_asm(e, type, text, constraints, args, n, kind);
  for (int32_t i = 0; i < n_results; i++)
    results[i] = n_results == 1 ? all : LLVMBuildExtractValue(e->b, all, (unsigned)i, "");
}

void hd_emit_tie(hd_emitter *e, const char *text, const hd_value *from, const hd_value *to) {
  int32_t n;
  LLVMValueRef *v = hd_emit_get(e, from, &n);
  LLVMValueRef *tied = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  LLVMTypeRef *types = HD_NEW_ARRAY(&e->arena, LLVMTypeRef, n);
  hd_strbuf constraints = {0};
  for (int32_t i = 0; i < n; i++)
    types[i] = LLVMTypeOf(v[i]);
  for (int32_t i = 0; i < n; i++)
    hd_strbuf_printf(&constraints, "%s=%c", i ? "," : "", types[i] == e->f32 ? 'f' : 'r');
  for (int32_t i = 0; i < n; i++)
    hd_strbuf_printf(&constraints, ",%d", i);
  hd_emit_asm_registers(e, text, hd_strbuf_text(&constraints), v, n, HD_ASM_MEMORY, types, n, tied);
  hd_emit_set(e, to, tied, n);
  hd_strbuf_free(&constraints);
}

LLVMValueRef hd_emit_index(hd_emitter *e, LLVMValueRef at, LLVMValueRef left, int64_t i) {
  const char *text = hd_arena_printf(&e->arena,
                                     "{ .reg .pred in;\n\tsetp.gt.s32 in, $2, %lld;\n\t"
                                     "mov.b32 $0, -1;\n\t@in ld.global.b32 $0, [$1+%lld]; }",
                                     (long long)i, (long long)(4 * i));
  return hd_emit_asm(e, e->i32, text, "=&r,l,r", (LLVMValueRef[]){at, left}, 2, HD_ASM_MEMORY);
}

static LLVMValueRef shfl_in(hd_emitter *e, const char *name, LLVMValueRef value, int32_t which,
                            int32_t last) {
  LLVMValueRef args[] = {hd_emit_i32(e, -1), value, hd_emit_i32(e, which), hd_emit_i32(e, last)};
  return hd_emit_intrinsic(e, name, args, 4);
}

static LLVMValueRef shfl(hd_emitter *e, const char *name, LLVMValueRef value, int32_t which) {
  return shfl_in(e, name, value, which, HD_LANES - 1);
}

LLVMValueRef hd_emit_shfl_up(hd_emitter *e, LLVMValueRef value, int32_t by) {
  return shfl_in(e, "llvm.nvvm.shfl.sync.up.i32", value, by, 0);
}

LLVMValueRef hd_emit_shfl_idx(hd_emitter *e, LLVMValueRef value, int32_t from) {
  return shfl(e, "llvm.nvvm.shfl.sync.idx.i32", value, from);
}

LLVMValueRef hd_emit_shfl_from(hd_emitter *e, LLVMValueRef value, LLVMValueRef from) {
  LLVMValueRef args[] = {hd_emit_i32(e, -1), value, from, hd_emit_i32(e, HD_LANES - 1)};
  return hd_emit_intrinsic(e, "llvm.nvvm.shfl.sync.idx.i32", args, 4);
}

LLVMValueRef hd_emit_shfl_xor(hd_emitter *e, LLVMValueRef value, int32_t mask) {
  return shfl(e, "llvm.nvvm.shfl.sync.bfly.i32", value, mask);
}

LLVMValueRef hd_emit_permute_by(hd_emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef bytes) {
  LLVMValueRef args[] = {x, y, bytes};
  return hd_emit_intrinsic(e, "llvm.nvvm.prmt", args, 3);
}

LLVMValueRef hd_emit_permute(hd_emitter *e, LLVMValueRef x, LLVMValueRef y, int64_t bytes) {
  return hd_emit_permute_by(e, x, y, hd_emit_i32(e, bytes));
}

/* value ^ (word & 0), where neither LLVM nor ptxas knows the 0: it is the top bit of A's address,
 * the first parameter. One LOP3. */
LLVMValueRef hd_emit_read_late(hd_emitter *e, LLVMValueRef value, LLVMValueRef word) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, LLVMGetParam(e->function, 0), e->i64, "");
  LLVMValueRef zero = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, address, hd_emit_i64(e, 63), ""),
                                     e->i32, "");
  hd_emit_return_from_entry(e, here);
  return hd_emit_xor(e, value, hd_emit_and(e, word, zero));
}
