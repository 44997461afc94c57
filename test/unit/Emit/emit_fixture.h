/* Helpers of the tests of lib/Emit. */
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
/* The same for a module with one kernel of 32 threads with that body, for a target. */
heddle_status emit_body(heddle_context *ctx, const char *target, const char *body,
                        const hd_emit_options *options, hd_emit_result *result);
/* Requires ptxas to accept the text without a remark, spill or stack frame (not checked if ptxas is
 * missing). */
void assert_assembles(heddle_context *ctx, const char *ptx, const char *target);
/* Returns the rule of the first error; "" if there is none. */
const char *first_rule(const heddle_context *ctx);
void print_errors(const heddle_context *ctx);

#endif
