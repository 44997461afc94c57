/* The reader of user epilogues that needs no LLVM: every integer op and comparison, compared with
 * C, and every refusal. No process is started, and LLVM folds nothing. */
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
#include "Support/arena.h"
#include "Support/diag.h"

#define HEAD "define float @f(float %x, i32 %r, i32 %c, ptr %u) {\n"

static heddle_status read_text(heddle_context *ctx, const char *ir, hd_user_function **function) {
  const hd_user_source source = {ir, strlen(ir), NULL};
  return hd_user_read(ctx, &source, "f", function);
}

static hd_user_function *open_text(const char *ir) {
  heddle_context *ctx = heddle_context_create();
  hd_user_function *function = NULL;
  heddle_status status = read_text(ctx, ir, &function);
  if (status != HEDDLE_OK)
    print_error("%s\n%s", heddle_context_get(ctx, 0)->text, ir);
  heddle_context_free(ctx);
  assert_int_equal(status, HEDDLE_OK);
  return function;
}

static void check_at(const hd_user_function *f, const char *what, double x, int32_t a, int32_t b,
                     double want) {
  double got = hd_user_call(f, NULL, x, 0, a, b);
  if (!(fabs(got - want) <= 1e-12 * fabs(want))) {
    print_error("%s of %.17g, %d, %d = %.17g, expected %.17g\n", what, x, a, b, got, want);
    fail();
  }
}

/* ---- integers ---- */

typedef struct two_ops {
  const char *name;                    /* e.g. "udiv" or "icmp ult" */
  double (*of[4])(int32_t a, int32_t b); /* for 8, 16, 32 and 64 bits */
} two_ops;

/* The result of an op in C, on the low bits of a and b, as a signed number. */
#define OF_WIDTH(name, bits, expression)                                                           \
  static double name##_##bits(int32_t from_a, int32_t from_b) {                                    \
    int##bits##_t a = (int##bits##_t)from_a, b = (int##bits##_t)from_b;                            \
    uint##bits##_t ua = (uint##bits##_t)a, ub = (uint##bits##_t)b;                                 \
    (void)a, (void)b, (void)ua, (void)ub;                                                          \
    return (double)(int##bits##_t)(expression);                                                    \
  }
#define OF_ALL(name, e)                                                                            \
  OF_WIDTH(name, 8, e)                                                                             \
  OF_WIDTH(name, 16, e)                                                                            \
  OF_WIDTH(name, 32, e)                                                                            \
  OF_WIDTH(name, 64, e)
#define ALL_OF(name) {name##_8, name##_16, name##_32, name##_64}
OF_ALL(add, ua + ub)
OF_ALL(sub, ua - ub)
OF_ALL(mul, (uint64_t)ua * ub)
OF_ALL(udiv, ua / ub)
OF_ALL(sdiv, a / b)
OF_ALL(urem, ua % ub)
OF_ALL(srem, a % b)
OF_ALL(shl, (uint64_t)ua << (ub & 7))
OF_ALL(lshr, ua >> (ub & 7))
OF_ALL(ashr, a >> (ub & 7))
OF_ALL(and, ua & ub)
OF_ALL(or, ua | ub)
OF_ALL(xor, ua ^ ub)
OF_ALL(eq, -(a == b))
OF_ALL(ne, -(a != b))
OF_ALL(ugt, -(ua > ub))
OF_ALL(uge, -(ua >= ub))
OF_ALL(ult, -(ua < ub))
OF_ALL(ule, -(ua <= ub))
OF_ALL(sgt, -(a > b))
OF_ALL(sge, -(a >= b))
OF_ALL(slt, -(a < b))
OF_ALL(sle, -(a <= b))
OF_ALL(smin, a < b ? a : b)
OF_ALL(smax, a < b ? b : a)
OF_ALL(umin, ua < ub ? ua : ub)
OF_ALL(umax, ua < ub ? ub : ua)

