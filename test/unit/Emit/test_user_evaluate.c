/* Evaluates user epilogues on the host and compares them with the same functions in C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "Emit/user_ir.h"

#define HEAD "(float %acc, i32 %row, i32 %col, ptr %user) {\n"

static hd_user_function *open_function(const char *ir) {
  heddle_context *ctx = heddle_context_create();
  hd_user_function *function = NULL;
  const hd_user_source source = {ir, strlen(ir), HD_EPILOGUE_WORKER};
  heddle_status status = hd_user_read(ctx, &source, "f", &function);
  if (status == HEDDLE_OK)
    status = hd_user_check_evaluated(ctx, function);
  if (status != HEDDLE_OK)
    print_error("%s\n", heddle_context_get(ctx, 0)->text);
  heddle_context_free(ctx);
  assert_int_equal(status, HEDDLE_OK);
  return function;
}

static void check_value(const char *ir, double acc, int32_t row, int32_t col, double expected) {
  hd_user_function *function = open_function(ir);
  assert_float_equal(hd_user_call(function, NULL, acc, 0, row, col), expected, 1e-12);
  free(function);
}

static void test_arithmetic(void **state) {
  (void)state;
  check_value("define float @f" HEAD "%a = fmul float %acc, 2.0\n%b = fsub float %a, 1.0\n"
              "%c = fdiv float %b, 4.0\n%d = fneg float %c\nret float %d\n}\n",
              3.0, 0, 0, -1.25);
  check_value("declare float @llvm.fma.f32(float, float, float)\n"
              "declare float @llvm.maxnum.f32(float, float)\n"
              "declare float @llvm.exp2.f32(float)\n"
              "define float @f" HEAD
              "%a = call float @llvm.fma.f32(float %acc, float 3.0, float 1.0)\n"
              "%b = call float @llvm.maxnum.f32(float %a, float -8.0)\n"
              "%c = call float @llvm.exp2.f32(float %b)\nret float %c\n}\n",
              -5.0, 0, 0, exp2(-8));
}

static void test_integers(void **state) {
  (void)state;
  /* row - 3 (unsigned, so it wraps around), shifted, times the low bits of the column. */
  check_value("define float @f" HEAD "%a = sub i32 %row, 3\n%b = lshr i32 %a, 28\n"
              "%c = and i32 %col, 6\n%d = mul i32 %b, %c\n%e = uitofp i32 %d to float\n"
              "ret float %e\n}\n",
              0, 1, 15, 15.0 * 6);
  check_value("define float @f" HEAD "%a = trunc i32 %row to i8\n%b = sext i8 %a to i32\n"
              "%c = sdiv i32 %b, 3\n%d = srem i32 %b, 3\n%e = add i32 %c, %d\n"
              "%g = sitofp i32 %e to float\nret float %g\n}\n",
              0, 250, 0, -2.0);
  check_value("define float @f" HEAD "%a = bitcast float %acc to i32\n%b = or i32 %a, -2147483648\n"
              "%c = bitcast i32 %b to float\nret float %c\n}\n",
              1.5, 0, 0, -1.5);
  check_value("define float @f" HEAD "%a = fptrunc float %acc to half\n"
              "%b = bitcast half %a to i16\n%c = xor i16 %b, -32768\n"
              "%d = bitcast i16 %c to half\n%e = fpext half %d to float\nret float %e\n}\n",
              1.5, 0, 0, -1.5);
  check_value("define float @f" HEAD "%a = fptrunc float %acc to half\n"
              "%b = bitcast half %a to bfloat\n%c = fpext bfloat %b to float\n"
              "ret float %c\n}\n",
              2, 0, 0, 2); /* 0x4000 in both types */
  check_value("define float @f" HEAD "%a = fptrunc float %acc to bfloat\n"
              "%b = bitcast bfloat %a to half\n%c = fpext half %b to float\n"
              "ret float %c\n}\n",
              1, 0, 0, 1.875); /* 0x3f80 */
}

static void test_integer_intrinsics(void **state) {
  (void)state;
  check_value("declare i32 @llvm.smax.i32(i32, i32)\ndeclare i32 @llvm.umin.i32(i32, i32)\n"
              "declare i32 @llvm.abs.i32(i32, i1)\n"
              "define float @f" HEAD "%a = call i32 @llvm.smax.i32(i32 %row, i32 -5)\n"
              "%b = call i32 @llvm.umin.i32(i32 %a, i32 -7)\n"
              "%c = call i32 @llvm.abs.i32(i32 %b, i1 false)\n"
              "%d = sitofp i32 %c to float\nret float %d\n}\n",
              0, -9, 0, 7);
  check_value("define float @f" HEAD "%a = fpext float %acc to double\n"
              "%b = bitcast double %a to i64\n%c = lshr i64 %b, 52\n"
              "%d = uitofp i64 %c to float\nret float %d\n}\n",
              4, 0, 0, 1025);
}

