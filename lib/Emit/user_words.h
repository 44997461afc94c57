/* Emit/user_words.h: the keywords of the user's epilogue, shared by the parser (user_parse.c), the
 * printer (user_print.c) and the builder of LLVM IR (user_build.c). */
#ifndef HD_USER_WORDS_H
#define HD_USER_WORDS_H

#include "Emit/user_ir.h"

typedef enum hd_user_class {
  HD_USER_INTEGERS, /* OP FLAGS TYPE a, b */
  HD_USER_FLOATS,
  HD_USER_ONE_FLOAT, /* OP FLAGS TYPE a */
  HD_USER_SAME,      /* OP TYPE a */
  HD_USER_CAST,      /* OP FLAGS TYPE a to TYPE */
  HD_USER_OTHER      /* a syntax of its own */
} hd_user_class;

typedef struct hd_user_op_info {
  const char *name;
  int opcode; /* LLVMOpcode */
  hd_user_class class;
  uint16_t flags; /* the flags that it may carry */
} hd_user_op_info;
extern const hd_user_op_info hd_user_ops[HD_N_USER_OPS];

typedef struct hd_user_flag {
  const char *word;
  uint16_t flags;
} hd_user_flag;
extern const hd_user_flag hd_user_flags[];
extern const int hd_n_user_flags;

/* Predicates of icmp (from "eq" on) and fcmp (from "oeq" on), in the order of LLVM's enums. */
enum { HD_USER_FIRST_ICMP = 32, HD_N_USER_ICMP = 10, HD_USER_FIRST_FCMP = 1, HD_N_USER_FCMP = 14 };
extern const char *const hd_user_icmp[HD_N_USER_ICMP], *const hd_user_fcmp[HD_N_USER_FCMP];

typedef enum hd_user_math {
  HD_USER_MATH_FMA,
  HD_USER_MATH_FABS,
  HD_USER_MATH_MINNUM,
  HD_USER_MATH_MAXNUM,
  HD_USER_MATH_MINIMUM,
  HD_USER_MATH_MAXIMUM,
  HD_USER_MATH_SQRT,
  HD_USER_MATH_FLOOR,
  HD_USER_MATH_CEIL,
  HD_USER_MATH_TRUNC,
  HD_USER_MATH_ROUND,
  HD_USER_MATH_COPYSIGN,
  HD_USER_MATH_EXP2,
  HD_USER_MATH_LOG2,
  HD_USER_MATH_TANH,
  HD_USER_MATH_RCP,
  HD_USER_MATH_RSQRT,
  HD_USER_MATH_SIN,
  HD_USER_MATH_COS,
  HD_USER_MATH_SMIN,
  HD_USER_MATH_SMAX,
  HD_USER_MATH_UMIN,
  HD_USER_MATH_UMAX,
  HD_USER_MATH_ABS
} hd_user_math;

typedef struct hd_user_call_info {
  const char *name, *known; /* name in the text; name that LLVM uses */
  hd_user_type type;
  int8_t n_operands;
  bool has_flag; /* an i1 follows the operands */
  hd_user_math math;
} hd_user_call_info;
extern const hd_user_call_info hd_user_calls[];
/* The index of the intrinsic in hd_user_calls, or -1. */
int32_t hd_user_find_call(const char *name, size_t n_bytes);

/* Bits of a type in memory; 0: the type cannot be loaded. */
int hd_user_memory_bits(hd_user_type type);
/* True if LLVM's cast `op` accepts these types. */
bool hd_user_can_cast(hd_user_op op, hd_user_type from, hd_user_type to);

#endif
