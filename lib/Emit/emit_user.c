/* The user's epilogue function: parsed, held against an allow-list, linked, inlined. It may load,
 * never store; anything not on the lists is refused by name, since LLVM turns what the GPU lacks
 * into calls to functions that do not exist. */
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include "Emit/emit_llvm.h"

/* User functions are renamed, so that they meet no name of ours. */
#define USER_PREFIX "user."

enum { WIDEST_INTEGER = 64, MOST_FUNCTIONS = 256, MOST_CALLS = 4096, DEEPEST_CALL = 32 };

static heddle_status refuse(hd_emitter *e, const char *rule, const char *what, const char *legal) {
  return hd_error(e->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, rule, "user function: got %s; %s", what,
                  legal);
}

/* ---- the lists ---- */

static bool is_allowed_opcode(LLVMOpcode opcode) {
  switch (opcode) {
  case LLVMRet: case LLVMBr: case LLVMSwitch: case LLVMPHI: case LLVMSelect:
  case LLVMFNeg: case LLVMAdd: case LLVMFAdd: case LLVMSub: case LLVMFSub: case LLVMMul:
  case LLVMFMul: case LLVMUDiv: case LLVMSDiv: case LLVMFDiv: case LLVMURem: case LLVMSRem:
  case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor:
  case LLVMICmp: case LLVMFCmp: case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFPToUI:
  case LLVMFPToSI: case LLVMUIToFP: case LLVMSIToFP: case LLVMFPTrunc: case LLVMFPExt:
  case LLVMBitCast: case LLVMPtrToInt: case LLVMIntToPtr: case LLVMAddrSpaceCast:
  case LLVMGetElementPtr: case LLVMLoad: case LLVMCall: case LLVMFreeze: case LLVMExtractElement:
  case LLVMInsertElement: case LLVMShuffleVector: case LLVMExtractValue: case LLVMInsertValue:
    return true;
  default:
    return false;
  }
}

/* How instructions that are refused are called. */
static const char *opcode_name(LLVMOpcode opcode) {
  switch (opcode) {
  case LLVMStore: return "store";
  case LLVMAlloca: return "alloca (compile it with optimisation)";
  case LLVMFence: return "fence";
  case LLVMAtomicCmpXchg: return "cmpxchg";
  case LLVMAtomicRMW: return "atomicrmw";
  case LLVMFRem: return "frem";
  case LLVMInvoke: return "invoke";
  case LLVMIndirectBr: return "indirectbr";
  case LLVMUnreachable: return "unreachable (a path without ret)";
  default: return "an instruction";
  }
}

/* Prefixes of intrinsics that NVPTX lowers to instructions in f32. */
static const char *const allowed_calls[] = {
    "llvm.fma.", "llvm.fmuladd.", "llvm.fabs.", "llvm.minnum.f32", "llvm.maxnum.f32",
    "llvm.minimum.f32", "llvm.maximum.f32", "llvm.sqrt.f32", "llvm.floor.f32", "llvm.ceil.f32",
    "llvm.trunc.f32", "llvm.rint.f32", "llvm.nearbyint.f32", "llvm.roundeven.f32",
    "llvm.copysign.f32", "llvm.exp2.f32", "llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.",
    "llvm.abs.", "llvm.lifetime.", "llvm.assume", "llvm.nvvm.ex2.approx", "llvm.nvvm.lg2.approx",
    "llvm.nvvm.rcp.approx", "llvm.nvvm.sqrt.approx", "llvm.nvvm.rsqrt.approx",
    "llvm.nvvm.tanh.approx", "llvm.nvvm.sin.approx", "llvm.nvvm.cos.approx",
};

static bool is_allowed_call(const char *name, LLVMValueRef call) {
  if (strcmp(name, "llvm.tanh.f32") == 0) /* tanh.approx; the exact one does not exist */
    return LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc;
  for (size_t i = 0; i < HD_COUNT(allowed_calls); i++)
    if (strncmp(name, allowed_calls[i], strlen(allowed_calls[i])) == 0)
      return true;
  return false;
}