static const two_ops ops[] = {
    {"add", ALL_OF(add)},   {"sub", ALL_OF(sub)},   {"mul", ALL_OF(mul)},   {"udiv", ALL_OF(udiv)},
    {"sdiv", ALL_OF(sdiv)}, {"urem", ALL_OF(urem)}, {"srem", ALL_OF(srem)}, {"shl", ALL_OF(shl)},
    {"lshr", ALL_OF(lshr)}, {"ashr", ALL_OF(ashr)}, {"and", ALL_OF(and)},   {"or", ALL_OF(or)},
    {"xor", ALL_OF(xor)}};
static const two_ops predicates[] = {
    {"eq", ALL_OF(eq)},   {"ne", ALL_OF(ne)},   {"ugt", ALL_OF(ugt)}, {"uge", ALL_OF(uge)},
    {"ult", ALL_OF(ult)}, {"ule", ALL_OF(ule)}, {"sgt", ALL_OF(sgt)}, {"sge", ALL_OF(sge)},
    {"slt", ALL_OF(slt)}, {"sle", ALL_OF(sle)}};
static const two_ops calls[] = {{"llvm.smin", ALL_OF(smin)},
                                {"llvm.smax", ALL_OF(smax)},
                                {"llvm.umin", ALL_OF(umin)},
                                {"llvm.umax", ALL_OF(umax)}};
static const int32_t numbers[] = {0,    1,    2,     3,      7,      100,       127,      128,
                                  -1,   -2,   -3,    -100,   -127,   32767,     -32767,   65536,
                                  9999, -9999, 1 << 20, 123456789, -123456789, INT32_MAX};

/* LLVM does not define division by zero either. Shift counts are 0 to 7. */
static bool is_defined(const char *name, int32_t b, int width) {
  bool divides = strstr(name, "div") || strstr(name, "rem");
  uint64_t low = (uint64_t)(int64_t)b << (64 - width);
  return !divides || low != 0;
}

/* %a and %b are row and col in that width. `op` computes the integer %v from them. */
static void check_op(const two_ops *op, int at, const char *text, const char *type) {
  static const int widths[] = {8, 16, 32, 64};
  static const char *const from_i32[] = {"trunc i32 %%%s to i8", "trunc i32 %%%s to i16",
                                         "freeze i32 %%%s", "sext i32 %%%s to i64"};
  char a[64], b[64], ir[800];
  snprintf(a, sizeof a, from_i32[at], "r");
  snprintf(b, sizeof b, from_i32[at], "c");
  snprintf(ir, sizeof ir,
           "%s  %%a = %s\n  %%b = %s\n%s  %%d = sitofp %s %%v to double\n"
           "  %%y = fptrunc double %%d to float\n  ret float %%y\n}\n",
           HEAD, a, b, text, type);
  hd_user_function *f = open_text(ir);
  for (size_t i = 0; i < HD_COUNT(numbers); i++)
    for (size_t j = 0; j < HD_COUNT(numbers); j++)
      if (is_defined(op->name, numbers[j], widths[at]))
        check_at(f, op->name, 0, numbers[i], numbers[j], op->of[at](numbers[i], numbers[j]));
  free(f);
}

static void integers_are_those_of_c(void **state) {
  (void)state;
  static const char *const types[] = {"i8", "i16", "i32", "i64"};
  for (int at = 0; at < 4; at++) {
    char text[300];
    const char *t = types[at];
    for (size_t i = 0; i < HD_COUNT(ops); i++) {
      bool shifts = strstr(ops[i].name, "sh") != NULL;
      snprintf(text, sizeof text, "  %%s = and %s %%b, 7\n  %%v = %s %s %%a, %%%s\n", t,
               ops[i].name, t, shifts ? "s" : "b");
      check_op(&ops[i], at, text, t);
    }
    for (size_t i = 0; i < HD_COUNT(predicates); i++) {
      snprintf(text, sizeof text, "  %%t = icmp %s %s %%a, %%b\n  %%v = sext i1 %%t to i32\n",
               predicates[i].name, t);
      check_op(&predicates[i], at, text, "i32");
    }
    for (size_t i = 0; i < HD_COUNT(calls); i++) {
      snprintf(text, sizeof text, "  %%v = call %s @%s.%s(%s %%a, %s %%b)\n", t, calls[i].name, t,
               t, t);
      check_op(&calls[i], at, text, t);
    }
  }
}

