/* Emit/user_evaluate.h: the user's epilogue function in double precision on the host, so that a
 * kernel that calls it can be judged. */
#ifndef HD_USER_EVALUATE_H
#define HD_USER_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

typedef struct hd_user_function hd_user_function;

/* Reads LLVM IR or bitcode and finds the function `name` (owned: hd_user_function_free).
 * HEDDLE_INVALID when it is not there, or of another type; HEDDLE_UNSUPPORTED for what has no
 * evaluation here: loads, pointers, vectors, aggregates, switch, some intrinsics. */
heddle_status hd_user_function_open(heddle_context *ctx, const char *ir, size_t n_bytes,
                                    const char *name, hd_user_function **function);
void hd_user_function_free(hd_user_function *function); /* accepts NULL */

/* Its value; every operation in double precision. NaN when it does not come to an end within
 * 100,000 instructions. One thread at a time. */
double hd_user_function_call(const hd_user_function *function, double acc, int32_t row,
                             int32_t col);

#endif