static void test_choices(void **state) {
  (void)state;
  static const char ordered[] = "define float @f" HEAD "%a = fcmp olt float %acc, 0.0\n"
                                "%b = select i1 %a, float -1.0, float 1.0\nret float %b\n}\n";
  check_value(ordered, -2, 0, 0, -1);
  check_value(ordered, NAN, 0, 0, 1);
  static const char unordered[] = "define float @f" HEAD "%a = fcmp uno float %acc, 0.0\n"
                                  "%b = uitofp i1 %a to float\nret float %b\n}\n";
  check_value(unordered, NAN, 0, 0, 1);
  check_value(unordered, 1, 0, 0, 0);
  static const char as_mask[] = "define float @f" HEAD "%a = fcmp olt float %acc, 0.0\n"
                                "%b = icmp ult i32 %row, %col\n%c = icmp eq i1 %a, true\n"
                                "%d = sext i1 %a to i32\n%e = sitofp i1 %b to float\n"
                                "%g = zext i1 %c to i32\n%h = sub i32 %g, %d\n"
                                "%i = sitofp i32 %h to float\n%j = fadd float %i, %e\n"
                                "ret float %j\n}\n"; /* 2 [acc < 0] - [row < col] */
  check_value(as_mask, -2, 0, 1, 1);
  check_value(as_mask, 2, 0, 1, -1);
  check_value(as_mask, -2, 1, 0, 2);
}

/* minimum and maximum return NaN if one operand is NaN; minnum and maxnum return the other
 * operand. */
static void test_no_number(void **state) {
  (void)state;
  static const char *const suffixes[] = {"minimum", "maximum", "minnum", "maxnum"};
  for (int i = 0; i < 4; i++) {
    char ir[400];
    snprintf(ir, sizeof ir,
             "declare float @llvm.%s.f32(float, float)\ndefine float @f%s"
             "%%a = call float @llvm.%s.f32(float %%acc, float 2.0)\nret float %%a\n}\n",
             suffixes[i], HEAD, suffixes[i]);
    hd_user_function *function = open_function(ir);
    assert_int_equal(isnan(hd_user_call(function, NULL, NAN, 0, 0, 0)) != 0, i < 2);
    assert_true(hd_user_call(function, NULL, 3, 0, 0, 0) == (i % 2 ? 3 : 2));
    free(function);
  }
}

/* acc * 3^4, by a loop with two phis that swap their values, and a function call. */
static void test_loops_and_calls(void **state) {
  (void)state;
  check_value("define float @times(float %x) {\n%y = fmul float %x, 3.0\nret float %y\n}\n"
              "define float @f" HEAD "br label %loop\n"
              "loop:\n%i = phi i32 [ 0, %0 ], [ %j, %body ]\n"
              "%x = phi float [ %acc, %0 ], [ %y, %body ]\n%more = icmp slt i32 %i, 4\n"
              "br i1 %more, label %body, label %done\n"
              "body:\n%y = call float @times(float %x)\n%j = add i32 %i, 1\nbr label %loop\n"
              "done:\nret float %x\n}\n",
              2.0, 4, 0, 162.0);
}

/* A call of a function that gets a pointer and returns nothing is allowed. */
static void test_nothing_to_return(void **state) {
  (void)state;
  check_value("define void @none(ptr %p) {\nret void\n}\n"
              "define float @f" HEAD "call void @none(ptr %user)\nret float %acc\n}\n",
              2.5, 0, 0, 2.5);
}

/* As many phis as an unrolled loop leaves. */
static void test_many_phis(void **state) {
  (void)state;
  enum { N = 100 };
  static char ir[20000];
  static const char head[] = "define float @f" HEAD "br label %next\nnext:\n";
  size_t n = (size_t)snprintf(ir, sizeof ir, "%s", head);
  for (int i = 0; i < N; i++)
    n += (size_t)snprintf(ir + n, sizeof ir - n, "%%p%d = phi float [ %d.0, %%0 ]\n", i, i);
  for (int i = 0; i < N; i++)
    n += (size_t)snprintf(ir + n, sizeof ir - n, "%%s%d = fadd float %%%c%d, %%p%d\n", i,
                          i ? 's' : 'p', i ? i - 1 : 0, i);
  snprintf(ir + n, sizeof ir - n, "ret float %%s%d\n}\n", N - 1);
  check_value(ir, 0, 0, 0, N * (N - 1) / 2);
}

