/* A result that a trial cannot verify, or a fault that it cannot inject, is refused by rule. It is
 * never reported as correct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "Support/diag.h"
#include "trial/trial.h"

static const char text[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"k\", target = \"sm_80\"} {\n"
    "  %m: i32 = size {dim = m, value = 1}\n"
    "  %n: i32 = size {dim = n, value = 8}\n"
    "  %k: i32 = size {dim = k, value = 64}\n"
    "  %a: matrix<f16> = sparse %m, %k {type = f16}\n"
    "  %b: matrix<f16> = dense %k, %n {type = f16, operand = b, order = k_major}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = f32, order = row_major}\n"
    "}\n";

static void refusals_name_their_rule(void **state) {
  (void)state;
  static const struct {
    const char *act; /* of the manifest */
    trial_fault fault;
    heddle_status status;
    const char *rule;
  } cases[] = {{"none", TRIAL_FAULT_NONE, HEDDLE_OK, "none"},
               {"mish", TRIAL_FAULT_NONE, HEDDLE_INTERNAL, "manifest.act"},
               {"user", TRIAL_FAULT_NONE, HEDDLE_UNSUPPORTED, "run.user-epilogue"},
               {"none", TRIAL_FAULT_ROWS, HEDDLE_UNSUPPORTED, "trial.fault"}}; /* M is 1 */
  heddle_context *ctx = heddle_context_create();
  trial_kernel kernel = {0};
  assert_int_equal(trial_kernel_compile(ctx, "k", text, strlen(text), NULL, &kernel), HEDDLE_OK);
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    trial_request request = {.seed = 1, .fault = cases[i].fault};
    trial_result result = {0};
    kernel.manifest.act = cases[i].act;
    assert_int_equal(trial_run(ctx, &kernel, &request, NULL, &result), cases[i].status);
    const heddle_diagnostic *first = hd_first_error(ctx);
    assert_string_equal(first ? first->rule : "none", cases[i].rule);
    heddle_context_clear(ctx);
  }
  trial_kernel_free(&kernel);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(refusals_name_their_rule)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
