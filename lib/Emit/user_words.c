#include "Emit/user_words.h"

#include <string.h>

#include <llvm-c/Core.h>

#include "Support/arena.h"

const hd_user_op_info hd_user_ops[HD_N_USER_OPS] = {
#define USER_OP(name, opcode, class, flags) {name, opcode, class, flags},
#include "Emit/user_ops.def"
#undef USER_OP
};

const hd_user_flag hd_user_flags[] = {
    {"fast", HD_USER_FAST}, /* before the flags that it includes */
    {"reassoc", LLVMFastMathAllowReassoc},
    {"nnan", LLVMFastMathNoNaNs},
    {"ninf", LLVMFastMathNoInfs},
    {"nsz", LLVMFastMathNoSignedZeros},
    {"arcp", LLVMFastMathAllowReciprocal},
    {"contract", LLVMFastMathAllowContract},
    {"afn", LLVMFastMathApproxFunc},
    {"nuw", HD_USER_NUW},
    {"nsw", HD_USER_NSW},
    {"exact", HD_USER_EXACT},
    {"disjoint", HD_USER_DISJOINT},
    {"nneg", HD_USER_NNEG},
    {"samesign", HD_USER_SAMESIGN},
    {"inbounds", HD_USER_INBOUNDS},
    {"nusw", HD_USER_NUSW},
};
const int hd_n_user_flags = HD_COUNT(hd_user_flags);

const char *const hd_user_icmp[HD_N_USER_ICMP] = {"eq",  "ne",  "ugt", "uge", "ult",
                                                  "ule", "sgt", "sge", "slt", "sle"};
const char *const hd_user_fcmp[HD_N_USER_FCMP] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                  "uno", "ueq", "ugt", "uge", "ult", "ule", "une"};

const hd_user_call_info hd_user_calls[] = {
#define USER_CALL(name, known, type, n, flag, math)                                                \
  {name, known, type, n, flag, HD_USER_MATH_##math},
#include "Emit/user_calls.def"
#undef USER_CALL
};

int32_t hd_user_find_call(const char *name, size_t n_bytes) {
  for (size_t i = 0; i < HD_COUNT(hd_user_calls); i++)
    if (strlen(hd_user_calls[i].name) == n_bytes &&
        memcmp(hd_user_calls[i].name, name, n_bytes) == 0)
      return (int32_t)i;
  return -1;
}

static int float_bits(hd_user_type t) {
  return t == HD_USER_DOUBLE ? 64 : t == HD_USER_FLOAT ? 32 : 16;
}

static int bits_of(hd_user_type t) {
  return hd_user_is_int(t) ? t : hd_user_is_float(t) ? float_bits(t) : 64;
}

int hd_user_memory_bits(hd_user_type t) {
  int bits = bits_of(t);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits : 0;
}

bool hd_user_can_cast(hd_user_op op, hd_user_type from, hd_user_type to) {
  bool ints = hd_user_is_int(from) && hd_user_is_int(to);
  bool floats = hd_user_is_float(from) && hd_user_is_float(to);
  switch (op) {
  case HD_USER_LLVMTrunc:
    return ints && from > to;
  case HD_USER_LLVMZExt:
  case HD_USER_LLVMSExt:
    return ints && from < to;
  case HD_USER_LLVMFPToUI:
  case HD_USER_LLVMFPToSI:
    return hd_user_is_float(from) && hd_user_is_int(to);
  case HD_USER_LLVMUIToFP:
  case HD_USER_LLVMSIToFP:
    return hd_user_is_int(from) && hd_user_is_float(to);
  case HD_USER_LLVMFPTrunc:
    return floats && float_bits(from) > float_bits(to);
  case HD_USER_LLVMFPExt:
    return floats && float_bits(from) < float_bits(to);
  case HD_USER_LLVMBitCast:
    return !hd_user_is_ptr(from) && !hd_user_is_ptr(to) && bits_of(from) == bits_of(to);
  case HD_USER_LLVMAddrSpaceCast:
    return hd_user_is_ptr(from) && hd_user_is_ptr(to) && from != to;
  default:
    return false;
  }
}
