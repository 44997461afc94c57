/* The LLVM IR that an epilogue may contain before it is optimised: loads, but no stores. Only IR
 * that passes these checks is inlined and unrolled, so they also bound its size. The printer
 * (user_print.c) checks the optimised function against a stricter list. */
#include <string.h>

#include "Emit/user_screen.h"
#include "Emit/user_words.h"
#include "Support/arena.h"
#include "Support/diag.h"

enum {
  MAX_INTEGER_BITS = 64,
  MAX_FUNCTIONS = 256,
  MAX_CALL_DEPTH = 32,
  MAX_TYPE_DEPTH = 8,
  MAX_MEMBERS = 256, /* of a type, all levels together */
  MAX_LANES = 16,
  MAX_WEIGHT = 20000, /* instructions, with every call inlined */
  MAX_OPERANDS = 4096 /* of one instruction */
};

heddle_status hd_user_refuse(heddle_context *ctx, const char *rule, const char *got,
                             const char *legal) {
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, rule, "user function: got %.200s; legal: %s",
                  got, legal);
}

/* ---- allowed opcodes, intrinsics and types ---- */

static bool is_allowed_opcode(LLVMOpcode opcode) {
  switch (opcode) {
  case LLVMRet:
  case LLVMBr:
  case LLVMSwitch:
  case LLVMPHI:
  case LLVMSelect:
  case LLVMFNeg:
  case LLVMAdd:
  case LLVMFAdd:
  case LLVMSub:
  case LLVMFSub:
  case LLVMMul:
  case LLVMFMul:
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMFDiv:
  case LLVMURem:
  case LLVMSRem:
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMICmp:
  case LLVMFCmp:
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMFPToUI:
  case LLVMFPToSI:
  case LLVMUIToFP:
  case LLVMSIToFP:
  case LLVMFPTrunc:
  case LLVMFPExt:
  case LLVMBitCast:
  case LLVMAddrSpaceCast:
  case LLVMGetElementPtr:
  case LLVMLoad:
  case LLVMCall:
  case LLVMFreeze:
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMShuffleVector:
  case LLVMExtractValue:
  case LLVMInsertValue:
    return true;
  default:
    return false;
  }
}

/* Names of refused instructions, for the diagnostic. */
static const char *opcode_name(LLVMOpcode opcode) {
  switch (opcode) {
  case LLVMStore:
    return "store";
  case LLVMAlloca:
    return "alloca (compile it with optimisation)";
  case LLVMFence:
    return "fence";
  case LLVMAtomicCmpXchg:
    return "cmpxchg";
  case LLVMAtomicRMW:
    return "atomicrmw";
  case LLVMFRem:
    return "frem";
  case LLVMInvoke:
    return "invoke";
  case LLVMIndirectBr:
    return "indirectbr";
  case LLVMCallBr:
    return "callbr";
  case LLVMVAArg:
    return "va_arg";
  case LLVMPtrToInt:
    return "ptrtoint";
  case LLVMIntToPtr:
    return "inttoptr (of an address in memory: load ptr)";
  case LLVMUnreachable:
    return "unreachable (a path without ret)";
  default:
    return "an instruction";
  }
}

/* Optimiser hints, which the printer drops. */
static bool is_hint(const char *name) {
  static const char *const hints[] = {"llvm.assume", "llvm.lifetime.start.p0",
                                      "llvm.lifetime.end.p0",
                                      "llvm.experimental.noalias.scope.decl"};
  for (size_t i = 0; i < HD_COUNT(hints); i++)
    if (strcmp(name, hints[i]) == 0)
      return true;
  return false;
}

/* Terminates for every type: the depth and the number of members of all levels are bounded. */
static bool is_allowed_type(LLVMTypeRef type, int depth, int *members) {
  if (depth > MAX_TYPE_DEPTH || ++*members > MAX_MEMBERS)
    return false;
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind:
    return LLVMGetIntTypeWidth(type) <= MAX_INTEGER_BITS;
  case LLVMVectorTypeKind:
    return LLVMGetVectorSize(type) <= MAX_LANES &&
           is_allowed_type(LLVMGetElementType(type), depth + 1, members);
  case LLVMArrayTypeKind:
    return LLVMGetArrayLength2(type) <= HD_USER_TABLE_BYTES &&
           is_allowed_type(LLVMGetElementType(type), depth + 1, members);
  case LLVMStructTypeKind:
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
      if (!is_allowed_type(LLVMStructGetTypeAtIndex(type, i), depth + 1, members))
        return false;
    return !LLVMIsOpaqueStruct(type);
  case LLVMVoidTypeKind:
  case LLVMLabelTypeKind:
  case LLVMMetadataTypeKind:
  case LLVMPointerTypeKind:
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind:
  case LLVMFloatTypeKind:
  case LLVMDoubleTypeKind:
    return true;
  default:
    return false;
  }
}

