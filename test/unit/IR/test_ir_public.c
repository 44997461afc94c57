/* include/heddle/ir.h as an embedder uses it: no other header of Heddle is included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "heddle/ir.h"

static heddle_problem *smallest(void) {
  heddle_problem *p = heddle_problem_create("linear", "sm_90a");
  heddle_problem_set_size(p, HEDDLE_DIM_M, 4096);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 65536, 8);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 4096);
  heddle_problem_set_a(p, HEDDLE_BF16);
  heddle_problem_set_b(p, HEDDLE_BF16, HEDDLE_K_MAJOR, 0, 8);
  heddle_problem_set_d(p, HEDDLE_BF16, HEDDLE_ROW_MAJOR, 0, 0);
  return p;
}

static char *build_text(const heddle_problem *problem) {
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  char *text = NULL;
  assert_int_equal(heddle_problem_build(ctx, problem, &module), HEDDLE_OK);
  assert_int_equal(heddle_module_print(module, &text, NULL), HEDDLE_OK);
  heddle_module_free(module);
  heddle_context_free(ctx);
  return text;
}

static void a_problem_is_its_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_schedule(p, "stages=4");
  heddle_problem_set_c(p, HEDDLE_F32, HEDDLE_COL_MAJOR, 5000, 0);
  heddle_problem_set_bias(p, HEDDLE_F32, HEDDLE_DIM_M);
  heddle_problem_set_scalars(p, true, true);
  heddle_problem_set_act(p, "gelu");
  char *text = build_text(p);
  assert_string_equal(
      text,
      "module version=1 level=problem sync=none\n"
      "\n"
      "kernel {name = \"linear\", target = \"sm_90a\", schedule = \"stages=4\"} {\n"
      "  %m: i32 = size {dim = m, value = 4096}\n"
      "  %n: i32 = size {dim = n, max = 65536, divisible_by = 8}\n"
      "  %k: i32 = size {dim = k, value = 4096}\n"
      "  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
      "  %b: matrix<bf16> = dense %k, %n {divisible_by = 8, type = bf16, operand = b, order = "
      "k_major}\n"
      "  %c: matrix<f32> = dense %m, %n {type = f32, operand = c, order = col_major, ld = 5000}\n"
      "  %bias: matrix<f32> = vector %m {type = f32, operand = bias}\n"
      "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
      "  %y: matrix<f32> = epilogue %x, %c, %bias {act = gelu, alpha, beta, c, bias}\n"
      "  store %y {type = bf16, order = row_major}\n"
      "}\n");
  free(text);
  heddle_problem_free(p);
}

static void promises_stand_in_the_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_dependent(p, true, true);
  char *text = build_text(p);
  assert_non_null(strstr(text, "target = \"sm_90a\", dependent, weights_ready} {"));
  free(text);
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_problem_set_dependent(p, false, true);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "ir.weights-ready");
  heddle_context_free(ctx);
  heddle_problem_free(p);
}

static void scales_stand_in_the_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_scales(p, HEDDLE_SCALE_VECTOR, HEDDLE_SCALE_ONE);
  char *text = build_text(p);
  assert_non_null(strstr(text,
                         "  %scale_a: matrix<f32> = vector %m {type = f32, operand = scale_a}\n"
                         "  %scale_b: matrix<f32> = vector {type = f32, operand = scale_b}\n"));
  assert_non_null(strstr(text, "epilogue %x, %scale_a, %scale_b {act = none, scale_a, scale_b}"));
  free(text);
  heddle_problem_set_scales(p, HEDDLE_SCALE_NONE, HEDDLE_SCALE_SUMSQ);
  text = build_text(p);
  assert_non_null(strstr(text, "= vector %n {type = f32, operand = scale_b, statistic = sumsq}\n"));
  free(text);
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_problem_set_scales(p, HEDDLE_SCALE_SUMSQ, HEDDLE_SCALE_NONE); /* of B only */
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  heddle_problem_set_scales(p, HEDDLE_SCALE_NONE, (heddle_scale)4);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  heddle_context_free(ctx);
  heddle_problem_free(p);
}