static bool is_allowed_type(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind:
    return LLVMGetIntTypeWidth(type) <= WIDEST_INTEGER;
  case LLVMVectorTypeKind:
  case LLVMArrayTypeKind:
    return is_allowed_type(LLVMGetElementType(type));
  case LLVMStructTypeKind:
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
      if (!is_allowed_type(LLVMStructGetTypeAtIndex(type, i)))
        return false;
    return true;
  case LLVMVoidTypeKind: case LLVMLabelTypeKind: case LLVMMetadataTypeKind:
  case LLVMPointerTypeKind: case LLVMHalfTypeKind: case LLVMBFloatTypeKind:
  case LLVMFloatTypeKind: case LLVMDoubleTypeKind:
    return true;
  default:
    return false;
  }
}

/* ---- one instruction ---- */

/* What an address is computed from, as far as that is one value. */
static LLVMValueRef base_of(LLVMValueRef address) {
  for (int step = 0; step < 256; step++) { /* in dead code an address may be its own base */
    LLVMOpcode opcode = LLVMIsAConstantExpr(address) ? LLVMGetConstOpcode(address)
                        : LLVMIsAInstruction(address) ? LLVMGetInstructionOpcode(address)
                                                      : (LLVMOpcode)0;
    switch (opcode) {
    case LLVMGetElementPtr: case LLVMBitCast: case LLVMAddrSpaceCast: case LLVMIntToPtr:
    case LLVMPtrToInt: case LLVMFreeze:
      address = LLVMGetOperand(address, 0);
      break;
    default:
      return address;
    }
  }
  return address;
}

/* LLVM takes such a load for a promise that its path is never taken, and drops the store with
 * it. */
static bool is_nowhere(LLVMValueRef address) {
  LLVMValueRef base = base_of(address);
  bool chosen = LLVMIsASelectInst(base) || LLVMIsAPHINode(base);
  int first = LLVMIsASelectInst(base) ? 1 : 0;
  for (int i = first; chosen && i < LLVMGetNumOperands(base); i++) {
    LLVMValueRef one = base_of(LLVMGetOperand(base, (unsigned)i));
    if (LLVMIsConstant(one) && !LLVMIsAGlobalVariable(one))
      return true;
  }
  return LLVMIsConstant(base) && !LLVMIsAGlobalVariable(base);
}

static heddle_status check_load(hd_emitter *e, LLVMValueRef load) {
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(load, 0)));
  if (LLVMGetVolatile(load) || LLVMIsAtomic(load))
    return refuse(e, "user.load", "a volatile or atomic load", "legal: plain loads");
  if (space != HD_AS_GENERIC && space != HD_AS_GLOBAL && space != HD_AS_CONSTANT)
    return refuse(e, "user.load", "a load from shared or local memory",
                  "legal: from global memory and constants");
  if (is_nowhere(LLVMGetOperand(load, 0)))
    return refuse(e, "user.load", "a load from null, undef or a constant address",
                  "legal: through user, from constants");
  return HEDDLE_OK;
}

static heddle_status check_call(hd_emitter *e, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(callee))
    return refuse(e, "user.call", "inline asm", "legal: LLVM instructions");
  if (!LLVMIsAFunction(callee))
    return refuse(e, "user.call", "a call through a pointer", "legal: calls by name");
  size_t n;
  const char *name = LLVMGetValueName2(callee, &n);
  if (!LLVMIsDeclaration(callee) || is_allowed_call(name, call))
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.call",
                  "user function: got a call of %s; legal: its own functions, fma, minnum, maxnum, "
                  "fabs, sqrt, exp2, rounding, afn tanh and llvm.nvvm.*.approx",
                  name);
}

