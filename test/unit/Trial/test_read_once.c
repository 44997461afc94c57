/* The steps of `heddle gen` parse the problem once, and the text of a schedule at most once. The
 * linker's --wrap counts the calls of the two parsers, under the functions that gen itself
 * calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "heddle/compile_input.h"
#include "Support/arena.h"

static int problems_read, schedules_parsed;

heddle_status __real_hd_problem_read(heddle_context *, hd_op *, hd_problem *);
heddle_status __wrap_hd_problem_read(heddle_context *, hd_op *, hd_problem *);
heddle_status __wrap_hd_problem_read(heddle_context *ctx, hd_op *kernel, hd_problem *problem) {
  problems_read++;
  return __real_hd_problem_read(ctx, kernel, problem);
}

heddle_status __real_hd_schedule_parse(heddle_context *, hd_loc, const char *, hd_schedule_words *);
heddle_status __wrap_hd_schedule_parse(heddle_context *, hd_loc, const char *, hd_schedule_words *);
heddle_status __wrap_hd_schedule_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                       hd_schedule_words *words) {
  schedules_parsed += text != NULL;
  return __real_hd_schedule_parse(ctx, loc, text, words);
}

/* n: the attribute of its size, a value or a maximum. */
static void generate(const char *n, const char *own, const char *schedule, hd_tuned *tuned) {
  char text[1024];
  snprintf(text, sizeof text,
           "module version=1 level=problem sync=none\n"
           "kernel {name = \"k\", target = \"sm_90a\"%s} {\n"
           "  %%m: i32 = size {dim = m, value = 4096}\n"
           "  %%n: i32 = size {dim = n, %s}\n"
           "  %%k: i32 = size {dim = k, value = 4096}\n"
           "  %%a: matrix<f16> = sparse %%m, %%k {type = f16}\n"
           "  %%b: matrix<f16> = dense %%k, %%n {type = f16, operand = b, order = k_major}\n"
           "  %%x: matrix<f32> = matmul %%a, %%b {acc = f32}\n"
           "  store %%x {type = f16, order = row_major}\n"
           "}\n",
           own, n);
  static const int64_t sizes[HD_N_ARG_KINDS];
  compile_input in = {.text = hd_xstrdup(text),
                      .text_bytes = strlen(text),
                      .schedule = schedule,
                      .tuned = tuned,
                      .no_tuned = !tuned};
  trial_kernel kernel = {0};
  problems_read = schedules_parsed = 0;
  assert_int_equal(compile_input_choose(NULL, &in, sizes, true), HEDDLE_OK);
  assert_int_equal(compile_input_compile(NULL, &in, &kernel), HEDDLE_OK);
  trial_kernel_free(&kernel);
  in.tuned = NULL;
  compile_input_free(&in);
}

static void the_default(void **state) {
  (void)state;
  generate("value = 4096", "", NULL, NULL);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 0);
}

static void a_tuned_choice(void **state) {
  (void)state;
  hd_tuned *tuned;
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  generate("value = 4096", "", NULL, tuned);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 0);
  heddle_tuned_free(tuned);
}

/* Each bucket has its plan without parsing a text. */
static void buckets(void **state) {
  (void)state;
  generate("max = 256", "", NULL, NULL);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 0);
}

static void words_of_ones_own(void **state) {
  (void)state;
  generate("value = 256", "", "tile=128x64 stages=4", NULL);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 1);
  generate("value = 256", ", schedule = \"tile=128x64\"", NULL, NULL);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 1);
  /* Two texts of which one overrides the other; then one text for each of two buckets. */
  generate("value = 256", ", schedule = \"tile=128x64\"", "stages=4", NULL);
  assert_int_equal(schedules_parsed, 2);
  generate("max = 256", "", "n<=64: tile=128x64; tile=128x128", NULL);
  assert_int_equal(problems_read, 1);
  assert_int_equal(schedules_parsed, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_default),
                                     cmocka_unit_test(a_tuned_choice),
                                     cmocka_unit_test(buckets),
                                     cmocka_unit_test(words_of_ones_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