static void block_scales_stand_in_the_text(void **state) {
  (void)state;
  heddle_problem *p = heddle_problem_create("mx", "sm_120a");
  heddle_problem_set_size(p, HEDDLE_DIM_M, 64);
  heddle_problem_set_size(p, HEDDLE_DIM_N, 64);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 256);
  heddle_problem_set_a(p, HEDDLE_E2M1P);
  heddle_problem_set_b(p, HEDDLE_E2M1P, HEDDLE_K_MAJOR, 0, 0);
  heddle_problem_set_d(p, HEDDLE_F32, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_block_scales(p, HEDDLE_UE8M0, 64, 0, 256);
  heddle_problem_set_kind(p, "mxf4nvf4");
  char *text = build_text(p);
  assert_non_null(strstr(text,
                         "  %block_scale_a: matrix<ue8m0> = block_scale %m, %k {type = ue8m0, "
                         "operand = a, block = 64}\n"));
  assert_non_null(strstr(text, "= block_scale %n, %k {type = ue8m0, operand = b, ld = 256, "
                               "block = 64}\n"));
  assert_non_null(strstr(text, "matmul %a, %b, %block_scale_a, %block_scale_b {acc = f32, "
                               "kind = mxf4nvf4}"));
  free(text);
  heddle_problem_set_block_scales(p, HEDDLE_F32, 128, 0, 0);
  heddle_problem_set_block_rows(p, 128);
  text = build_text(p);
  assert_non_null(strstr(text, "operand = a, rows = 128, block = 128}\n"));
  assert_non_null(strstr(text, "operand = b, block = 128}\n"));
  free(text);
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_problem_set_block_scales(p, HEDDLE_UE8M0, -1, 0, 0);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  heddle_problem_set_block_scales(p, HEDDLE_N_ELEMS, 64, 0, 0);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  heddle_context_free(ctx);
  heddle_problem_free(p);
}

static void statistics_stand_in_the_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_reduce(p, "sumsq", false);
  char *text = build_text(p);
  assert_non_null(strstr(text, "reduce = sumsq}\n"));
  assert_null(strstr(text, "scale_d"));
  free(text);
  heddle_problem_set_d(p, HEDDLE_E4M3, HEDDLE_COL_MAJOR, 0, 0);
  heddle_problem_set_reduce(p, "absmax", true);
  text = build_text(p);
  assert_non_null(strstr(text, "{type = e4m3, order = col_major, scale_d, reduce = absmax}\n"));
  free(text);
  heddle_problem_set_reduce(p, NULL, false);
  text = build_text(p);
  assert_null(strstr(text, "reduce"));
  free(text);
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_problem_set_reduce(p, "sumsq", true);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "ir.reduce");
  heddle_context_free(ctx);
  heddle_problem_free(p);
}

static void a_second_matrix_stands_in_the_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_aux(p, "input", HEDDLE_F32);
  char *text = build_text(p);
  assert_non_null(strstr(text, "aux = input, aux_type = f32}\n"));
  free(text);
  heddle_problem_set_aux(p, NULL, HEDDLE_F32);
  text = build_text(p);
  assert_null(strstr(text, "aux"));
  free(text);
  const struct {
    const char *value;
    heddle_elem type;
    const char *rule;
  } wrong[] = {{"output", HEDDLE_F32, "ir.attribute"}, {"result", HEDDLE_N_ELEMS, "problem.type"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    heddle_context *ctx = heddle_context_create();
    heddle_module *module = NULL;
    heddle_problem_set_aux(p, wrong[i].value, wrong[i].type);
    assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_INVALID);
    assert_string_equal(heddle_context_get(ctx, 0)->rule, wrong[i].rule);
    heddle_context_free(ctx);
  }
  heddle_problem_free(p);
}

static void the_last_call_counts(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_a(p, HEDDLE_S8);
  heddle_problem_set_b(p, HEDDLE_U8, HEDDLE_MN_MAJOR, 0, 0);
  heddle_problem_set_d(p, HEDDLE_S32, HEDDLE_COL_MAJOR, 0, 0);
  heddle_problem_set_act(p, "relu");
  heddle_problem_set_user(p, "swish");
  char *text = build_text(p);
  assert_non_null(strstr(text, "matmul %a, %b {acc = s32}"));
  assert_non_null(strstr(text, "{act = user, user = \"swish\"}"));
  free(text);
  heddle_problem_set_user_pair(p, "gated");
  text = build_text(p);
  assert_non_null(strstr(text, "{act = user_pair, user = \"gated\"}"));
  free(text);
  heddle_problem_set_act(p, "silu");
  heddle_problem_set_accumulator(p, HEDDLE_F32);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_M, 0, 0);
  text = build_text(p);
  assert_non_null(strstr(text, "size {dim = m}"));
  assert_non_null(strstr(text, "{act = silu}"));
  assert_non_null(strstr(text, "acc = f32"));
  free(text);
  heddle_problem_free(p);
}

