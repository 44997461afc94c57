/* Kernel/args.h: the arguments that a kernel may take (listed in args.def), and integer expressions
 * of them. Uses Support only. */
#ifndef HD_ARGS_H
#define HD_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "Support/strbuf.h"
#include "heddle/context.h"
#include "heddle/kernel.h"

/* A problem's arguments. Pointers are device pointers. Sizes are in elements, i32; strides in
 * elements, i64 (row pitch of the stored matrix); scalars f32. */
typedef enum hd_arg_kind {
  HD_ARG_NONE = 0, /* in an expression: the constant 1 */
#define HD_ARG(kind, name, class) HD_ARG_##kind,
#include "Kernel/args.def"
#undef HD_ARG
  HD_N_ARG_KINDS
} hd_arg_kind;

/* The name ("a", "ldb", …) and the class of a kind. */
const char *hd_arg_name(hd_arg_kind kind);
heddle_arg_class hd_arg_class_of(hd_arg_kind kind);
/* An argument's value in the representation of hd_values. */
uint64_t hd_arg_bits(heddle_arg_class class, heddle_arg arg);
/* The arguments that weights_ready covers: A and its block scales. */
static inline bool hd_arg_is_weights(hd_arg_kind kind) {
  return kind == HD_ARG_A || kind == HD_ARG_BLOCK_SCALE_A;
}
/* is_result: a launch overwrites the argument. is_written: the results and the workspace. */
static inline bool hd_arg_is_result(hd_arg_kind kind) {
  return kind == HD_ARG_D || kind == HD_ARG_SCALE_D || kind == HD_ARG_AUX ||
         kind == HD_ARG_TWIN || kind == HD_ARG_MASK;
}
static inline bool hd_arg_is_written(hd_arg_kind kind) {
  return hd_arg_is_result(kind) || kind == HD_ARG_WORKSPACE;
}
/* True for a size, pitch or stride. */
static inline bool hd_arg_is_size(hd_arg_kind kind) {
  heddle_arg_class of = hd_arg_class_of(kind);
  return of == HEDDLE_CLASS_I32 || of == HEDDLE_CLASS_I64;
}
/* True for the distance between an operand's matrices in a batch. The value 0: one matrix. */
static inline bool hd_arg_is_batch_stride(hd_arg_kind kind) {
  return kind >= HD_ARG_STRIDE_A && kind <= HD_ARG_STRIDE_SCALE_B;
}
/* The C parameter type; the name can follow directly: "const void *", "int32_t ". */
const char *hd_arg_c_type(hd_arg_kind kind);
/* Finds a kind by name, "none" included. HEDDLE_NOT_FOUND for an unknown name. */
heddle_status hd_arg_parse(const char *name, hd_arg_kind *kind);

/* ceil((arg * mul + add) / div). arg NONE has the value 1. div 0: no expression. */
typedef struct hd_expr {
  hd_arg_kind arg;
  int64_t mul, add, div;
} hd_expr;

static inline bool hd_expr_is(const hd_expr *x, hd_arg_kind arg, int64_t mul, int64_t div) {
  return x->arg == arg && x->mul == mul && x->add == 0 && x->div == div;
}
/* Prints ARG*MUL+ADD/DIV without the neutral parts: "ldb*2", "n/2", "64"; "" if div is 0. */
void hd_expr_print(const hd_expr *x, hd_strbuf *out);
/* Parses the output of hd_expr_print. HEDDLE_INVALID (*x untouched) for any other text, and for a
 * number of more than 15 digits. */
heddle_status hd_expr_parse(const char *text, hd_expr *x);

#endif
