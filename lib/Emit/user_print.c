/* Prints the user's optimised function as the text of user_ir.h. What that text cannot express is
 * refused by name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "Emit/user_screen.h"
#include "Emit/user_words.h"
#include "Support/arena.h"
#include "Support/diag.h"

typedef struct printing {
  heddle_context *ctx;
  LLVMTargetDataRef layout;
  hd_strbuf *out;
  int n_helpers; /* values that the printer adds: %h0, … */
} printing;

static heddle_status refuse(const printing *p, LLVMValueRef what) {
  char *text = LLVMPrintValueToString(what);
  heddle_status status = hd_user_refuse(
      p->ctx, "user.text", text, "what optimises to arithmetic of numbers, loads and branches");
  LLVMDisposeMessage(text);
  return status;
}

/* 0: the text has no such type. Pointers to constant memory (4) become generic. */
static hd_user_type type_of(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: {
    unsigned width = LLVMGetIntTypeWidth(type);
    return width <= 64 ? (hd_user_type)width : 0;
  }
  case LLVMHalfTypeKind:
    return HD_USER_HALF;
  case LLVMBFloatTypeKind:
    return HD_USER_BFLOAT;
  case LLVMFloatTypeKind:
    return HD_USER_FLOAT;
  case LLVMDoubleTypeKind:
    return HD_USER_DOUBLE;
  case LLVMPointerTypeKind:
    switch (LLVMGetPointerAddressSpace(type)) {
    case 0:
    case 4:
      return HD_USER_PTR;
    case 1:
      return HD_USER_GLOBAL_PTR;
    default:
      return 0;
    }
  default:
    return 0;
  }
}

static const char *type_name(hd_user_type type, char number[8]) {
  static const char *const names[] = {"half",   "bfloat", "float",
                                      "double", "ptr",    "ptr addrspace(1)"};
  if (!hd_user_is_int(type))
    return names[type - HD_USER_HALF];
  snprintf(number, 8, "i%d", type);
  return number;
}

static void put_type(printing *p, hd_user_type type) {
  char number[8];
  hd_strbuf_add(p->out, type_name(type, number));
}

/* ---- operands ---- */

static uint64_t bits_of(LLVMValueRef real, unsigned width) {
  LLVMTypeRef type = LLVMIntTypeInContext(LLVMGetTypeContext(LLVMTypeOf(real)), width);
  return LLVMConstIntGetZExtValue(LLVMConstBitCast(real, type));
}

static void put_real(printing *p, LLVMValueRef value, hd_user_type type) {
  LLVMBool inexact;
  double number = LLVMConstRealGetDouble(value, &inexact);
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (type == HD_USER_HALF)
    hd_strbuf_printf(p->out, "0xH%04" PRIX64, bits_of(value, 16));
  else if (type == HD_USER_BFLOAT)
    hd_strbuf_printf(p->out, "0xR%04" PRIX64, bits_of(value, 16));
  else
    hd_strbuf_printf(p->out, "0x%016" PRIX64, bits);
}

/* undef and poison may take any value, so they are printed as zero. */
static heddle_status put_operand(printing *p, LLVMValueRef value) {
  hd_user_type type = type_of(LLVMTypeOf(value));
  if (LLVMIsAInstruction(value) || LLVMIsAArgument(value))
    hd_strbuf_printf(p->out, "%%%s", LLVMGetValueName(value));
  else if (LLVMIsAGlobalVariable(value))
    hd_strbuf_printf(p->out, "@%s", LLVMGetValueName(value));
  else if (LLVMIsAConstantInt(value) && type == 1)
    hd_strbuf_add(p->out, LLVMConstIntGetZExtValue(value) ? "true" : "false");
  else if (LLVMIsAConstantInt(value))
    hd_strbuf_printf(p->out, "%lld", LLVMConstIntGetSExtValue(value));
  else if (LLVMIsAConstantFP(value))
    put_real(p, value, type);
  else if (LLVMIsUndef(value) && hd_user_is_int(type))
    hd_strbuf_add(p->out, type == 1 ? "false" : "0");
  else if (LLVMIsUndef(value) && hd_user_is_float(type))
    hd_strbuf_add(p->out, type == HD_USER_HALF     ? "0xH0000"
                          : type == HD_USER_BFLOAT ? "0xR0000"
                                                   : "0.0");
  else
    return hd_user_is_ptr(type)
               ? hd_user_refuse(p->ctx, "user.load", "an address from null, undef or a constant",
                                "through user, and of constants")
               : refuse(p, value);
  return HEDDLE_OK;
}