static bool is_allowed(LLVMTypeRef type) {
  int members = 0;
  return is_allowed_type(type, 0, &members);
}

/* ---- one instruction ---- */

/* The base of an address, found by following getelementptr, casts and freeze. */
static LLVMValueRef base_of(LLVMValueRef address) {
  for (int step = 0; step < 256; step++) { /* in dead code an address may be based on itself */
    LLVMOpcode opcode = LLVMIsAConstantExpr(address)  ? LLVMGetConstOpcode(address)
                        : LLVMIsAInstruction(address) ? LLVMGetInstructionOpcode(address)
                                                      : (LLVMOpcode)0;
    switch (opcode) {
    case LLVMGetElementPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMFreeze:
      address = LLVMGetOperand(address, 0);
      break;
    default:
      return address;
    }
  }
  return address;
}

/* True for an address from a constant other than a global. LLVM assumes that such a load is never
 * executed, and deletes the path that leads to it. */
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

static heddle_status check_load(heddle_context *ctx, LLVMValueRef load) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(address));
  if (LLVMGetVolatile(load) || LLVMIsAtomic(load))
    return hd_user_refuse(ctx, "user.load", "a volatile or atomic load", "plain loads");
  if (space != 0 && space != 1 && space != 4)
    return hd_user_refuse(ctx, "user.load", "a load from shared or local memory",
                          "from global memory and constants");
  if (is_nowhere(address))
    return hd_user_refuse(ctx, "user.load", "a load from null, undef or a constant address",
                          "through user, from constants");
  return HEDDLE_OK;
}

static heddle_status check_call(heddle_context *ctx, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (LLVMIsAInlineAsm(callee))
    return hd_user_refuse(ctx, "user.call", "inline asm", "LLVM instructions");
  if (!LLVMIsAFunction(callee))
    return hd_user_refuse(ctx, "user.call", "a call through a pointer", "calls by name");
  if (LLVMGetNumOperandBundles(call) && !is_hint(LLVMGetValueName(callee)))
    return hd_user_refuse(ctx, "user.call", "a call with an operand bundle", "calls without");
  if (LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail)
    return hd_user_refuse(ctx, "user.call", "musttail", "calls that can be inlined");
  if (LLVMGetInstructionCallConv(call) != LLVMGetFunctionCallConv(callee))
    return hd_user_refuse(ctx, "user.call",
                          "a call of another calling convention than its function", "the same");
  const char *name = LLVMGetValueName(callee);
  if (!LLVMIsDeclaration(callee) || is_hint(name))
    return HEDDLE_OK;
  int32_t row = hd_user_find_call(name, strlen(name));
  bool exact =
      strcmp(name, "llvm.tanh.f32") == 0 && !(LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc);
  if (row >= 0 && !exact)
    return HEDDLE_OK;
  /* The scalarizer splits intrinsics on vectors later. The printer then checks the parts. */
  bool vector =
      LLVMGetIntrinsicID(callee) && LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVectorTypeKind;
  if (vector)
    return HEDDLE_OK;
  return hd_error(
      ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.call",
      "user function: got a call of %.100s; legal: its own functions, expf, exp2f, "
      "logf, tanhf, erff, sqrtf, fmaxf and more of <math.h>, fma, minnum, rounding, "
      "llvm.nvvm.*.approx (exact names in docs/embedding.md)",
      name);
}

/* Constants may be nested to any depth. Those deeper than the limit are refused. */
static bool is_allowed_constant(LLVMValueRef value, int depth) {
  if (!LLVMIsConstant(value) || LLVMIsAFunction(value) || LLVMIsAGlobalVariable(value) ||
      !LLVMIsAConstantExpr(value))
    return true;
  LLVMOpcode opcode = LLVMGetConstOpcode(value);
  if (depth > MAX_TYPE_DEPTH || (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast))
    return false;
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (!is_allowed_constant(LLVMGetOperand(value, (unsigned)i), depth + 1))
      return false;
  return true;
}

static heddle_status check_operands(heddle_context *ctx, LLVMValueRef in) {
  int n = LLVMGetNumOperands(in);
  if (n > MAX_OPERANDS)
    return hd_user_refuse(ctx, "user.size", "an instruction of more operands", "up to 4096");
  for (int i = 0; i < n; i++) {
    LLVMValueRef operand = LLVMGetOperand(in, (unsigned)i);
    if (!is_allowed(LLVMTypeOf(operand)))
      return hd_user_refuse(ctx, "user.type", "an operand of another type",
                            "integers up to 64 bits, half, bfloat, float, double, pointers, small "
                            "vectors and structs of them");
    if (!is_allowed_constant(operand, 0))
      return hd_user_refuse(ctx, "user.load", "a computed constant, such as a constant address",
                            "addresses through user, and of constants");
  }
  return HEDDLE_OK;
}