static void modules_go_through_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  char *text = build_text(p), *again = NULL, x[33], y[33];
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL, *built = NULL;
  size_t n_bytes = 0;
  assert_int_equal(heddle_module_parse(ctx, "a.heddle", text, strlen(text), &module), HEDDLE_OK);
  assert_int_equal(heddle_module_print(module, &again, &n_bytes), HEDDLE_OK);
  assert_int_equal(n_bytes, strlen(text));
  assert_string_equal(text, again);
  assert_int_equal(heddle_problem_build(ctx, p, &built), HEDDLE_OK);
  heddle_module_hash(module, x);
  heddle_module_hash(built, y);
  assert_string_equal(x, y);
  assert_int_equal(strlen(x), 32);
  assert_int_equal(heddle_module_kernel_count(module), 1);
  assert_string_equal(heddle_module_kernel_name(module, 0), "linear");
  assert_null(heddle_module_kernel_name(module, 1));
  heddle_module_free(module);
  heddle_module_free(built);
  heddle_problem_free(p);
  heddle_context_free(ctx);
  free(text);
  free(again);
}

/* Builds, and expects the status and one error with that rule and these words, at the embedder's
 * own location. */
static void expect_words(heddle_problem *p, heddle_status status, const char *rule,
                         const char *words) {
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_problem_set_place(p, "model.py", 12, 5);
  assert_int_equal(heddle_problem_build(ctx, p, &module), status);
  assert_null(module);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  assert_non_null(d);
  assert_string_equal(d->rule, rule);
  assert_string_equal(d->file, "model.py");
  assert_int_equal(d->line, 12);
  assert_non_null(strstr(d->text, words));
  heddle_context_free(ctx);
  heddle_problem_free(p);
}

static void expect(heddle_problem *p, heddle_status status, const char *rule) {
  expect_words(p, status, rule, "");
}

static void a_batch_is_its_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_dynamic(p, HEDDLE_DIM_G, 64, 0);
  heddle_problem_set_bias(p, HEDDLE_F32, HEDDLE_DIM_M);
  heddle_problem_set_stride(p, HEDDLE_OPERAND_A, 0);
  heddle_problem_set_stride(p, HEDDLE_OPERAND_B, 4096);
  heddle_problem_set_stride(p, HEDDLE_OPERAND_BIAS, 0);
  heddle_problem_set_stride(p, HEDDLE_OPERAND_D, 8192);
  char *text = build_text(p);
  assert_non_null(strstr(text, "  %g: i32 = size {dim = g, max = 64}\n"));
  assert_non_null(strstr(text, "sparse %m, %k {type = bf16, g_stride = 0}"));
  assert_non_null(strstr(text, "order = k_major, g_stride = 4096}"));
  assert_non_null(strstr(text, "operand = bias, g_stride = 0}"));
  assert_non_null(strstr(text, "order = row_major, g_stride = 8192}"));
  free(text);
  heddle_problem_free(p);
}

static void groups_are_their_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_G, 8);
  heddle_problem_set_groups(p, true);
  char *text = build_text(p);
  assert_non_null(strstr(text, "%offsets: matrix<s32> = vector {type = s32, operand = offsets}"));
  free(text);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_T, 4096, 0);
  heddle_problem_set_indices(p, true, true);
  text = build_text(p);
  assert_non_null(strstr(text, "%t: i32 = size {dim = t, max = 4096}"));
  assert_non_null(strstr(text, " = dense %k, %t {"));
  assert_non_null(strstr(text, "= vector %n {type = s32, operand = gather_b}"));
  assert_non_null(strstr(text, "= vector %n {type = s32, operand = scatter_d}"));
  free(text);
  heddle_problem_free(p);
}

static void sums_of_columns_are_their_text(void **state) {
  (void)state;
  heddle_problem *p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_G, 8);
  heddle_problem_set_groups(p, true);
  heddle_problem_set_combine(p, 2);
  expect_words(p, HEDDLE_INVALID, "problem.complete", "the size t of combine_d is missing; ");
  p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_G, 8);
  heddle_problem_set_groups(p, true);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_T, 4096, 0);
  heddle_problem_set_combine(p, 2);
  char *text = build_text(p);
  assert_non_null(strstr(text, " = dense %k, %n {"));
  assert_non_null(strstr(text, "= vector %t {type = s32, operand = combine_d, slots = 2}"));
  free(text);
  heddle_problem_set_combine(p, 65);
  expect(p, HEDDLE_INVALID, "ir.attribute");
}

