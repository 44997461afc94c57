/* Reports errors of the verifier to the context. */
#include "IR/verify.h"

#include <stdarg.h>
#include <stdio.h>

static void report(hd_verifier *v, heddle_status status, const hd_op *op, const char *rule,
                   const char *format, va_list args) {
  v->status = v->blame ? HEDDLE_INTERNAL : v->status == HEDDLE_INVALID ? HEDDLE_INVALID : status;
  if (v->n_errors++ >= HD_MAX_ERRORS)
    return;
  char text[600];
  vsnprintf(text, sizeof text, format, args);
  if (v->blame)
    hd_error(v->ctx, v->status, op->loc, rule, "after pass %s: %s: %s", v->blame,
             hd_op_get_info(op->kind)->text, text);
  else
    hd_error(v->ctx, v->status, op->loc, rule, "%s: %s", hd_op_get_info(op->kind)->text, text);
}

void hd_verify_fail(hd_verifier *v, const hd_op *op, const char *rule, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(v, HEDDLE_INVALID, op, rule, format, args);
  va_end(args);
}

void hd_verify_unsupported(hd_verifier *v, const hd_op *op, const char *rule, const char *format,
                           ...) {
  va_list args;
  va_start(args, format);
  report(v, HEDDLE_UNSUPPORTED, op, rule, format, args);
  va_end(args);
}