/* ---- floating point ---- */

static double rcp(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double to_signed(double x) { return (double)(int64_t)x; }
static double to_unsigned(double x) { return (double)(uint64_t)x; }

static void functions_of_a_float_are_those_of_c(void **state) {
  (void)state;
  static const struct {
    const char *text; /* computes %y from %x */
    double (*of)(double);
    double x[3];
  } cases[] = {
      {"%y = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)", rcp, {0.5, 3, -7}},
      {"%y = call float @llvm.nvvm.rsqrt.approx.f(float %x)", rsqrt, {0.5, 3, 64}},
      {"%y = call float @llvm.nvvm.sqrt.approx.f(float %x)", sqrt, {0.5, 3, 64}},
      {"%y = call float @llvm.nvvm.sin.approx.f(float %x)", sin, {0.5, 3, -1}},
      {"%y = call float @llvm.nvvm.cos.approx.f(float %x)", cos, {0.5, 3, -1}},
      {"%y = call float @llvm.nvvm.lg2.approx.f(float %x)", log2, {0.5, 3, 64}},
      {"%y = call float @llvm.nvvm.tanh.approx.f32(float %x)", tanh, {0.5, 3, -1}},
      {"%y = call afn float @llvm.tanh.f32(float %x)", tanh, {0.5, 3, -1}},
      {"%i = fptosi float %x to i64\n%y = sitofp i64 %i to float", to_signed, {2.9, -2.9, 3e9}},
      {"%i = fptoui float %x to i64\n%y = uitofp i64 %i to float", to_unsigned, {2.9, 3e9, 1e19}},
  };
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    char ir[400];
    snprintf(ir, sizeof ir, "%s%s\nret float %%y\n}\n", HEAD, cases[i].text);
    hd_user_function *f = open_text(ir);
    for (int j = 0; j < 3; j++)
      check_at(f, cases[i].text, cases[i].x[j], 0, 0, cases[i].of(cases[i].x[j]));
    free(f);
  }
}

static void a_switch_takes_its_case(void **state) {
  (void)state;
  hd_user_function *f = open_text(
      HEAD "  switch i32 %r, label %d [i32 1, label %a i32 -2, label %b]\n"
           "a:\n  br label %d\nb:\n  br label %d\n"
           "d:\n  %y = phi float [ 10.0, %0 ], [ 11.0, %a ], [ 12.0, %b ]\n  ret float %y\n}\n");
  check_at(f, "switch", 0, 1, 0, 11);
  check_at(f, "switch", 0, -2, 0, 12);
  check_at(f, "switch", 0, 2, 0, 10);
  free(f);
}

/* ---- refusals ---- */

