/* The simulator's limit of instructions grows with the product at least as fast as the kernels'
 * instructions, also for the smallest tiles. So no product is too large for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "trial/trial.h"

static const char text[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"k\", target = \"sm_90a\"} {\n"
    "  %m: i32 = size {dim = m, value = 64}\n"
    "  %n: i32 = size {dim = n, value = 1}\n"
    "  %k: i32 = size {dim = k, max = 65536, divisible_by = 64}\n"
    "  %a: matrix<f16> = sparse %m, %k {type = f16}\n"
    "  %b: matrix<f16> = dense %k, %n {type = f16, operand = b, order = k_major}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = f32, order = row_major}\n"
    "}\n";

static int64_t instructions(const char *target, const char *schedule, int64_t k) {
  heddle_context *ctx = heddle_context_create();
  heddle_compile_options options = {.target = target, .schedule = schedule};
  trial_kernel kernel = {0};
  trial_request request = {.seed = 1, .exact = true};
  trial_result result = {0};
  request.size[HD_ARG_K] = k;
  heddle_status status = trial_kernel_compile(ctx, "k", text, strlen(text), &options, &kernel);
  if (status == HEDDLE_OK)
    status = trial_run(ctx, &kernel, &request, NULL, &result);
  if (status != HEDDLE_OK || !result.ok)
    fprintf(stderr, "%s %s: %s %s\n", target, schedule, hd_first_error_text(ctx, ""), result.why);
  assert_true(status == HEDDLE_OK && result.ok);
  trial_kernel_free(&kernel);
  heddle_context_free(ctx);
  return (int64_t)result.n_instructions;
}

static void the_limit_grows_as_kernels_do(void **state) {
  (void)state;
  static const struct {
    const char *target, *schedule;
  } kernels[] = {{"sm_90a", "tile=64x8"}, {"sm_90a", "tile=64x8 stages=2"},
                 {"sm_80", "tile=64x8"},  {"sm_100a", "tile=128x16"}};
  for (size_t i = 0; i < HD_COUNT(kernels); i++) {
    int64_t few = instructions(kernels[i].target, kernels[i].schedule, 1024);
    int64_t many = instructions(kernels[i].target, kernels[i].schedule, 4096);
    uint64_t least = trial_most_steps(64, 1, 1024), most = trial_most_steps(64, 1, 4096);
    assert_true(many > few && most > least);
    if (2 * (many - few) > (int64_t)(most - least))
      fprintf(stderr, "%s %s: %lld more instructions, %lld more allowed\n", kernels[i].target,
              kernels[i].schedule, (long long)(many - few), (long long)(most - least));
    assert_true(2 * (many - few) <= (int64_t)(most - least));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_limit_grows_as_kernels_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
