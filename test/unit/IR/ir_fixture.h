/* Helpers of the IR's tests: cmocka and its includes, parsing and printing, diagnostics. */
#ifndef IR_FIXTURE_H
#define IR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "IR/ir.h"
#include "IR/op_info.h"

/* The printed module; free(). */
char *fixture_print(const hd_module *module);
/* Parses a text that must be valid. */
hd_module *fixture_parse(const char *text);
/* Whether the context has an error with that rule at that line (0: any). */
bool fixture_has_error(const heddle_context *ctx, const char *rule, uint32_t line);
/* Fails the test with all diagnostics of the context. */
void fixture_fail(const heddle_context *ctx, const char *what);
/* Fails the test unless the modules are equal, except for names and locations. */
void fixture_assert_same(const hd_module *x, const hd_module *y);
/* A whole file of the source tree; free(). */
char *fixture_read(const char *path, size_t *n_bytes);

/* A module with one kernel, and a builder at the end of the kernel. */
typedef struct fixture_kernel {
  hd_module *module;
  hd_op *kernel;
  hd_builder b;
} fixture_kernel;
fixture_kernel fixture_make(hd_level level, bool sync_placed);
/* Returns a value of a type, defined by an op with only that result. */
hd_value *fixture_value(hd_builder *b, hd_type type);
/* The type that a letter of ops.def denotes ('.': i32). */
hd_type fixture_type(char letter);
/* Sets an attribute to a value of its kind. */
void fixture_set(hd_module *module, hd_op *op, hd_attr_key key);

#endif