static void check_refused(const char *ir, const char *rule, heddle_status expected) {
  heddle_context *ctx = heddle_context_create();
  hd_user_function *function = NULL;
  const hd_user_source source = {ir, strlen(ir), HD_EPILOGUE_WORKER};
  heddle_status status = hd_user_read(ctx, &source, "f", &function);
  if (status == HEDDLE_OK)
    status = hd_user_check_evaluated(ctx, function);
  free(function);
  if (heddle_context_count(ctx) && strcmp(heddle_context_get(ctx, 0)->rule, rule) != 0)
    print_error("%s: %s\n", heddle_context_get(ctx, 0)->rule, heddle_context_get(ctx, 0)->text);
  assert_int_equal(status, expected);
  assert_int_equal(heddle_context_count(ctx), 1);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  heddle_context_free(ctx);
}

/* ---- loads ---- */

/* acc times the user's float at the row, plus a table's bfloat at the column, plus a byte. */
static void test_loads(void **state) {
  static const char ir[] =
      "@t = constant [4 x bfloat] [bfloat 1.0, bfloat 2.0, bfloat 3.0, bfloat 4.0]\n"
      "define float @f" HEAD "%p = getelementptr float, ptr %user, i32 %row\n"
      "%u = load float, ptr %p\n%x = fmul float %acc, %u\n%i = and i32 %col, 3\n"
      "%q = getelementptr bfloat, ptr @t, i32 %i\n%b = load bfloat, ptr %q\n"
      "%v = fpext bfloat %b to float\n%y = fadd float %x, %v\n"
      "%k = load i8, ptr %user\n%m = sitofp i8 %k to float\n%z = fadd float %y, %m\n"
      "ret float %z\n}\n";
  (void)state;
  const float values[3] = {0, 0.5f, -4};
  hd_user_memory memory = {(const uint8_t *)values, sizeof values, false, 0};
  hd_user_function *function = open_function(ir);
  assert_true(hd_user_call(function, &memory, 8, 0, 1, 6) == 8 * 0.5 + 3);
  assert_true(hd_user_call(function, &memory, 8, 0, 2, 7) == 8 * -4.0 + 4);
  assert_false(memory.is_outside);
  assert_true(isnan(hd_user_call(function, &memory, 8, 0, 3, 0)));
  assert_true(memory.is_outside && memory.outside == 12);
  memory.is_outside = false;
  assert_true(isnan(hd_user_call(function, &memory, 8, 0, -1, 0)));
  assert_true(memory.is_outside && memory.outside == -4);
  assert_true(isnan(hd_user_call(function, NULL, 8, 0, 0, 0)));
  free(function);
}

/* ---- <math.h> ---- */

static const struct math_case {
  const char *call; /* of one argument */
  double (*expected)(double);
  double least, most, relative, absolute;
} math_cases[] = {
    {"expf", exp, -87, 88.7, 4e-7, 0},          {"llvm.exp.f32", exp, -20, 20, 4e-7, 0},
    {"exp2f", exp2, -126, 127, 1e-15, 0},       {"expm1f", expm1, -20, 40, 4e-7, 0},
    {"logf", log, 1e-30, 1e30, 1e-6, 0},        {"llvm.log.f32", log, 0.1, 3, 1e-6, 0},
    {"log2f", log2, 1e-30, 1e30, 1e-6, 0},      {"log10f", log10, 0.01, 100, 1e-6, 0},
    {"log1pf", log1p, -0.99, 1e6, 1e-6, 0},     {"tanhf", tanh, -20, 20, 4e-7, 0},
    {"erff", erf, -8, 8, 4e-7, 0},              {"sinf", sin, -1000, 1000, 0, 1e-4},
    {"cosf", cos, -1000, 1000, 0, 1e-4},        {"sqrtf", sqrt, 0, 1e30, 1e-15, 0},
    {"fabsf", fabs, -10, 10, 0, 1e-15},         {"floorf", floor, -10, 10, 0, 1e-15},
    {"ceilf", ceil, -10, 10, 0, 1e-15},         {"truncf", trunc, -10, 10, 0, 1e-15},
    {"rintf", rint, -10, 10, 0, 1e-15},         {"llvm.tanh.f32", tanh, -20, 20, 4e-7, 0},
    {"llvm.sin.f32", sin, -6, 6, 0, 1e-6},      {"llvm.cos.f32", cos, -6, 6, 0, 1e-6},
};

