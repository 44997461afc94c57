/* An interpreter of scalar LLVM IR, for user epilogues: floating-point values as doubles, integers
 * sign-extended to 64 bits. */
#include "Emit/user_evaluate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "Support/arena.h"
#include "Support/diag.h"

enum { MOST_STEPS = 100000, DEEPEST_CALL = 32 };

typedef union value {
  double f;
  int64_t i;
} value;

/* Where each argument and instruction keeps its value during a call. */
typedef struct slot {
  LLVMValueRef key;
  value now, next; /* next: of a phi, while others of its block still read now */
} slot;

struct hd_user_function {
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMValueRef function;
  slot *slots; /* open addressing; owned */
  size_t n_slots; /* a power of two */
};

typedef struct run {
  hd_user_function *user;
  int steps, depth;
} run;

/* ---- slots ---- */

static slot *slot_of(hd_user_function *u, LLVMValueRef key) {
  size_t at = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20;
  while (u->slots[at & (u->n_slots - 1)].key && u->slots[at & (u->n_slots - 1)].key != key)
    at++;
  return &u->slots[at & (u->n_slots - 1)];
}

static bool is_float(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

static value read_value(run *r, LLVMValueRef v) {
  LLVMBool inexact;
  if (LLVMIsAConstantInt(v))
    return (value){.i = LLVMConstIntGetSExtValue(v)};
  if (LLVMIsAConstantFP(v))
    return (value){.f = LLVMConstRealGetDouble(v, &inexact)};
  if (LLVMIsConstant(v))
    return (value){.i = 0};
  return slot_of(r->user, v)->now;
}

static value operand(run *r, LLVMValueRef in, unsigned i) {
  return read_value(r, LLVMGetOperand(in, i));
}

/* ---- integers ---- */

static bool is_integer(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64;
}

static unsigned width_of(LLVMValueRef v) { return LLVMGetIntTypeWidth(LLVMTypeOf(v)); }

static int64_t wrap(int64_t x, unsigned width) {
  unsigned unused = 64 - width;
  return (int64_t)((uint64_t)x << unused) >> unused;
}

static uint64_t zero_extended(int64_t x, unsigned width) {
  return (uint64_t)x << (64 - width) >> (64 - width);
}

static int64_t divide(LLVMOpcode opcode, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zero_extended(a, width), ub = zero_extended(b, width);
  if (!b || (b == -1 && opcode == LLVMSDiv) || (b == -1 && opcode == LLVMSRem))
    return !b || opcode == LLVMSRem ? 0 : (int64_t)(0 - (uint64_t)a);
  switch (opcode) {
  case LLVMUDiv: return (int64_t)(ua / ub);
  case LLVMURem: return (int64_t)(ua % ub);
  case LLVMSDiv: return a / b;
  default: return a % b;
  }
}

static int64_t integer_op(LLVMOpcode opcode, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b, shift = zero_extended(b, width) & 63;
  switch (opcode) {
  case LLVMAdd: return (int64_t)(ua + ub);
  case LLVMSub: return (int64_t)(ua - ub);
  case LLVMMul: return (int64_t)(ua * ub);
  case LLVMAnd: return a & b;
  case LLVMOr: return a | b;
  case LLVMXor: return a ^ b;
  case LLVMShl: return (int64_t)(ua << shift);
  case LLVMLShr: return (int64_t)(zero_extended(a, width) >> shift);
  case LLVMAShr: return a >> shift;
  default: return divide(opcode, a, b, width);
  }
}

static bool compare_integers(LLVMIntPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zero_extended(a, width), ub = zero_extended(b, width);
  switch (predicate) {
  case LLVMIntEQ: return a == b;
  case LLVMIntNE: return a != b;
  case LLVMIntUGT: return ua > ub;
  case LLVMIntUGE: return ua >= ub;
  case LLVMIntULT: return ua < ub;
  case LLVMIntULE: return ua <= ub;
  case LLVMIntSGT: return a > b;
  case LLVMIntSGE: return a >= b;
  case LLVMIntSLT: return a < b;
  default: return a <= b;
  }
}

/* ---- floating point ---- */

static double float_op(LLVMOpcode opcode, double a, double b) {
  switch (opcode) {
  case LLVMFAdd: return a + b;
  case LLVMFSub: return a - b;
  case LLVMFMul: return a * b;
  default: return a / b;
  }
}

/* Predicates are bit sets: 1 equal, 2 greater, 4 less, 8 unordered. */
static bool compare_floats(LLVMRealPredicate predicate, double a, double b) {
  unsigned is = isnan(a) || isnan(b) ? 8 : a == b ? 1 : a > b ? 2 : 4;
  return ((unsigned)predicate & is) != 0;
}

/* Of values of that width; llvm.abs has its second operand for what may not happen. */
static bool integer_call(const char *name, const value *x, unsigned width, int64_t *result) {
  int64_t a = x[0].i, b = x[1].i;
  uint64_t ua = zero_extended(a, width), ub = zero_extended(b, width);
  if (!strncmp(name, "llvm.smin.", 10))
    *result = a < b ? a : b;
  else if (!strncmp(name, "llvm.smax.", 10))
    *result = a > b ? a : b;
  else if (!strncmp(name, "llvm.umin.", 10))
    *result = ua < ub ? a : b;
  else if (!strncmp(name, "llvm.umax.", 10))
    *result = ua > ub ? a : b;
  else if (!strncmp(name, "llvm.abs.", 9))
    *result = a < 0 ? wrap((int64_t)(0 - (uint64_t)a), width) : a;
  else
    return false;
  return true;
}

/* Of IEEE 754-2019: what is no number passes through, as it does not through fmin. */
static double minimum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double maximum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }

