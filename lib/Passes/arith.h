/* Passes/arith.h: integer arithmetic that is folded as it is built, to keep the IR readable:
 * constants are folded and unique in a region; x + 0, x - 0, x * 1 and x / 1 become x. */
#ifndef HD_ARITH_H
#define HD_ARITH_H

#include "IR/ir.h"

hd_value *hd_i32(hd_builder *b, int64_t value);
hd_value *hd_i64(hd_builder *b, int64_t value);
/* kind: HD_OP_ADD, SUB, MUL, DIV, REM, MIN, MAX; both operands i32 or both i64. */
hd_value *hd_arith(hd_builder *b, hd_op_kind kind, hd_value *x, hd_value *y);
hd_value *hd_arith_const(hd_builder *b, hd_op_kind kind, hd_value *x, int64_t y);
/* i32 to i64. */
hd_value *hd_widen(hd_builder *b, hd_value *x);
/* The maximum trip count of a loop with step 1, over a constant range or over one of n equal parts
 * of it; INT64_MAX if it is unknown. */
int64_t hd_most_turns(const hd_op *loop);

#endif
