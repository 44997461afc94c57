/* Emit/user_ir.h: the user's epilogue function: one function of scalars without loops or stores,
 * which calls only some intrinsics, in a bounded subset of LLVM's text form (docs/embedding.md).
 * This folder parses it itself, because LLVM ends the process on bad input. All other LLVM IR is
 * first converted to this subset in a separate process (user_worker.h). */
#ifndef HD_USER_IR_H
#define HD_USER_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

enum {
  HD_USER_TEXT_BYTES = 1 << 20,
  HD_USER_INSTRUCTIONS = 256, /* the kernel contains some hundred copies of each */
  HD_USER_BLOCKS = 128,
  HD_USER_EDGES = 1024, /* incoming values of phis, and cases of switches */
  HD_USER_TABLES = 16,
  HD_USER_TABLE_BYTES = 64 * 1024 /* of all tables together */
};

/* Values 1 to 64: an integer of that width. */
typedef uint8_t hd_user_type;
enum {
  HD_USER_HALF = 65,
  HD_USER_BFLOAT,
  HD_USER_FLOAT,
  HD_USER_DOUBLE,
  HD_USER_PTR,       /* generic */
  HD_USER_GLOBAL_PTR /* ptr addrspace(1) */
};
static inline bool hd_user_is_int(hd_user_type t) {
  return t >= 1 && t <= 64;
}
static inline bool hd_user_is_float(hd_user_type t) {
  return t >= HD_USER_HALF && t <= HD_USER_DOUBLE;
}
static inline bool hd_user_is_ptr(hd_user_type t) {
  return t >= HD_USER_PTR;
}

typedef enum hd_user_op {
#define USER_OP(name, opcode, class, flags) HD_USER_##opcode,
#include "Emit/user_ops.def"
#undef USER_OP
  HD_N_USER_OPS
} hd_user_op;

/* Flags of an instruction; the first seven are LLVMFastMathFlags. */
enum {
  HD_USER_FAST = 0x7f,
  HD_USER_NUW = 0x80,
  HD_USER_NSW = 0x100,
  HD_USER_EXACT = 0x200,
  HD_USER_DISJOINT = 0x400,
  HD_USER_NNEG = 0x800,
  HD_USER_SAMESIGN = 0x1000,
  HD_USER_INBOUNDS = 0x2000,
  HD_USER_NUSW = 0x4000
};

/* Index of each argument among the values. The results of instructions follow the arguments.
 * HD_USER_UP exists only for pairs. */
typedef enum hd_user_argument {
  HD_USER_ACC, /* or gate */
  HD_USER_ROW,
  HD_USER_COL,
  HD_USER_POINTER,
  HD_USER_UP,
  HD_USER_ARGUMENTS
} hd_user_argument;

typedef enum hd_user_kind {
  HD_USER_VALUE, /* `index`: an hd_user_argument, or HD_USER_ARGUMENTS + an instruction */
  HD_USER_INT,   /* i, sign-extended */
  HD_USER_REAL,  /* f, exactly representable in its type */
  HD_USER_NULL,
  HD_USER_TABLE /* the address of table `index` */
} hd_user_kind;

typedef struct hd_user_operand {
  hd_user_kind kind;
  hd_user_type type;
  union {
    int32_t index;
    int64_t i;
    double f;
  };
} hd_user_operand;

/* phi: an incoming value and its block. switch: a case's constant and its destination block. */
typedef struct hd_user_edge {
  hd_user_operand value;
  int32_t block;
} hd_user_edge;

typedef struct hd_user_instruction {
  hd_user_op op;
  hd_user_type type;    /* of the result */
  hd_user_type element; /* getelementptr: the source element type */
  uint16_t flags;
  uint8_t predicate; /* LLVMIntPredicate, LLVMRealPredicate */
  int8_t n_operands;
  int32_t align; /* load: in bytes; 0: the natural alignment of the type */
  int32_t call;  /* row of user_calls.def */
  hd_user_operand operand[3];
  int32_t block[2];            /* br: destinations; switch: the default; -1: none */
  int32_t first_edge, n_edges; /* phi, switch */
} hd_user_instruction;

/* A constant array in memory. */
typedef struct hd_user_table {
  const char *name; /* borrowed from the text; name_bytes long */
  size_t name_bytes;
  int32_t first_byte, n_bytes, align;
} hd_user_table;

/* Blocks are in order. Each one is a range of instructions. Branches go forward only. */
typedef struct hd_user_function {
  bool integer; /* true: the first argument is i32; false: float */
  bool pair;    /* (gate, up, row, col, user); else (acc, row, col, user) */
  int32_t n_instructions, n_blocks, n_edges, n_tables, n_table_bytes;
  hd_user_instruction instruction[HD_USER_INSTRUCTIONS];
  int32_t block_end[HD_USER_BLOCKS]; /* index of the first instruction after the block */
  hd_user_edge edge[HD_USER_EDGES];
  hd_user_table table[HD_USER_TABLES];
  uint8_t table_bytes[HD_USER_TABLE_BYTES];
} hd_user_function;

/* The user's LLVM IR, text or bitcode. worker: the path of heddle-epilogue, which converts LLVM IR
 * to the subset that is parsed here; NULL: only that subset is accepted. All borrowed. */
typedef struct hd_user_source {
  const char *ir;
  size_t n_bytes;
  const char *worker;
} hd_user_source;

/* Finds and reads the function `name` (owned, hd_free). HEDDLE_INVALID or HEDDLE_UNSUPPORTED, with
 * the name of the construct, for what an epilogue may not contain; HEDDLE_ENVIRONMENT if the worker
 * cannot be started. */
heddle_status hd_user_read(heddle_context *ctx, const hd_user_source *source, const char *name,
                           hd_user_function **function);
/* Parses the subset, without a worker. *function is the caller's memory. */
heddle_status hd_user_parse(heddle_context *ctx, const char *text, size_t n_bytes, const char *name,
                            hd_user_function *function);

/* The host memory that `user` points to. After a load outside of it or of a table, is_outside is
 * true and `outside` is the offset of the first such load, in bytes from the start. */
typedef struct hd_user_memory {
  const uint8_t *data;
  size_t n_bytes;
  bool is_outside;
  int64_t outside;
} hd_user_memory;

/* Evaluates the function on the host, with every operation in double precision. memory may be
 * NULL: empty. A floating-point load outside yields NaN, as does what cannot be evaluated. */
double hd_user_call(const hd_user_function *function, hd_user_memory *memory, double acc, double up,
                    int32_t row, int32_t col);
/* HEDDLE_UNSUPPORTED for what hd_user_call does not evaluate: pointers loaded from memory,
 * comparisons of pointers, bitcasts from and to i16. */
heddle_status hd_user_check_evaluated(heddle_context *ctx, const hd_user_function *function);

#endif