static double math_call(const char *name, const double *x, bool *known) {
  static const struct {
    const char *prefix;
    double (*one)(double);
  } ones[] = {{"llvm.fabs.", fabs},         {"llvm.sqrt.", sqrt},
              {"llvm.floor.", floor},       {"llvm.ceil.", ceil},
              {"llvm.trunc.", trunc},       {"llvm.rint.", rint},
              {"llvm.nearbyint.", rint},    {"llvm.roundeven.", rint},
              {"llvm.exp2.", exp2},         {"llvm.tanh.", tanh},
              {"llvm.nvvm.ex2.", exp2},     {"llvm.nvvm.lg2.", log2},
              {"llvm.nvvm.sqrt.", sqrt},    {"llvm.nvvm.tanh.", tanh},
              {"llvm.nvvm.sin.", sin},      {"llvm.nvvm.cos.", cos}};
  static const struct {
    const char *prefix;
    double (*two)(double, double);
  } twos[] = {{"llvm.minnum.", fmin},     {"llvm.maxnum.", fmax},
              {"llvm.minimum.", minimum}, {"llvm.maximum.", maximum},
              {"llvm.copysign.", copysign}};
  *known = true;
  for (size_t i = 0; i < HD_COUNT(ones); i++)
    if (!strncmp(name, ones[i].prefix, strlen(ones[i].prefix)))
      return ones[i].one(x[0]);
  for (size_t i = 0; i < HD_COUNT(twos); i++)
    if (!strncmp(name, twos[i].prefix, strlen(twos[i].prefix)))
      return twos[i].two(x[0], x[1]);
  if (!strncmp(name, "llvm.fma.", 9) || !strncmp(name, "llvm.fmuladd.", 13))
    return fma(x[0], x[1], x[2]);
  if (!strncmp(name, "llvm.nvvm.rcp.", 14))
    return 1 / x[0];
  if (!strncmp(name, "llvm.nvvm.rsqrt.", 16))
    return 1 / sqrt(x[0]);
  *known = false;
  return NAN;
}

/* ---- one instruction ---- */

static value call_function(run *r, LLVMValueRef function, const value *args);