static heddle_status put_typed(printing *p, LLVMValueRef value) {
  hd_user_type type = type_of(LLVMTypeOf(value));
  if (!type)
    return refuse(p, value);
  put_type(p, type);
  hd_strbuf_add(p->out, " ");
  return put_operand(p, value);
}

/* ---- addresses ---- */

/* Adds index * bytes to the offset: to `constant`, or to helper `sum` by printed instructions. */
static heddle_status add_index(printing *p, LLVMValueRef index, uint64_t bytes, int64_t *constant,
                               int *sum) {
  if (LLVMIsAConstantInt(index)) {
    *constant += LLVMConstIntGetSExtValue(index) * (int64_t)bytes;
    return HEDDLE_OK;
  }
  hd_user_type type = type_of(LLVMTypeOf(index));
  if (!hd_user_is_int(type) || LLVMIsConstant(index))
    return refuse(p, index);
  int wide = p->n_helpers++;
  if (type == 64)
    hd_strbuf_printf(p->out, "  %%h%d = add i64 %%%s, 0\n", wide, LLVMGetValueName(index));
  else
    hd_strbuf_printf(p->out, "  %%h%d = sext i%d %%%s to i64\n", wide, type,
                     LLVMGetValueName(index));
  hd_strbuf_printf(p->out, "  %%h%d = mul i64 %%h%d, %" PRIu64 "\n", p->n_helpers, wide, bytes);
  int term = p->n_helpers++;
  if (*sum >= 0) {
    hd_strbuf_printf(p->out, "  %%h%d = add i64 %%h%d, %%h%d\n", p->n_helpers, *sum, term);
    term = p->n_helpers++;
  }
  *sum = term;
  return HEDDLE_OK;
}

/* The byte offset that a getelementptr adds, for an instruction or a constant. */
static heddle_status sum_indices(printing *p, LLVMValueRef gep, int64_t *constant, int *sum) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
    LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
    if (i == 1) {
      HD_TRY(add_index(p, index, LLVMABISizeOfType(p->layout, type), constant, sum));
    } else if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
      *constant += (int64_t)LLVMOffsetOfElement(p->layout, type, member);
      type = LLVMStructGetTypeAtIndex(type, member);
    } else {
      type = LLVMGetElementType(type);
      HD_TRY(add_index(p, index, LLVMABISizeOfType(p->layout, type), constant, sum));
    }
  }
  return HEDDLE_OK;
}

static heddle_status put_bytes(printing *p, LLVMValueRef gep, const char *result);

/* Names an address: a value or a table. For a constant expression, prints instructions in the
 * current block that compute the address. */
static heddle_status name_address(printing *p, LLVMValueRef address, char name[32]) {
  if (LLVMIsAConstantExpr(address)) {
    LLVMOpcode opcode = LLVMGetConstOpcode(address);
    if (opcode == LLVMAddrSpaceCast && type_of(LLVMTypeOf(address)) == HD_USER_PTR)
      return name_address(p, LLVMGetOperand(address, 0), name);
    if (opcode != LLVMGetElementPtr)
      return refuse(p, address);
    snprintf(name, 32, "%%h%d", p->n_helpers++);
    return put_bytes(p, address, name);
  }
  if (!LLVMIsAInstruction(address) && !LLVMIsAArgument(address) && !LLVMIsAGlobalVariable(address))
    return put_operand(p, address);
  snprintf(name, 32, "%c%s", LLVMIsAGlobalVariable(address) ? '@' : '%', LLVMGetValueName(address));
  return HEDDLE_OK;
}

