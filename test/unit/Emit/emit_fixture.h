/* What the tests of lib/Emit share. */
#ifndef HD_EMIT_FIXTURE_H
#define HD_EMIT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "Emit/emit.h"
#include "Emit/ptxas.h"

/* Parses a role-level text, verifies it and emits it. */
heddle_status emit_text(heddle_context *ctx, const char *text, const hd_emit_options *options,
                        hd_emit_result *result);
/* The same with the body of one kernel of 32 threads on a target. */
heddle_status emit_body(heddle_context *ctx, const char *target, const char *body,
                        const hd_emit_options *options, hd_emit_result *result);
/* ptxas accepts it without a remark, spill or stack frame (skips the check where ptxas is
 * absent). */
void assert_assembles(heddle_context *ctx, const char *ptx, const char *target);
/* The rule of the first error; "" when there is none. */
const char *first_rule(const heddle_context *ctx);
void print_errors(const heddle_context *ctx);

#endif