static value call_op(run *r, LLVMValueRef in) {
  LLVMValueRef callee = LLVMGetCalledValue(in);
  value args[4] = {{0}}, result;
  double x[4] = {0};
  bool known;
  size_t n;
  for (unsigned i = 0; i < LLVMGetNumArgOperands(in); i++) {
    args[i] = operand(r, in, i);
    x[i] = args[i].f;
  }
  if (!LLVMIsDeclaration(callee))
    return call_function(r, callee, args);
  const char *name = LLVMGetValueName2(callee, &n);
  if (!is_integer(LLVMTypeOf(in)) || !integer_call(name, args, width_of(in), &result.i))
    result.f = math_call(name, x, &known);
  return result;
}

/* float and i32, double and i64: the same bits. */
static value bit_cast(value x, LLVMTypeRef from, LLVMTypeRef to) {
  bool wide = LLVMGetTypeKind(is_float(from) ? from : to) == LLVMDoubleTypeKind;
  float f;
  int32_t bits;
  if (is_float(from) == is_float(to) || wide) /* a double lies in `value` as its bits do */
    return x;
  if (is_float(from)) {
    f = (float)x.f;
    memcpy(&bits, &f, sizeof bits);
    return (value){.i = bits};
  }
  bits = (int32_t)x.i;
  memcpy(&f, &bits, sizeof f);
  return (value){.f = f};
}

static value cast_op(LLVMOpcode opcode, LLVMValueRef in, value x) {
  LLVMValueRef from = LLVMGetOperand(in, 0);
  switch (opcode) {
  case LLVMZExt: return (value){.i = (int64_t)zero_extended(x.i, width_of(from))};
  case LLVMTrunc: return (value){.i = wrap(x.i, width_of(in))};
  case LLVMSIToFP: return (value){.f = (double)x.i};
  case LLVMUIToFP: return (value){.f = (double)zero_extended(x.i, width_of(from))};
  case LLVMFPToSI:
  case LLVMFPToUI: return (value){.i = fabs(x.f) < 9e18 ? wrap((int64_t)x.f, width_of(in)) : 0};
  case LLVMBitCast: return bit_cast(x, LLVMTypeOf(from), LLVMTypeOf(in));
  default: return x; /* sext, fpext, fptrunc, freeze: the value as it is */
  }
}

/* An i1, whose true is -1 when sign-extended. */
static value truth(bool is) { return (value){.i = -(int64_t)is}; }

static value evaluate(run *r, LLVMValueRef in) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
  value a = operand(r, in, 0);
  switch (opcode) {
  case LLVMFNeg: return (value){.f = -a.f};
  case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv:
    return (value){.f = float_op(opcode, a.f, operand(r, in, 1).f)};
  case LLVMFCmp:
    return truth(compare_floats(LLVMGetFCmpPredicate(in), a.f, operand(r, in, 1).f));
  case LLVMICmp:
    return truth(compare_integers(LLVMGetICmpPredicate(in), a.i, operand(r, in, 1).i,
                                  width_of(LLVMGetOperand(in, 0))));
  case LLVMSelect: return a.i & 1 ? operand(r, in, 1) : operand(r, in, 2);
  case LLVMCall: return call_op(r, in);
  case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMAnd: case LLVMOr: case LLVMXor:
  case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMUDiv: case LLVMSDiv: case LLVMURem:
  case LLVMSRem:
    return (value){.i = wrap(integer_op(opcode, a.i, operand(r, in, 1).i, width_of(in)),
                             width_of(in))};
  default: return cast_op(opcode, in, a);
  }
}

/* ---- blocks and calls ---- */

/* All phis of a block read what stood before any of them is set. */
static LLVMValueRef enter_block(run *r, LLVMBasicBlockRef from, LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block), in = first;
  for (; in && LLVMIsAPHINode(in); in = LLVMGetNextInstruction(in))
    for (unsigned i = 0; i < LLVMCountIncoming(in); i++)
      if (LLVMGetIncomingBlock(in, i) == from)
        slot_of(r->user, in)->next = read_value(r, LLVMGetIncomingValue(in, i));
  for (LLVMValueRef phi = first; phi != in; phi = LLVMGetNextInstruction(phi))
    slot_of(r->user, phi)->now = slot_of(r->user, phi)->next;
  return in;
}