static void errors_point_at_the_embedder(void **state) {
  (void)state;
  heddle_problem *p = heddle_problem_create("linear", "sm_90a");
  expect_words(p, HEDDLE_INVALID, "problem.complete", "the size m is missing; ");
  p = heddle_problem_create(NULL, "sm_90a");
  expect_words(p, HEDDLE_INVALID, "problem.complete", "the name is missing; ");
  p = smallest();
  heddle_problem_set_indices(p, true, false);
  expect_words(p, HEDDLE_INVALID, "problem.complete", "the size t of gather_b is missing; ");
  p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_M, 0);
  expect(p, HEDDLE_INVALID, "ir.size");
  p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_K, -4);
  expect(p, HEDDLE_INVALID, "ir.size");
  p = smallest();
  heddle_problem_set_size(p, (heddle_dim)5, 64);
  expect(p, HEDDLE_INVALID, "problem.dim");
  p = smallest();
  heddle_problem_set_stride(p, (heddle_operand)7, 64);
  expect(p, HEDDLE_INVALID, "problem.operand");
  p = smallest();
  heddle_problem_set_size(p, HEDDLE_DIM_G, 2);
  heddle_problem_set_stride(p, HEDDLE_OPERAND_B, -64);
  expect(p, HEDDLE_INVALID, "ir.attribute");
  p = smallest();
  heddle_problem_set_dynamic(p, (heddle_dim)-1, 64, 0);
  expect(p, HEDDLE_INVALID, "problem.dim");
  p = smallest();
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, -1, 8);
  expect(p, HEDDLE_INVALID, "ir.attribute");
  p = smallest();
  heddle_problem_set_a(p, (heddle_elem)99);
  expect_words(p, HEDDLE_INVALID, "problem.type", "got type 99 of A; legal: 0 to 16");
  p = smallest();
  heddle_problem_set_a(p, HEDDLE_F32);
  expect(p, HEDDLE_UNSUPPORTED, "ir.sparse-type");
  p = smallest();
  heddle_problem_set_b(p, HEDDLE_BF16, (heddle_order)7, 0, 0);
  expect_words(p, HEDDLE_INVALID, "problem.order", "got order of B 7; legal: 0 to 3");
  p = smallest();
  heddle_problem_set_b(p, HEDDLE_BF16, HEDDLE_ROW_MAJOR, 0, 0);
  expect(p, HEDDLE_INVALID, "ir.order");
  p = smallest();
  heddle_problem_set_bias(p, HEDDLE_F32, HEDDLE_DIM_K);
  expect(p, HEDDLE_INVALID, "problem.bias");
  p = smallest();
  heddle_problem_set_scales(p, (heddle_scale)3, HEDDLE_SCALE_ONE);
  expect(p, HEDDLE_INVALID, "problem.scale");
  p = smallest();
  heddle_problem_set_act(p, "tanh");
  expect(p, HEDDLE_INVALID, "ir.attribute");
  p = smallest();
  heddle_problem_set_scalars(p, false, true);
  expect(p, HEDDLE_INVALID, "ir.epilogue");
  p = smallest();
  heddle_problem_set_user(p, NULL);
  expect(p, HEDDLE_INVALID, "ir.epilogue");
  p = smallest();
  heddle_problem_set_act(p, "swiglu");
  heddle_problem_set_c(p, HEDDLE_BF16, HEDDLE_ROW_MAJOR, 0, 0);
  expect(p, HEDDLE_UNSUPPORTED, "epilogue.pair");
}

static void null_is_freed(void **state) {
  (void)state;
  heddle_module_free(NULL);
  heddle_problem_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_problem_is_its_text),
      cmocka_unit_test(promises_stand_in_the_text),
      cmocka_unit_test(scales_stand_in_the_text),
      cmocka_unit_test(block_scales_stand_in_the_text),
      cmocka_unit_test(statistics_stand_in_the_text),
      cmocka_unit_test(a_second_matrix_stands_in_the_text),
      cmocka_unit_test(the_last_call_counts),
      cmocka_unit_test(modules_go_through_text),
      cmocka_unit_test(a_batch_is_its_text),
      cmocka_unit_test(groups_are_their_text),
      cmocka_unit_test(sums_of_columns_are_their_text),
      cmocka_unit_test(errors_point_at_the_embedder),
      cmocka_unit_test(null_is_freed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
