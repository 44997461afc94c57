#include "Emit/user_screen.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "Emit/user_ir.h"
#include "Support/arena.h"
#include "Support/diag.h"

/* The data layout of NVPTX in LLVM 22. */
static const char layout[] = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

/* Only full unrolling: the trip count must be a small constant (LLVM's own thresholds). The
 * remaining vectors and aggregates are then split into scalars. */
static const char simplify[] =
    "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),early-cse,simplifycfg,"
    "scalarizer<load-store>,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/* ---- the order of blocks ---- */

typedef struct node {
  LLVMBasicBlockRef block;
  size_t n_before; /* edges from blocks that are not yet done */
} node;

static int by_address(const void *x, const void *y) {
  const node *a = x, *b = y;
  return (a->block > b->block) - (a->block < b->block);
}

static node *find(node *nodes, size_t n, LLVMBasicBlockRef block) {
  return bsearch(&(node){.block = block}, nodes, n, sizeof *nodes, by_address);
}

/* Sorts the blocks topologically. Returns how many were sorted: fewer than n if there is a loop. */
static size_t put_in_order(LLVMValueRef function, node *nodes, size_t n, LLVMBasicBlockRef *order) {
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  size_t n_ready = 1;
  order[0] = block;
  for (size_t i = 0; i < n; i++, block = LLVMGetNextBasicBlock(block))
    nodes[i] = (node){.block = block};
  qsort(nodes, n, sizeof *nodes, by_address);
  for (size_t i = 0; i < n; i++) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(nodes[i].block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++)
      find(nodes, n, LLVMGetSuccessor(last, s))->n_before++;
  }
  for (size_t done = 0; done < n_ready; done++) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(order[done]);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++) {
      node *next = find(nodes, n, LLVMGetSuccessor(last, s));
      if (--next->n_before == 0)
        order[n_ready++] = next->block;
    }
  }
  return n_ready;
}

static heddle_status print_in_order(heddle_context *ctx, LLVMModuleRef module,
                                    LLVMValueRef function, const char *name, hd_strbuf *text) {
  size_t n = LLVMCountBasicBlocks(function);
  node *nodes = hd_try_malloc(ctx, n * sizeof *nodes, "blocks");
  LLVMBasicBlockRef *order = hd_try_malloc(ctx, n * sizeof *order, "blocks");
  heddle_status status = nodes && order ? HEDDLE_OK : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK && put_in_order(function, nodes, n, order) < n)
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.loop",
                      "user function: a loop that cannot be unrolled completely is not allowed; "
                      "legal: a small, constant number of iterations");
  if (status == HEDDLE_OK)
    status = hd_user_print(ctx, module, function, name, order, n, text);
  hd_free(nodes);
  hd_free(order);
  return status;
}

/* ---- the module ---- */

static void drop_attribute(LLVMValueRef function, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMRemoveEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/* Makes a function inlinable, whatever target it was compiled for. */
static void make_inline(LLVMContextRef llvm, LLVMValueRef function) {
  static const char *const words[] = {"target-cpu", "target-features", "tune-cpu"};
  LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  drop_attribute(function, "noinline");
  drop_attribute(function, "optnone");
  for (size_t i = 0; i < HD_COUNT(words); i++)
    LLVMRemoveStringAttributeAtIndex(function, whole, words[i], (unsigned)strlen(words[i]));
  LLVMAddAttributeAtIndex(function, whole, LLVMCreateEnumAttribute(llvm, always, 0));
  LLVMSetSection(function, "");
}

static heddle_status refuse_text(heddle_context *ctx, const char *message) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "user.parse",
                  "%.*s; legal: LLVM IR, text or bitcode", (int)strcspn(message, "\n"), message);
}

static heddle_status verify(heddle_context *ctx, LLVMModuleRef module) {
  char *message = NULL;
  heddle_status status = HEDDLE_OK;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    status = refuse_text(ctx, message);
  LLVMDisposeMessage(message);
  return status;
}

static heddle_status run_passes(heddle_context *ctx, LLVMModuleRef module) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, simplify, NULL, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return HEDDLE_OK;
  char *message = LLVMGetErrorMessage(error);
  heddle_status status = refuse_text(ctx, message);
  LLVMDisposeErrorMessage(message);
  return status;
}

static heddle_status find_function(heddle_context *ctx, LLVMModuleRef module, const char *name,
                                   LLVMValueRef *function) {
  *function = LLVMGetNamedFunction(module, name);
  if (!*function || LLVMIsDeclaration(*function))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "user.function",
                    "the user IR does not define this function; nearest: define float @%s(float "
                    "%%acc, i32 %%row, i32 %%col, ptr %%user)",
                    name);
  LLVMTypeRef type = LLVMGlobalGetValueType(*function);
  LLVMContextRef llvm = LLVMGetModuleContext(module);
  LLVMTypeRef f32 = LLVMFloatTypeInContext(llvm), i32 = LLVMInt32TypeInContext(llvm);
  LLVMTypeRef sums[] = {f32, i32};
  for (size_t i = 0; i < HD_COUNT(sums); i++) {
    LLVMTypeRef params[] = {sums[i], sums[i], i32, i32, LLVMPointerTypeInContext(llvm, 0)};
    if (type == LLVMFunctionType(f32, params, 5, false) ||
        type == LLVMFunctionType(f32, params + 1, 4, false))
      return HEDDLE_OK;
  }
  return hd_error(
      ctx, HEDDLE_INVALID, HD_NOWHERE, "user.function",
      "%s has another type; legal: float (float or i32 acc, i32 row, i32 col, ptr user), of pairs "
      "float (float or i32 gate, the same of up, i32 row, i32 col, ptr user)",
      name);
}

static heddle_status screen(heddle_context *ctx, LLVMModuleRef module, const char *name,
                            hd_strbuf *text) {
  LLVMValueRef function = NULL;
  HD_TRY(verify(ctx, module));
  HD_TRY(hd_user_link_math(ctx, module));
  HD_TRY(hd_user_allow(ctx, module));
  HD_TRY(find_function(ctx, module, name, &function));
  LLVMStripModuleDebugInfo(module);
  LLVMSetDataLayout(module, layout);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f))
      make_inline(LLVMGetModuleContext(module), f);
  HD_TRY(run_passes(ctx, module));
  return print_in_order(ctx, module, function, name, text);
}

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  (void)info, (void)user; /* The parser returns the message. Without a handler LLVM would exit. */
}

heddle_status hd_user_screen(heddle_context *ctx, const char *ir, size_t n_bytes, const char *name,
                             hd_strbuf *text) {
  if (n_bytes > HD_USER_IR_BYTES)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.size",
                    "user function: got %zu bytes; legal: up to %d", n_bytes, HD_USER_IR_BYTES);
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(llvm, ignore_diagnostic, NULL);
  LLVMModuleRef module = NULL;
  char *message = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, n_bytes, "user function");
  LLVMBool bad = LLVMParseIRInContext2(llvm, buffer, &module, &message);
  LLVMDisposeMemoryBuffer(buffer);
  heddle_status status = bad ? refuse_text(ctx, message ? message : "neither of both")
                             : screen(ctx, module, name, text);
  LLVMDisposeMessage(message);
  if (!bad)
    LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
  return status;
}