static heddle_status check_instruction(hd_emitter *e, LLVMValueRef instruction) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
  if (!is_allowed_opcode(opcode))
    return refuse(
        e, "user.instruction", opcode_name(opcode),
        "legal: arithmetic, comparisons, conversions, select, br, switch, phi, load, call");
  if (!is_allowed_type(LLVMTypeOf(instruction)))
    return refuse(e, "user.type", "a type wider than 64 bits", "legal: up to 64 bits");
  for (int i = 0; i < LLVMGetNumOperands(instruction); i++)
    if (!is_allowed_type(LLVMTypeOf(LLVMGetOperand(instruction, (unsigned)i))))
      return refuse(e, "user.type", "an operand wider than 64 bits", "legal: up to 64 bits");
  if (opcode == LLVMLoad)
    return check_load(e, instruction);
  return opcode == LLVMCall ? check_call(e, instruction) : HEDDLE_OK;
}

/* ---- functions and the module ---- */

static heddle_status check_body(hd_emitter *e, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      HD_TRY(check_instruction(e, i));
  return HEDDLE_OK;
}

/* The path of calls that leads to a function. */
typedef struct call_path {
  const struct call_path *up;
  LLVMValueRef function;
  int depth, *calls; /* calls seen on all paths: each is inlined */
} call_path;

/* Recursion cannot be inlined, nor can thousands of calls. */
static heddle_status check_recursion(hd_emitter *e, const call_path *path) {
  for (const call_path *p = path->up; p; p = p->up)
    if (p->function == path->function || path->depth > DEEPEST_CALL)
      return refuse(e, "user.call", "recursion", "legal: calls up to 32 deep");
  if (++*path->calls > MOST_CALLS)
    return refuse(e, "user.call", "more than 4096 calls, all inlined", "legal: up to 4096");
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(path->function); b;
       b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
      if (callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee))
        HD_TRY(check_recursion(e, &(call_path){path, callee, path->depth + 1, path->calls}));
    }
  return HEDDLE_OK;
}

/* Apart from the kernels' names and ours, which they would take away. */
static void rename_user(hd_emitter *e, LLVMValueRef global) {
  size_t n;
  char *name = hd_arena_printf(&e->arena, USER_PREFIX "%s", LLVMGetValueName2(global, &n));
  LLVMSetValueName2(global, name, strlen(name));
}

static heddle_status check_globals(hd_emitter *e, LLVMModuleRef user) {
  size_t n;
  if (*LLVMGetModuleInlineAsm(user, &n))
    return refuse(e, "user.module", "module asm", "legal: functions and constants");
  if (LLVMGetFirstGlobalAlias(user) || LLVMGetFirstGlobalIFunc(user))
    return refuse(e, "user.module", "an alias", "legal: functions and constants");
  for (LLVMValueRef g = LLVMGetFirstGlobal(user); g; g = LLVMGetNextGlobal(g)) {
    if (!LLVMIsGlobalConstant(g) || LLVMIsDeclaration(g) || LLVMIsThreadLocal(g) ||
        strncmp(LLVMGetValueName2(g, &n), "llvm.", 5) == 0)
      return refuse(e, "user.global", LLVMGetValueName2(g, &n),
                    "legal: of globals, constants with a value");
    LLVMSetLinkage(g, LLVMInternalLinkage);
    rename_user(e, g);
  }
  return HEDDLE_OK;
}

static void drop_attribute(LLVMValueRef function, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMRemoveEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/* Whatever it was compiled for, it is inlined here. */
static void make_inline(hd_emitter *e, LLVMValueRef function) {
  static const char *const words[] = {"target-cpu", "target-features", "tune-cpu"};
  unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  drop_attribute(function, "noinline");
  drop_attribute(function, "optnone");
  for (size_t i = 0; i < HD_COUNT(words); i++)
    LLVMRemoveStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                     words[i], (unsigned)strlen(words[i]));
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(e->llvm, always, 0));
  LLVMSetFunctionCallConv(function, LLVMCCallConv);
  LLVMSetSection(function, "");
  rename_user(e, function);
}

static heddle_status check_function(hd_emitter *e, LLVMValueRef function) {
  size_t n;
  int calls = 0;
  if (LLVMHasPersonalityFn(function) || LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)))
    return refuse(e, "user.function", LLVMGetValueName2(function, &n),
                  "legal: functions of fixed arguments, without exception handlers");
  HD_TRY(check_body(e, function));
  return check_recursion(e, &(call_path){NULL, function, 0, &calls});
}