static LLVMBasicBlockRef branch_target(run *r, LLVMValueRef in) {
  if (!LLVMIsConditional(in))
    return LLVMGetSuccessor(in, 0);
  return LLVMGetSuccessor(in, read_value(r, LLVMGetCondition(in)).i & 1 ? 0 : 1);
}

static value run_blocks(run *r, LLVMValueRef function) {
  LLVMBasicBlockRef from = NULL, block = LLVMGetEntryBasicBlock(function);
  LLVMValueRef in = LLVMGetFirstInstruction(block);
  while (in && r->steps++ < MOST_STEPS) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMRet:
      return LLVMGetNumOperands(in) ? operand(r, in, 0) : (value){0};
    case LLVMBr:
      from = block;
      block = branch_target(r, in);
      in = enter_block(r, from, block);
      break;
    default:
      slot_of(r->user, in)->now = evaluate(r, in);
      in = LLVMGetNextInstruction(in);
    }
  }
  return (value){.f = NAN};
}

static value call_function(run *r, LLVMValueRef function, const value *args) {
  if (r->depth == DEEPEST_CALL)
    return (value){.f = NAN};
  r->depth++;
  for (unsigned i = 0; i < LLVMCountParams(function) && i < 4; i++)
    slot_of(r->user, LLVMGetParam(function, i))->now = args[i];
  value result = run_blocks(r, function);
  r->depth--;
  return result;
}

double hd_user_function_call(const hd_user_function *function, double acc, int32_t row,
                             int32_t col) {
  run r = {.user = (hd_user_function *)function};
  bool integer = !is_float(LLVMTypeOf(LLVMGetParam(function->function, 0)));
  value args[4] = {integer ? (value){.i = (int64_t)acc} : (value){.f = acc}, {.i = row},
                   {.i = col}};
  return call_function(&r, function->function, args).f;
}

/* ---- opening ---- */

static bool is_scalar(LLVMTypeRef type) { return is_float(type) || is_integer(type); }

static bool has_scalars(LLVMValueRef in) {
  for (int i = 0; i < LLVMGetNumOperands(in); i++)
    if (!is_scalar(LLVMTypeOf(LLVMGetOperand(in, (unsigned)i))))
      return false;
  return true;
}

/* A function of the module, whatever it is handed on; or one whose value is known here. */
static bool is_evaluated_call(LLVMValueRef in) {
  LLVMValueRef callee = LLVMGetCalledValue(in);
  bool known = false, returns = LLVMGetTypeKind(LLVMTypeOf(in)) != LLVMVoidTypeKind;
  size_t n;
  int64_t unused;
  if (!LLVMIsAFunction(callee) || LLVMGetNumArgOperands(in) > 4 ||
      (returns && !is_scalar(LLVMTypeOf(in))))
    return false;
  if (!LLVMIsDeclaration(callee))
    return true;
  const char *name = LLVMGetValueName2(callee, &n);
  if (returns && is_integer(LLVMTypeOf(in)))
    return integer_call(name, (value[4]){{0}}, width_of(in), &unused);
  math_call(name, (double[4]){0}, &known);
  return known;
}

/* Such as ptrtoint of a function's address. */
static bool has_constant_expression(LLVMValueRef in) {
  for (int i = 0; i < LLVMGetNumOperands(in); i++) {
    LLVMValueRef v = LLVMGetOperand(in, (unsigned)i);
    if (LLVMIsAConstantExpr(v) && is_scalar(LLVMTypeOf(v)))
      return true;
  }
  return false;
}