static heddle_status put_bytes(printing *p, LLVMValueRef gep, const char *result) {
  char base[32] = "", number[8];
  int64_t constant = 0;
  int sum = -1;
  hd_user_type type = type_of(LLVMTypeOf(gep));
  if (!type)
    return refuse(p, gep);
  HD_TRY(name_address(p, LLVMGetOperand(gep, 0), base));
  HD_TRY(sum_indices(p, gep, &constant, &sum));
  const char *pointer = type_name(type, number);
  if (sum >= 0 && constant) {
    hd_strbuf_printf(p->out, "  %%h%d = add i64 %%h%d, %" PRId64 "\n", p->n_helpers, sum, constant);
    sum = p->n_helpers++;
  }
  if (sum >= 0)
    hd_strbuf_printf(p->out, "  %s = getelementptr i8, %s %s, i64 %%h%d\n", result, pointer, base,
                     sum);
  else
    hd_strbuf_printf(p->out, "  %s = getelementptr i8, %s %s, i64 %" PRId64 "\n", result, pointer,
                     base, constant);
  return HEDDLE_OK;
}

/* ---- instructions ---- */

static uint16_t flags_of(LLVMValueRef in) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
  uint16_t flags = LLVMCanValueUseFastMathFlags(in) ? (uint16_t)LLVMGetFastMathFlags(in) : 0;
  switch (opcode) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMTrunc:
    return (uint16_t)((LLVMGetNUW(in) ? HD_USER_NUW : 0) | (LLVMGetNSW(in) ? HD_USER_NSW : 0));
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMLShr:
  case LLVMAShr:
    return LLVMGetExact(in) ? HD_USER_EXACT : 0;
  case LLVMOr:
    return LLVMGetIsDisjoint(in) ? HD_USER_DISJOINT : 0;
  case LLVMZExt:
  case LLVMUIToFP:
    return LLVMGetNNeg(in) ? HD_USER_NNEG : 0;
  case LLVMICmp:
    return LLVMGetICmpSameSign(in) ? HD_USER_SAMESIGN : 0;
  default:
    return flags;
  }
}

static void put_flags(printing *p, uint16_t flags) {
  for (int i = 0; i < hd_n_user_flags; i++)
    if (flags && (flags & hd_user_flags[i].flags) == hd_user_flags[i].flags) {
      hd_strbuf_printf(p->out, "%s ", hd_user_flags[i].word);
      flags &= (uint16_t)~hd_user_flags[i].flags;
    }
}

static heddle_status put_list(printing *p, LLVMValueRef in, int n) {
  for (int i = 0; i < n; i++) {
    if (i)
      hd_strbuf_add(p->out, ", ");
    HD_TRY(put_typed(p, LLVMGetOperand(in, (unsigned)i)));
  }
  return HEDDLE_OK;
}

/* TYPE a, b */
static heddle_status put_pair(printing *p, LLVMValueRef in) {
  HD_TRY(put_typed(p, LLVMGetOperand(in, 0)));
  hd_strbuf_add(p->out, ", ");
  return put_operand(p, LLVMGetOperand(in, 1));
}

static heddle_status put_compare(printing *p, LLVMValueRef in, bool floats) {
  LLVMValueRef b = LLVMGetOperand(in, 1);
  int predicate = floats ? (int)LLVMGetFCmpPredicate(in) - HD_USER_FIRST_FCMP
                         : (int)LLVMGetICmpPredicate(in) - HD_USER_FIRST_ICMP;
  if (predicate < 0 || predicate >= (floats ? HD_N_USER_FCMP : HD_N_USER_ICMP))
    return refuse(p, in);
  hd_strbuf_printf(p->out, "%s ", floats ? hd_user_fcmp[predicate] : hd_user_icmp[predicate]);
  if (!hd_user_is_ptr(type_of(LLVMTypeOf(b))))
    return put_pair(p, in);
  HD_TRY(put_typed(p, LLVMGetOperand(in, 0)));
  hd_strbuf_add(p->out, ", null");
  return LLVMIsNull(b) ? HEDDLE_OK : refuse(p, in);
}

static heddle_status put_phi(printing *p, LLVMValueRef in) {
  put_type(p, type_of(LLVMTypeOf(in)));
  for (unsigned i = 0; i < LLVMCountIncoming(in); i++) {
    hd_strbuf_add(p->out, i ? ", [ " : " [ ");
    HD_TRY(put_operand(p, LLVMGetIncomingValue(in, i)));
    hd_strbuf_printf(p->out, ", %%%s ]", LLVMGetBasicBlockName(LLVMGetIncomingBlock(in, i)));
  }
  return HEDDLE_OK;
}