static heddle_status check_instruction(heddle_context *ctx, LLVMValueRef in) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
  if (!is_allowed_opcode(opcode))
    return hd_user_refuse(
        ctx, "user.instruction", opcode_name(opcode),
        "arithmetic, comparisons, conversions, select, br, switch, phi, load, call");
  if (!is_allowed(LLVMTypeOf(in)))
    return hd_user_refuse(ctx, "user.type", "another type than those up to 64 bits",
                          "integers up to 64 bits, half, bfloat, float, double, pointers, small "
                          "vectors and structs of them");
  HD_TRY(check_operands(ctx, in));
  if (opcode == LLVMLoad)
    return check_load(ctx, in);
  return opcode == LLVMCall ? check_call(ctx, in) : HEDDLE_OK;
}

/* ---- functions and the module ---- */

/* The chain of calls that leads to a function. */
typedef struct call_path {
  const struct call_path *up;
  LLVMValueRef function;
  int depth, *weight; /* weight: instructions, with every call inlined */
} call_path;

/* Refuses recursion, deep call chains, and too many instructions once all calls are inlined. */
static heddle_status check_calls(heddle_context *ctx, const call_path *path) {
  for (const call_path *p = path->up; p; p = p->up)
    if (p->function == path->function || path->depth > MAX_CALL_DEPTH)
      return hd_user_refuse(ctx, "user.call", "recursion", "calls up to 32 deep");
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(path->function); b;
       b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
      if (++*path->weight > MAX_WEIGHT)
        return hd_user_refuse(ctx, "user.call", "more than 20000 instructions, all calls inlined",
                              "up to 20000");
      if (callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee))
        HD_TRY(check_calls(ctx, &(call_path){path, callee, path->depth + 1, path->weight}));
    }
  return HEDDLE_OK;
}

static bool has_attribute(LLVMValueRef function, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                     kind);
}

static heddle_status check_function(heddle_context *ctx, LLVMValueRef function, int *weight) {
  int calls = 0;
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  if (LLVMHasPersonalityFn(function) || LLVMHasPrefixData(function) ||
      LLVMHasPrologueData(function) || LLVMIsFunctionVarArg(type) || LLVMGetGC(function) ||
      has_attribute(function, "presplitcoroutine") || has_attribute(function, "naked") ||
      has_attribute(function, "strictfp"))
    return hd_user_refuse(ctx, "user.function", LLVMGetValueName(function),
                          "functions of fixed arguments, without exception handlers, garbage "
                          "collection, coroutines, prefix data, naked, strictfp");
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      if (++*weight > MAX_WEIGHT)
        return hd_user_refuse(ctx, "user.size", "more than 20000 instructions", "up to 20000");
      HD_TRY(check_instruction(ctx, i));
    }
  return check_calls(ctx, &(call_path){NULL, function, 0, &calls});
}

static heddle_status check_globals(heddle_context *ctx, LLVMModuleRef module) {
  size_t n;
  if (*LLVMGetModuleInlineAsm(module, &n))
    return hd_user_refuse(ctx, "user.module", "module asm", "functions and constants");
  if (LLVMGetFirstGlobalAlias(module) || LLVMGetFirstGlobalIFunc(module))
    return hd_user_refuse(ctx, "user.module", "an alias", "functions and constants");
  for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    if (!LLVMIsGlobalConstant(g) || LLVMIsDeclaration(g) || LLVMIsThreadLocal(g) ||
        (space != 0 && space != 4) || strncmp(LLVMGetValueName2(g, &n), "llvm.", 5) == 0 ||
        !is_allowed(LLVMGlobalGetValueType(g)))
      return hd_user_refuse(ctx, "user.global", LLVMGetValueName2(g, &n),
                            "of globals, constants with a value");
  }
  return HEDDLE_OK;
}

heddle_status hd_user_allow(heddle_context *ctx, LLVMModuleRef module) {
  int n_functions = 0, weight = 0;
  HD_TRY(check_globals(ctx, module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    if (++n_functions > MAX_FUNCTIONS)
      return hd_user_refuse(ctx, "user.module", "more than 256 functions", "up to 256");
    HD_TRY(check_function(ctx, f, &weight));
  }
  return HEDDLE_OK;
}
