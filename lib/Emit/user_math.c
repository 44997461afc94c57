/* Functions of <math.h> in the user's epilogue. Clang leaves calls of expf or of llvm.exp.f32. They
 * become calls of the definitions in user_math.ll, which are then inlined like the user's own. */
#include <stdio.h>
#include <string.h>

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include "Emit/user_screen.h"
#include "Emit/user_words.h"
#include "Support/diag.h"

static const char definitions[] =
#define HD_SCHEMA(name, text) text
#include "user_math.inc"
#undef HD_SCHEMA
    ;

enum { NAME_BYTES = 40 };

/* Calls of tanh with afn use the GPU's approximation. The others are redirected to a definition. */
static void redirect_exact(LLVMModuleRef module, LLVMValueRef tanh, const char *name) {
  LLVMTypeRef type = LLVMGlobalGetValueType(tanh);
  LLVMValueRef exact = LLVMGetNamedFunction(module, name);
  for (LLVMUseRef next, use = LLVMGetFirstUse(tanh); use; use = next) {
    LLVMValueRef call = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != tanh ||
        (LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc))
      continue;
    exact = exact ? exact : LLVMAddFunction(module, name, type);
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, exact);
  }
}

static bool is_approximate(const char *callee) {
  return strcmp(callee, "llvm.tanh.f32") == 0;
}

/* True if a function is a declaration that may have a definition here, whose name is set: "expf",
 * "llvm.exp.f32" -> "heddle.expf". */
static bool wants_definition(LLVMValueRef function, char name[NAME_BYTES]) {
  const char *callee = LLVMGetValueName(function);
  size_t n = strlen(callee);
  bool intrinsic = n > 9 && strncmp(callee, "llvm.", 5) == 0 && strcmp(callee + n - 4, ".f32") == 0;
  if (!LLVMIsDeclaration(function) || n > NAME_BYTES - 10 || (!intrinsic && strchr(callee, '.')))
    return false;
  snprintf(name, NAME_BYTES, intrinsic ? "heddle.%.*sf" : "heddle.%.*s",
           (int)(intrinsic ? n - 9 : n), callee + 5 * intrinsic);
  return is_approximate(callee) || hd_user_find_call(callee, n) < 0;
}

static bool any_wants_definition(LLVMModuleRef module) {
  char name[NAME_BYTES];
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (wants_definition(f, name))
      return true;
  return false;
}

/* Gives a declaration the name of its definition in `math`, if one of the same type exists. */
static bool take_definition(LLVMModuleRef module, LLVMModuleRef math, LLVMValueRef function) {
  char name[NAME_BYTES];
  if (!wants_definition(function, name))
    return false;
  LLVMValueRef definition = LLVMGetNamedFunction(math, name);
  if (!definition || LLVMIsDeclaration(definition) ||
      LLVMGlobalGetValueType(definition) != LLVMGlobalGetValueType(function))
    return false;
  if (is_approximate(LLVMGetValueName(function)))
    redirect_exact(module, function, name);
  else
    LLVMSetValueName2(function, name, strlen(name));
  return true;
}

heddle_status hd_user_link_math(heddle_context *ctx, LLVMModuleRef module) {
  LLVMModuleRef math = NULL;
  char *message = NULL;
  bool any = false;
  if (!any_wants_definition(module))
    return HEDDLE_OK;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(
      definitions, sizeof definitions - 1, "user_math.ll", true);
  LLVMBool bad = LLVMParseIRInContext2(LLVMGetModuleContext(module), buffer, &math, &message);
  LLVMDisposeMemoryBuffer(buffer);
  LLVMDisposeMessage(message);
  if (bad)
    return HD_BUG(ctx, "user_math.ll is no LLVM IR");
  for (LLVMValueRef next, f = LLVMGetFirstFunction(module); f; f = next) {
    next = LLVMGetNextFunction(f);
    any |= take_definition(module, math, f);
  }
  if (!any) {
    LLVMDisposeModule(math);
    return HEDDLE_OK;
  }
  if (LLVMLinkModules2(module, math)) /* consumes `math`, even on failure */
    return hd_user_refuse(ctx, "user.function", "a function named heddle.*", "other names");
  return HEDDLE_OK;
}
