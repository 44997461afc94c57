/* The memory that a process uses, as Linux reports it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "Bench/self_cost.h"
#include "Support/scratch.h"

static void memory_is_read_or_refused(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_memory_cost cost = {0};
  assert_int_equal(hd_cost_memory(ctx, "/proc/self/status", &cost), HEDDLE_OK);
  assert_true(cost.own_bytes > 0 && cost.file_bytes > 0);
  assert_int_equal(hd_cost_memory(ctx, "/dev/null", &cost), HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "cost.memory");
  heddle_context_free(ctx);
}

/* `true` stands for heddle, and `false` for a heddle that fails. */
static void a_process_is_timed_or_refused(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_process_cost cost = {0};
  hd_scratch folder;
  assert_int_equal(hd_scratch_open(NULL, NULL, &folder), HEDDLE_OK);
  assert_int_equal(hd_cost_process(ctx, "true", "", "", NULL, folder.path, 1, &cost), HEDDLE_OK);
  assert_true(cost.ptx > 0 && cost.cubin == 0);
  assert_int_equal(hd_cost_process(ctx, "false", "", "", NULL, folder.path, 1, &cost),
                   HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "cost.process");
  hd_scratch_close(&folder);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_read_or_refused),
                                     cmocka_unit_test(a_process_is_timed_or_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
