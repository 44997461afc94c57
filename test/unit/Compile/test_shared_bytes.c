/* For all kernels of all examples, compares the estimate of a schedule's shared memory
 * (Schedule/resources.c, before a kernel exists) with the kernel's actual use
 * (IR/shared_layout.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "IR/shared_layout.h"
#include "Passes/front.h"
#include "Passes/plan.h"
#include "Schedule/resources.h"
#include "Support/file.h"

/* Apart from the alignment of the first byte, the estimate is never too low, and only a little too
 * high: it counts mbarriers that some kernels of a family do not have. */
enum { SLACK = 256 };

static int compare_kernels(heddle_context *ctx, hd_module *module) {
  int n = 0;
  HD_FOR_OPS(kernel, module->body) {
    hd_arena arena = {0};
    hd_shared_layout layout;
    hd_plan *plan;
    assert_int_equal(hd_plan_of(ctx, module, kernel, &plan), HEDDLE_OK);
    assert_int_equal(hd_shared_layout_make(ctx, kernel, &arena, &layout), HEDDLE_OK);
    hd_schedule s = plan->s;
    s.store = plan->variant->staged ? s.store : HD_STORE_DIRECT; /* the variant does not stage D */
    int64_t taken_for = hd_schedule_shared_bytes(&plan->p, &s) - HD_SHARED_ALIGN;
    if (layout.n_bytes > taken_for || layout.n_bytes < taken_for - SLACK)
      fail_msg("%s: %lld bytes, estimated as %lld", hd_op_str(kernel, HD_ATTR_NAME),
               (long long)layout.n_bytes, (long long)taken_for);
    hd_arena_free(&arena);
    n++;
  }
  return n;
}

static int compare_file(const char *path) {
  heddle_context *ctx = heddle_context_create();
  hd_pass_context pass = {.ctx = ctx};
  hd_front front;
  char *text = NULL;
  size_t n_bytes = 0;
  assert_int_equal(hd_file_read_text(ctx, path, &text, &n_bytes), HEDDLE_OK);
  assert_int_equal(hd_front_parse(&pass, path, text, n_bytes, &front), HEDDLE_OK);
  assert_int_equal(hd_front_choose(&pass, &front), HEDDLE_OK);
  hd_pipeline_options options = {.start_after = front.last_pass, .stop_after = "insert_fences"};
  assert_int_equal(hd_run_pipeline(&pass, front.module, &options), HEDDLE_OK);
  int n = compare_kernels(ctx, front.module);
  hd_front_free(&front);
  free(text);
  heddle_context_free(ctx);
  return n;
}

static void the_kernel_takes_what_its_schedule_is_taken_for(void **state) {
  glob_t all;
  int n = 0;
  (void)state;
  assert_int_equal(glob(EXAMPLES "/*.heddle", 0, NULL, &all), 0);
  for (size_t i = 0; i < all.gl_pathc; i++)
    n += compare_file(all.gl_pathv[i]);
  assert_true(n > (int)all.gl_pathc);
  globfree(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_kernel_takes_what_its_schedule_is_taken_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