static heddle_status put_call(printing *p, LLVMValueRef in) {
  const char *name = LLVMGetValueName(LLVMGetCalledValue(in));
  if (hd_user_find_call(name, strlen(name)) < 0)
    return hd_error(p->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.call",
                    "user function: got a call of %.100s; legal: its own functions, and the "
                    "intrinsics of docs/embedding.md",
                    name);
  put_type(p, type_of(LLVMTypeOf(in)));
  hd_strbuf_printf(p->out, " @%s(", name);
  HD_TRY(put_list(p, in, (int)LLVMGetNumArgOperands(in)));
  hd_strbuf_add(p->out, ")");
  return HEDDLE_OK;
}

static void put_label(printing *p, LLVMBasicBlockRef block) {
  hd_strbuf_printf(p->out, "label %%%s", LLVMGetBasicBlockName(block));
}

static heddle_status put_branch(printing *p, LLVMValueRef in) {
  if (!LLVMIsConditional(in)) {
    put_label(p, LLVMGetSuccessor(in, 0));
    return HEDDLE_OK;
  }
  HD_TRY(put_typed(p, LLVMGetCondition(in)));
  hd_strbuf_add(p->out, ", ");
  put_label(p, LLVMGetSuccessor(in, 0));
  hd_strbuf_add(p->out, ", ");
  put_label(p, LLVMGetSuccessor(in, 1));
  return HEDDLE_OK;
}

static heddle_status put_switch(printing *p, LLVMValueRef in) {
  HD_TRY(put_typed(p, LLVMGetOperand(in, 0)));
  hd_strbuf_add(p->out, ", ");
  put_label(p, LLVMGetSwitchDefaultDest(in));
  hd_strbuf_add(p->out, " [");
  for (unsigned i = 1; i < LLVMGetNumSuccessors(in); i++) {
    hd_strbuf_add(p->out, " ");
    HD_TRY(put_typed(p, LLVMGetSwitchCaseValue(in, i)));
    hd_strbuf_add(p->out, ", ");
    put_label(p, LLVMGetSuccessor(in, i));
  }
  hd_strbuf_add(p->out, " ]");
  return HEDDLE_OK;
}

static heddle_status put_body(printing *p, LLVMValueRef in, hd_user_op op) {
  switch (hd_user_ops[op].class) {
  case HD_USER_INTEGERS:
  case HD_USER_FLOATS:
    return put_pair(p, in);
  case HD_USER_ONE_FLOAT:
  case HD_USER_SAME:
    return put_typed(p, LLVMGetOperand(in, 0));
  case HD_USER_CAST:
    HD_TRY(put_typed(p, LLVMGetOperand(in, 0)));
    hd_strbuf_add(p->out, " to ");
    put_type(p, type_of(LLVMTypeOf(in)));
    return HEDDLE_OK;
  case HD_USER_OTHER:
    break;
  }
  switch (op) {
  case HD_USER_LLVMICmp:
    return put_compare(p, in, false);
  case HD_USER_LLVMFCmp:
    return put_compare(p, in, true);
  case HD_USER_LLVMSelect:
    return put_list(p, in, 3);
  case HD_USER_LLVMPHI:
    return put_phi(p, in);
  case HD_USER_LLVMCall:
    return put_call(p, in);
  case HD_USER_LLVMBr:
    return put_branch(p, in);
  case HD_USER_LLVMSwitch:
    return put_switch(p, in);
  default:
    return put_typed(p, LLVMGetOperand(in, 0)); /* ret */
  }
}

static heddle_status put_load(printing *p, LLVMValueRef in) {
  char address[32] = "", type[8], pointer[8];
  hd_user_type loaded = type_of(LLVMTypeOf(in));
  hd_user_type from = type_of(LLVMTypeOf(LLVMGetOperand(in, 0)));
  if (!loaded || !from)
    return refuse(p, in);
  HD_TRY(name_address(p, LLVMGetOperand(in, 0), address));
  hd_strbuf_printf(p->out, "  %%%s = load %s, %s %s, align %u\n", LLVMGetValueName(in),
                   type_name(loaded, type), type_name(from, pointer), address,
                   LLVMGetAlignment(in));
  return HEDDLE_OK;
}