#define RETURN "\n  ret float %x\n}\n"
static const struct refusal {
  const char *legal, *ir;
} refusals[] = {
    {"operands of its kind: integers", HEAD "  %y = add float %x, %x" RETURN},
    {"operands of its kind: integers", HEAD "  %y = fadd i32 %r, %r" RETURN},
    {"operands of its kind: integers", HEAD "  %y = freeze ptr %u" RETURN},
    {"a type that the cast leads to", HEAD "  %y = zext i32 %r to i8" RETURN},
    {"a predicate: eq", HEAD "  %y = icmp olt i32 %r, 1" RETURN},
    {"operands of its kind", HEAD "  %y = icmp eq float %x, 1.0" RETURN},
    {"operands of its kind", HEAD "  %y = fcmp olt i32 %r, 1" RETURN},
    {"a condition of type i1", HEAD "  %y = select i32 %r, float %x, float %x" RETURN},
    {"two values of one type", HEAD "  %y = select i1 true, float %x, i32 %r" RETURN},
    {"values from blocks further up",
     HEAD "  br i1 true, label %a, label %b\na:\n  %y = phi float [ %x, %b ]\n  br label %b\n"
          "b:" RETURN},
    {"values from blocks further up",
     HEAD "  br label %a\na:\n  %y = phi float [ %x, %a ]" RETURN},
    {"a type of 8, 16, 32 or 64 bits", HEAD "  %y = load i1, ptr %u" RETURN},
    {"an address", HEAD "  %y = load i32, i32 %r" RETURN},
    {"elements of 8, 16, 32 or 64 bits", HEAD "  %y = getelementptr i1, ptr %u, i32 %r" RETURN},
    {"an address and one index", HEAD "  %y = getelementptr i8, i32 %r, i32 %r" RETURN},
    {"an address and one index", HEAD "  %y = getelementptr i8, ptr %u, float %x" RETURN},
    {"llvm.fma.f32, llvm.exp2.f32", HEAD "  %y = call float @none(float %x)" RETURN},
    {"operands of the intrinsic's type", HEAD "  %y = call float @llvm.fabs.f32(i32 %r)" RETURN},
    {"operands of the intrinsic's type",
     HEAD "  %b = icmp eq i32 %r, 0\n  %y = call i32 @llvm.abs.i32(i32 %r, i1 %b)" RETURN},
    {"the intrinsic's type", HEAD "  %y = call i32 @llvm.fabs.f32(float %x)" RETURN},
    {"call afn float @llvm.tanh.f32", HEAD "  %y = call float @llvm.tanh.f32(float %x)" RETURN},
    {"an integer", HEAD "  switch float %x, label %a []\na:" RETURN},
    {"a constant of the switch's type",
     HEAD "  switch i32 %r, label %a [i64 1, label %a]\na:" RETURN},
    {"a constant of the switch's type",
     HEAD "  switch i32 %r, label %a [i32 %c, label %a]\na:" RETURN},
    {"each case once",
     HEAD "  switch i32 %r, label %a [i32 1, label %a i32 1, label %a]\na:" RETURN},
    {"arithmetic, comparisons, conversions", HEAD "  %y = fmod float %x, %x" RETURN},
    {"a result of what has one", HEAD "  fadd float %x, %x" RETURN},
    {"a result of what has one", HEAD "  %y = ret float %x\n}\n"},
    {"phis at the beginning of a block", HEAD "  %y = phi float [ %x, %0 ]" RETURN},
    {"phis at the beginning of a block",
     HEAD "  br label %a\na:\n  %y = fneg float %x\n  %z = phi float [ %x, %0 ]" RETURN},
    {"a label in front of each block", HEAD "  ret float %x\n  ret float %x\n}\n"},
    {"branches to blocks further down", HEAD "  br label %a\na:\n  br label %a\n}\n"},
    {"each label once", HEAD "  br label %a\na:\n  ret float %x\na:" RETURN},
    {"blocks that a branch further up leads to", HEAD "  ret float %x\na:" RETURN},
    {"a block for each label that a branch leads to", HEAD "  br label %a\n}\n"},
    {"the parameters float or i32", "define float @f(float %x) {" RETURN},
    {"the parameters float or i32", "define float @f(ptr %u) {" RETURN},
    {"the parameters float or i32", "define float @f(float %x, i64 %r, i32 %c, ptr %u) {" RETURN},
    {"the parameters float or i32", "define float @f(float %x, i32 %y, i32 %r, i32 %c, ptr %u) {"
                                    RETURN},
    {"the parameters float or i32",
     "define float @f(float %x, float %y, i32 %r, i32 %c, i32 %d, ptr %u) {" RETURN},
    {"one function, which the kernel calls", "define float @g(float %x, i32 %r" RETURN},
    {"elements of one type", "@t = constant [2 x i8] [i8 1, i16 2]\n" HEAD RETURN},
    {"an integer of its type", "@t = constant [1 x i8] [i8 undef]\n" HEAD RETURN},
    {"arrays of numbers of 8, 16, 32 or 64 bits", "@t = constant [1 x i1] [i1 1]\n" HEAD RETURN},
    {"arrays of numbers of 8, 16, 32 or 64 bits", "@t = constant [1 x ptr] [ptr null]\n" HEAD
                                                  RETURN},
    {"define, declare, constants", "attributes #0 = { nounwind }\n" HEAD RETURN},
};