static heddle_status check_module(hd_emitter *e, LLVMModuleRef user) {
  int n_functions = 0;
  HD_TRY(check_globals(e, user));
  for (LLVMValueRef f = LLVMGetFirstFunction(user); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    if (++n_functions > MOST_FUNCTIONS)
      return refuse(e, "user.module", "more than 256 functions", "legal: up to 256");
    HD_TRY(check_function(e, f));
  }
  return HEDDLE_OK;
}

/* Of LLVM's lines the first says what is wrong. */
static heddle_status refuse_text(hd_emitter *e, const char *message) {
  return hd_error(e->ctx, HEDDLE_INVALID, HD_NOWHERE, "user.parse",
                  "%.*s; legal: LLVM IR, text or bitcode", (int)strcspn(message, "\n"), message);
}

static heddle_status parse(hd_emitter *e, LLVMModuleRef *user) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      e->options->user_ir, e->options->user_ir_bytes, "user function");
  LLVMBool bad = LLVMParseIRInContext2(e->llvm, buffer, user, &message);
  LLVMDisposeMemoryBuffer(buffer);
  if (!bad)
    return HEDDLE_OK;
  heddle_status status = refuse_text(e, message ? message : "neither of both");
  LLVMDisposeMessage(message);
  return status;
}

static heddle_status verify_user(hd_emitter *e, LLVMModuleRef user) {
  char *message = NULL;
  heddle_status status = HEDDLE_OK;
  if (LLVMVerifyModule(user, LLVMReturnStatusAction, &message))
    status = refuse_text(e, message);
  LLVMDisposeMessage(message);
  return status;
}

static heddle_status prepare(hd_emitter *e, LLVMModuleRef user) {
  HD_TRY(verify_user(e, user));
  HD_TRY(check_module(e, user));
  LLVMStripModuleDebugInfo(user);
  hd_emit_set_target(e, user);
  for (LLVMValueRef f = LLVMGetFirstFunction(user); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f))
      make_inline(e, f);
  return hd_emit_user_ends(e, user);
}

static void internalise(hd_emitter *e) {
  size_t n;
  for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f))
    if (strncmp(LLVMGetValueName2(f, &n), USER_PREFIX, strlen(USER_PREFIX)) == 0)
      LLVMSetLinkage(f, LLVMInternalLinkage);
}

heddle_status hd_emit_link_user(hd_emitter *e) {
  LLVMModuleRef user = NULL;
  if (!e->options->user_ir)
    return HEDDLE_OK;
  HD_TRY(parse(e, &user));
  heddle_status status = prepare(e, user);
  if (status != HEDDLE_OK || e->failed) {
    LLVMDisposeModule(user);
    return e->failed ? HEDDLE_INVALID : status;
  }
  if (LLVMLinkModules2(e->module, user) || e->failed) /* consumes it, and says why not */
    return HEDDLE_INTERNAL;
  internalise(e);
  return HEDDLE_OK;
}

heddle_status hd_emit_find_user(hd_emitter *e, const hd_op *op, const char *name, LLVMTypeRef acc,
                                LLVMValueRef *function) {
  char *full = hd_arena_printf(&e->arena, USER_PREFIX "%s", name);
  LLVMValueRef found = LLVMGetNamedFunction(e->module, full);
  LLVMTypeRef params[] = {acc, e->i32, e->i32, e->generic_ptr};
  if (!found || LLVMIsDeclaration(found))
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "user.function",
                    "%s; nearest: define float @%s(%s %%acc, i32 %%row, i32 %%col, ptr %%user)",
                    e->options->user_ir ? "the user's IR defines no such function"
                                        : "no user IR was given",
                    name, acc == e->f32 ? "float" : "i32");
  if (LLVMGlobalGetValueType(found) != LLVMFunctionType(e->f32, params, 4, false))
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "user.function",
                    "%s has another type; legal: float (%s acc, i32 row, i32 col, ptr user)", name,
                    acc == e->f32 ? "float" : "i32");
  *function = found;
  return HEDDLE_OK;
}