/* Keeps a getelementptr with one index and a loadable element type; others become byte offsets. */
static heddle_status put_address(printing *p, LLVMValueRef in) {
  char name[32];
  hd_user_type element = type_of(LLVMGetGEPSourceElementType(in));
  LLVMValueRef base = LLVMGetOperand(in, 0);
  snprintf(name, sizeof name, "%%%s", LLVMGetValueName(in));
  if (LLVMGetNumOperands(in) != 2 || !element || !hd_user_memory_bits(element) ||
      LLVMIsAConstantExpr(base))
    return put_bytes(p, in, name);
  unsigned flags = LLVMGEPGetNoWrapFlags(in);
  hd_strbuf_printf(p->out, "  %s = getelementptr ", name);
  put_flags(p, (uint16_t)((flags & LLVMGEPFlagInBounds ? HD_USER_INBOUNDS : 0) |
                          (flags & LLVMGEPFlagNUSW ? HD_USER_NUSW : 0) |
                          (flags & LLVMGEPFlagNUW ? HD_USER_NUW : 0)));
  put_type(p, element);
  hd_strbuf_add(p->out, ", ");
  HD_TRY(put_list(p, in, 2));
  hd_strbuf_add(p->out, "\n");
  return HEDDLE_OK;
}

/* True for a freeze of an address, and for an addrspacecast that keeps the type of the text. */
static bool is_same_address(LLVMValueRef in) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
  return (opcode == LLVMFreeze || opcode == LLVMAddrSpaceCast) &&
         hd_user_is_ptr(type_of(LLVMTypeOf(in))) &&
         type_of(LLVMTypeOf(in)) == type_of(LLVMTypeOf(LLVMGetOperand(in, 0)));
}

static heddle_status put_same_address(printing *p, LLVMValueRef in) {
  char address[32] = "", type[8];
  HD_TRY(name_address(p, LLVMGetOperand(in, 0), address));
  hd_strbuf_printf(p->out, "  %%%s = getelementptr i8, %s %s, i64 0\n", LLVMGetValueName(in),
                   type_name(type_of(LLVMTypeOf(in)), type), address);
  return HEDDLE_OK;
}

static heddle_status put_instruction(printing *p, LLVMValueRef in) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
  bool has_result = LLVMGetTypeKind(LLVMTypeOf(in)) != LLVMVoidTypeKind;
  int op = 0;
  while (op < HD_N_USER_OPS && hd_user_ops[op].opcode != (int)opcode)
    op++;
  if (opcode == LLVMCall && !has_result) /* of the allowed calls, only hints return void */
    return HEDDLE_OK;
  if (op == HD_N_USER_OPS || (has_result && !type_of(LLVMTypeOf(in))))
    return refuse(p, in);
  if (opcode == LLVMLoad)
    return put_load(p, in);
  if (opcode == LLVMGetElementPtr)
    return put_address(p, in);
  if (is_same_address(in))
    return put_same_address(p, in);
  hd_strbuf_add(p->out, "  ");
  if (has_result)
    hd_strbuf_printf(p->out, "%%%s = ", LLVMGetValueName(in));
  hd_strbuf_printf(p->out, "%s ", hd_user_ops[op].name);
  put_flags(p, flags_of(in));
  HD_TRY(put_body(p, in, (hd_user_op)op));
  hd_strbuf_add(p->out, "\n");
  return HEDDLE_OK;
}

/* ---- tables ---- */