static void expect_refusal(const char *ir, const char *legal, size_t i) {
  heddle_context *ctx = heddle_context_create();
  hd_user_function *f = NULL;
  heddle_status status = read_text(ctx, ir, &f);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  bool said = status == HEDDLE_UNSUPPORTED && d && strstr(d->text, "; legal") &&
              strstr(strstr(d->text, "; legal"), legal);
  if (!said)
    print_error("refusal %zu: status %d: %s\n", i, status, d ? d->text : "nothing");
  assert_true(said);
  assert_null(f);
  heddle_context_free(ctx);
}

static void what_is_not_of_the_text_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(refusals); i++)
    expect_refusal(refusals[i].ir, refusals[i].legal, i);
}

/* ---- bounds ---- */

typedef struct growth {
  const char *legal, *before, *each, *after; /* each: formatted with its index, twice */
  int n;
} growth;

static void what_grows_is_bounded(void **state) {
  (void)state;
  static const growth growths[] = {
      {"up to 16", "", "@t%d = constant [1 x i8] [i8 %d]\n", HEAD RETURN, 17},
      {"up to 65536", "@t = constant [9000 x i64] [i64 0", ", i64 %d", "]\n" HEAD RETURN, 8999},
      {"up to 1024", HEAD "  switch i32 %r, label %a [", "i32 %d, label %%a\n", "]\na:" RETURN,
       1025},
      {"up to 1048576", "; ", "%06d", "\n" HEAD RETURN, 200000}};
  for (size_t i = 0; i < HD_COUNT(growths); i++) {
    const growth *g = &growths[i];
    size_t cap = strlen(g->before) + strlen(g->after) + (size_t)g->n * 64, n = 0;
    char *ir = malloc(cap);
    assert_non_null(ir);
    n += (size_t)snprintf(ir, cap, "%s", g->before);
    for (int j = 0; j < g->n; j++)
      n += (size_t)snprintf(ir + n, cap - n, g->each, j, j);
    snprintf(ir + n, cap - n, "%s", g->after);
    expect_refusal(ir, g->legal, i);
    free(ir);
  }
}

/* The text ends at every length, with no byte after it: AddressSanitizer detects a read past the
 * end. */
static void a_text_may_end_anywhere(void **state) {
  (void)state;
  static const char whole[] =
      "@t = constant [2 x float] [float 1.5, float 0x3FF8000000000000]\n" HEAD
      "  %y = fadd float %x, 3.25\n"
      "  %less = icmp ult i32 %r, 1234\n"
      "  %z = select i1 %less, float %y, float 6.5\n"
      "  %w = call float @llvm.fabs.f32(float %z)\n"
      "  ret float %w\n"
      "}";
  for (size_t n = 0; n < sizeof whole - 1; n++) {
    char *text = malloc(n ? n : 1);
    assert_non_null(text);
    const hd_user_source source = {memcpy(text, whole, n), n, NULL};
    heddle_context *ctx = heddle_context_create();
    hd_user_function *function = NULL;
    assert_int_not_equal(hd_user_read(ctx, &source, "f", &function), HEDDLE_OK);
    heddle_context_free(ctx);
    free(text);
  }
  free(open_text(whole));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_those_of_c),
      cmocka_unit_test(functions_of_a_float_are_those_of_c),
      cmocka_unit_test(a_switch_takes_its_case),
      cmocka_unit_test(what_is_not_of_the_text_is_refused),
      cmocka_unit_test(what_grows_is_bounded),
      cmocka_unit_test(a_text_may_end_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