static bool is_evaluated(LLVMValueRef in) {
  if (has_constant_expression(in))
    return false;
  switch (LLVMGetInstructionOpcode(in)) {
  case LLVMRet:
    return has_scalars(in);
  case LLVMBr:
    return true;
  case LLVMCall:
    return is_evaluated_call(in);
  case LLVMFNeg: case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFCmp:
  case LLVMICmp: case LLVMSelect: case LLVMPHI: case LLVMAdd: case LLVMSub: case LLVMMul:
  case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMShl: case LLVMLShr: case LLVMAShr:
  case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem: case LLVMZExt: case LLVMSExt:
  case LLVMTrunc: case LLVMSIToFP: case LLVMUIToFP: case LLVMFPToSI: case LLVMFPToUI:
  case LLVMBitCast: case LLVMFPExt: case LLVMFPTrunc: case LLVMFreeze:
    return is_scalar(LLVMTypeOf(in)) && has_scalars(in);
  default:
    return false;
  }
}

/* Refuses what has no evaluation; counts values, then gives each its slot. */
static heddle_status visit_values(heddle_context *ctx, hd_user_function *u, bool keep,
                                  size_t *count) {
  for (LLVMValueRef f = LLVMGetFirstFunction(u->module); f; f = LLVMGetNextFunction(f)) {
    for (unsigned i = 0; !LLVMIsDeclaration(f) && i < LLVMCountParams(f); i++, ++*count)
      if (keep)
        slot_of(u, LLVMGetParam(f, i))->key = LLVMGetParam(f, i);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef in = LLVMGetFirstInstruction(b); in;
           in = LLVMGetNextInstruction(in), ++*count) {
        if (!is_evaluated(in))
          return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.evaluate",
                          "the user's function has what is not evaluated here (loads, switch, "
                          "pointers, vectors, some intrinsics), so that nothing tells what is "
                          "right; legal: arithmetic of scalars, br, calls");
        if (keep)
          slot_of(u, in)->key = in;
      }
  }
  return HEDDLE_OK;
}

static heddle_status prepare(heddle_context *ctx, const char *name, hd_user_function *u) {
  size_t n = 0;
  u->function = LLVMGetNamedFunction(u->module, name);
  if (!u->function || LLVMIsDeclaration(u->function) || LLVMCountParams(u->function) != 4 ||
      !is_float(LLVMGetReturnType(LLVMGlobalGetValueType(u->function))))
    return hd_error(
        ctx, HEDDLE_INVALID, HD_NOWHERE, "user.function",
        "the user's IR defines no such function; nearest: define float @%s(float %%acc, "
        "i32 %%row, i32 %%col, ptr %%user)",
        name);
  HD_TRY(visit_values(ctx, u, false, &n));
  for (u->n_slots = 16; u->n_slots < 2 * n;)
    u->n_slots *= 2;
  u->slots = hd_xzalloc(u->n_slots * sizeof *u->slots);
  return visit_values(ctx, u, true, &n);
}

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  (void)info, (void)user; /* the parser's message says it; without a handler LLVM would exit */
}

heddle_status hd_user_function_open(heddle_context *ctx, const char *ir, size_t n_bytes,
                                    const char *name, hd_user_function **function) {
  hd_user_function *u = hd_xzalloc(sizeof *u);
  u->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(u->llvm, ignore_diagnostic, NULL);
  char *message = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, n_bytes, "user function");
  heddle_status status = HEDDLE_OK;
  if (LLVMParseIRInContext2(u->llvm, buffer, &u->module, &message)) {
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "user.parse", "%s",
                      message ? message : "neither LLVM IR nor bitcode");
    LLVMDisposeMessage(message);
    u->module = NULL;
  }
  LLVMDisposeMemoryBuffer(buffer);
  if (status == HEDDLE_OK)
    status = prepare(ctx, name, u);
  if (status == HEDDLE_OK)
    *function = u;
  else
    hd_user_function_free(u);
  return status;
}

void hd_user_function_free(hd_user_function *u) {
  if (!u)
    return;
  if (u->module)
    LLVMDisposeModule(u->module);
  LLVMContextDispose(u->llvm);
  free(u->slots);
  free(u);
}