static hd_user_function *open_call(const char *call) {
  char ir[400];
  snprintf(ir, sizeof ir,
           "declare float @%s(float)\ndefine float @f%s%%a = call float @%s(float %%acc)\n"
           "ret float %%a\n}\n",
           call, HEAD, call);
  return open_function(ir);
}

/* An error in the last float digit of a coefficient changes its term by 1e-7 or more,
 * relatively. */
static void test_math(void **state) {
  enum { STEPS = 4000 };
  (void)state;
  for (size_t i = 0; i < sizeof math_cases / sizeof *math_cases; i++) {
    const struct math_case *c = &math_cases[i];
    hd_user_function *function = open_call(c->call);
    for (int step = 0; step <= STEPS; step++) {
      double x = c->least + (c->most - c->least) * step / STEPS;
      double want = c->expected(x), got = hd_user_call(function, NULL, x, 0, 0, 0);
      if (!(fabs(got - want) <= c->relative * fabs(want) + c->absolute)) {
        print_error("%s(%.17g) = %.17g, expected %.17g\n", c->call, x, got, want);
        fail();
      }
    }
    free(function);
  }
}

static void test_math_edges(void **state) {
  static const struct {
    const char *call;
    double x, expected;
  } cases[] = {{"expf", INFINITY, INFINITY}, {"expf", -INFINITY, 0},   {"expf", 0, 1},
               {"expm1f", -INFINITY, -1},    {"tanhf", INFINITY, 1},   {"tanhf", -INFINITY, -1},
               {"erff", INFINITY, 1},        {"erff", -INFINITY, -1},  {"logf", 1, 0},
               {"logf", INFINITY, INFINITY}, {"logf", 0, -INFINITY},   {"log1pf", 0, 0},
               {"erff", 0, 0},               {"tanhf", 0, 0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hd_user_function *function = open_call(cases[i].call);
    double got = hd_user_call(function, NULL, cases[i].x, 0, 0, 0);
    bool small = got == 0 || fabs(got) < 1e-40; /* below the range of f32 */
    double want = cases[i].expected;
    if (want == 0 ? !small : !(fabs(got - want) < 1e-9 || got == want)) {
      print_error("%s(%g) = %.17g\n", cases[i].call, cases[i].x, got);
      fail();
    }
    if (strcmp(cases[i].call, "log1pf") != 0)
      assert_true(isnan(hd_user_call(function, NULL, NAN, 0, 0, 0)));
    free(function);
  }
}

static void test_refusals(void **state) {
  (void)state;
  check_refused("define float @f" HEAD "%p = load ptr, ptr %user\n%a = load float, ptr %p\n"
                "ret float %a\n}\n",
                "user.evaluate", HEDDLE_UNSUPPORTED);
  check_refused("declare float @lgammaf(float)\ndefine float @f" HEAD
                "%a = call float @lgammaf(float %acc)\nret float %a\n}\n",
                "user.call", HEDDLE_UNSUPPORTED);
  check_refused("define float @f" HEAD "%a = icmp eq ptr %user, null\n"
                "%b = uitofp i1 %a to float\nret float %b\n}\n",
                "user.evaluate", HEDDLE_UNSUPPORTED);
  check_refused("define float @f" HEAD "br label %a\na:\nbr label %a\n}\n", "user.loop",
                HEDDLE_UNSUPPORTED);
  check_refused("define i32 @f" HEAD "ret i32 %row\n}\n", "user.function", HEDDLE_INVALID);
  check_refused("define float @g" HEAD "ret float %acc\n}\n", "user.function", HEDDLE_INVALID);
  check_refused("define float @f(float %acc) {\nret float %acc\n}\n", "user.function",
                HEDDLE_INVALID);
  check_refused("not IR", "user.parse", HEDDLE_INVALID);
  check_refused("", "user.function", HEDDLE_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_choices),         cmocka_unit_test(test_loops_and_calls),
      cmocka_unit_test(test_loads),
      cmocka_unit_test(test_math),           cmocka_unit_test(test_math_edges),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_integer_intrinsics), cmocka_unit_test(test_nothing_to_return),
      cmocka_unit_test(test_many_phis),       cmocka_unit_test(test_no_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