static bool flatten(LLVMTargetDataRef layout, LLVMValueRef value, uint8_t *bytes, size_t n_bytes) {
  LLVMTypeRef type = LLVMTypeOf(value);
  hd_user_type number = type_of(type);
  if (LLVMIsNull(value) || LLVMIsUndef(value))
    return true;
  if (LLVMIsAConstantInt(value) || LLVMIsAConstantFP(value)) {
    int width = hd_user_memory_bits(number);
    uint64_t bits = LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value)
                    : width                   ? bits_of(value, (unsigned)width)
                                              : 0;
    for (int i = 0; i < width / 8 && (size_t)i < n_bytes; i++)
      bytes[i] = (uint8_t)(bits >> 8 * i);
    return width > 0 && (size_t)width / 8 <= n_bytes;
  }
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  unsigned n = kind == LLVMStructTypeKind  ? LLVMCountStructElementTypes(type)
               : kind == LLVMArrayTypeKind ? (unsigned)LLVMGetArrayLength2(type)
                                           : 0;
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef element = LLVMGetAggregateElement(value, i);
    uint64_t at = kind == LLVMStructTypeKind
                      ? LLVMOffsetOfElement(layout, type, i)
                      : i * LLVMABISizeOfType(layout, LLVMGetElementType(type));
    if (!element || at > n_bytes || !flatten(layout, element, bytes + at, n_bytes - at))
      return false;
  }
  return n > 0;
}

/* Prints the constants that are still used, as arrays of bytes. */
static heddle_status put_tables(printing *p, LLVMModuleRef module) {
  size_t all = 0;
  int n = 0;
  for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
    if (!LLVMGetFirstUse(g))
      continue;
    size_t n_bytes = (size_t)LLVMABISizeOfType(p->layout, LLVMGlobalGetValueType(g));
    unsigned align = LLVMGetAlignment(g);
    if (n_bytes < 1 || n_bytes > HD_USER_TABLE_BYTES || (all += n_bytes) > HD_USER_TABLE_BYTES ||
        ++n > HD_USER_TABLES)
      return hd_user_refuse(p->ctx, "user.global", "more constants", "16, of 64 KiB together");
    uint8_t *bytes = hd_try_zalloc(p->ctx, n_bytes, "a constant");
    if (!bytes)
      return HEDDLE_NO_MEMORY;
    bool numbers = flatten(p->layout, LLVMGetInitializer(g), bytes, n_bytes);
    hd_strbuf_printf(p->out, "@%s = constant [%zu x i8] [", LLVMGetValueName(g), n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
      hd_strbuf_printf(p->out, "%si8 %d", i ? ", " : "", (int8_t)bytes[i]);
    hd_strbuf_printf(p->out, "], align %u\n", align >= 16 && align <= 256 ? align : 16);
    hd_free(bytes);
    if (!numbers)
      return hd_user_refuse(p->ctx, "user.global", LLVMGetValueName(g), "constants of numbers");
  }
  return HEDDLE_OK;
}

/* ---- the function ---- */

/* Replaces all names, so that no user's name appears in the text. LLVM makes the names unique. */
static void rename_all(LLVMModuleRef module, LLVMValueRef function) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
    LLVMSetValueName2(g, "table", 5);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    LLVMSetValueName2(LLVMGetParam(function, i), "a", 1);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMSetValueName2(LLVMBasicBlockAsValue(b), "b", 1);
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind)
        LLVMSetValueName2(i, "v", 1);
  }
}

heddle_status hd_user_print(heddle_context *ctx, LLVMModuleRef module, LLVMValueRef function,
                            const char *name, const LLVMBasicBlockRef *order, size_t n_blocks,
                            hd_strbuf *text) {
  printing p = {.ctx = ctx, .out = text, .layout = LLVMGetModuleDataLayout(module)};
  rename_all(module, function);
  HD_TRY(put_tables(&p, module));
  hd_strbuf_printf(text, "define float @%s(", name);
  for (unsigned i = 0; i < LLVMCountParams(function); i++) {
    hd_strbuf_add(text, i ? ", " : "");
    HD_TRY(put_typed(&p, LLVMGetParam(function, i)));
  }
  hd_strbuf_add(text, ") {\n");
  for (size_t i = 0; i < n_blocks; i++) {
    hd_strbuf_printf(text, "%s:\n", LLVMGetBasicBlockName(order[i]));
    for (LLVMValueRef in = LLVMGetFirstInstruction(order[i]); in; in = LLVMGetNextInstruction(in))
      HD_TRY(put_instruction(&p, in));
  }
  hd_strbuf_add(text, "}\n");
  return HEDDLE_OK;
}
