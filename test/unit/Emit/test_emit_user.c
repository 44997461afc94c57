/* The user's epilogue function: allowed code is inlined, anything else is refused by rule. */
#include "emit_fixture.h"

#include <stdio.h>
#include <string.h>

#define HEAD "define float @f(float %x, i32 %r, i32 %c, ptr %u) {\n"

static const char body[] =
    "  %d: ptr<f32> = arg {arg = d, type = f32}\n"
    "  %ldd: i64 = arg {arg = ldd}\n"
    "  %u: ptr<u8> = arg {arg = user, type = u8}\n"
    "  %m: i32 = arg {arg = m}\n"
    "  %n: i32 = arg {arg = n}\n"
    "  role {name = \"main\", warp_lo = 0, n_warps = 1} {\n"
    "    %zero: i32 = const {value = 0}\n"
    "    %acc: frag<f32 x 4> = frag.zero\n"
    "    store.tile %d, %ldd, %zero, %zero, %m, %n, %acc {type = f32, order = row_major, "
    "act = user, path = direct, user = \"f\"}\n"
    "  }\n";

static heddle_status emit_user(heddle_context *ctx, const char *ir, hd_emit_result *result) {
  hd_emit_options options = {.user = {ir, strlen(ir), HD_EPILOGUE_WORKER}};
  return emit_body(ctx, "sm_80", body, &options, result);
}

static void test_inlined(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  heddle_status status = emit_user(ctx,
      "define internal float @twice(float %x) noinline {\n"
      "  %y = fmul float %x, 2.0\n  ret float %y\n}\n"
      "@table = constant [2 x float] [float 3.0, float 4.0]\n"
      HEAD
      "  %i = and i32 %c, 1\n"
      "  %p = getelementptr float, ptr @table, i32 %i\n"
      "  %t = load float, ptr %p\n"
      "  %q = getelementptr float, ptr %u, i32 %r\n"
      "  %v = load float, ptr %q\n"
      "  %w = sitofp i32 %c to float\n"
      "  %s = fadd float %x, %w\n"
      "  %y = call float @twice(float %s)\n"
      "  %z = call float @llvm.fma.f32(float %y, float %t, float %v)\n"
      "  ret float %z\n}\n"
      "declare float @llvm.fma.f32(float, float, float)\n", &result);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  assert_null(strstr(result.ptx, "call"));
  assert_null(strstr(result.ptx, ".func"));
  assert_non_null(strstr(result.ptx, "fma.rn.f32"));
  assert_assembles(ctx, result.ptx, "sm_80");
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
}

/* Names of the user's module do not collide with Heddle's: the kernel's entry and shared memory. */
static void test_names_stay_apart(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  heddle_status status = emit_user(ctx,
      "@k = constant [2 x float] [float 3.0, float 4.0]\n"
      "@shared_memory = constant [2 x float] [float 5.0, float 6.0]\n"
      HEAD
      "  %i = and i32 %c, 1\n"
      "  %p = getelementptr float, ptr @k, i32 %i\n  %y = load float, ptr %p\n"
      "  %q = getelementptr float, ptr @shared_memory, i32 %i\n  %z = load float, ptr %q\n"
      "  %w = fadd float %y, %z\n"
      "  ret float %w\n}\n", &result);
  assert_int_equal(status, HEDDLE_OK);
  assert_non_null(strstr(result.ptx, ".entry k("));
  assert_assembles(ctx, result.ptx, "sm_80");
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
}

static void test_counted_loop_unrolls(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  heddle_status status = emit_user(ctx,
      "@table = constant [4 x float] [float 3.0, float 4.0, float 5.0, float 6.0]\n"
      HEAD
      "  br label %turn\n"
      "turn:\n"
      "  %i = phi i32 [ 0, %0 ], [ %next, %turn ]\n"
      "  %s = phi float [ 0.0, %0 ], [ %sum, %turn ]\n"
      "  %p = getelementptr float, ptr @table, i32 %i\n"
      "  %t = load float, ptr %p\n"
      "  %h = fmul float %s, %x\n"
      "  %sum = fadd float %h, %t\n"
      "  %next = add i32 %i, 1\n"
      "  %more = icmp ult i32 %next, 4\n"
      "  br i1 %more, label %turn, label %end\n"
      "end:\n"
      "  ret float %sum\n}\n", &result);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  assert_null(strstr(result.ptx, "turn"));
  assert_null(strstr(result.ptx, "ld.global")); /* the table was folded into constants */
  assert_assembles(ctx, result.ptx, "sm_80");
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
}

/* @a0 calls @a1 twice, that calls @a2 twice, ...: a million calls in a few lines. */
static void test_many_calls_are_refused(void **state) {
  (void)state;
  char ir[4096] = HEAD "  %y = call float @a0(float %x)\n  ret float %y\n}\n"
                  "define float @a20(float %x) {\n  ret float %x\n}\n";
  size_t n = strlen(ir);
  for (int i = 0; i < 20; i++)
    n += (size_t)snprintf(ir + n, sizeof ir - n,
                          "define float @a%d(float %%x) {\n  %%y = call float @a%d(float %%x)\n"
                          "  %%z = call float @a%d(float %%y)\n  ret float %%z\n}\n",
                          i, i + 1, i + 1);
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  assert_int_equal(emit_user(ctx, ir, &result), HEDDLE_UNSUPPORTED);
  assert_string_equal(first_rule(ctx), "user.call");
  heddle_context_free(ctx);
}

static const struct refusal {
  const char *rule, *word, *ir;
} refusals[] = {
    {"user.call", "lgammaf",
     HEAD "  %y = call float @lgammaf(float %x)\n  ret float %y\n}\n"
          "declare float @lgammaf(float)\n"},
    {"user.call", "llvm.cosh.f32",
     HEAD "  %y = call float @llvm.cosh.f32(float %x)\n  ret float %y\n}\n"
          "declare float @llvm.cosh.f32(float)\n"},
    {"user.call", "llvm.sinh.f32",
     HEAD "  %y = call float @llvm.sinh.f32(float %x)\n"
          "  ret float %y\n}\ndeclare float @llvm.sinh.f32(float)\n"},
    {"user.call", "barrier",
     HEAD "  call void @llvm.nvvm.barrier0()\n  ret float %x\n}\n"
          "declare void @llvm.nvvm.barrier0()\n"},
    {"user.call", "recursion; legal: calls",
     HEAD "  %y = call float @f(float %x, i32 %r, i32 %c, ptr %u)\n"
          "  ret float %y\n}\n"},
    {"user.call", "pointer", HEAD "  %y = call float %u(float %x)\n  ret float %y\n}\n"},
    {"user.call", "inline asm",
     HEAD "  call void asm sideeffect \"trap;\", \"\"()\n  ret float %x\n}\n"},
    {"user.instruction", "store", HEAD "  store float %x, ptr %u\n  ret float %x\n}\n"},
    {"user.instruction", "atomicrmw",
     HEAD "  %y = atomicrmw fadd ptr %u, float %x seq_cst\n"
          "  ret float %y\n}\n"},
    {"user.instruction", "alloca", HEAD "  %y = alloca float\n  ret float %x\n}\n"},
    {"user.instruction", "fence", HEAD "  fence seq_cst\n  ret float %x\n}\n"},
    {"user.load", "volatile", HEAD "  %y = load volatile float, ptr %u\n  ret float %y\n}\n"},
    {"user.instruction", "unreachable", HEAD "  unreachable\n}\n"},
    {"user.load", "null", HEAD "  %y = load float, ptr null\n  ret float %y\n}\n"},
    {"user.load", "null",
     HEAD "  %p = getelementptr float, ptr null, i32 %r\n"
          "  %y = load float, ptr %p\n  ret float %y\n}\n"},
    {"user.load", "undef", HEAD "  %y = load float, ptr undef\n  ret float %y\n}\n"},
    {"user.load", "constant",
     HEAD "  %y = load float, ptr inttoptr (i64 4096 to ptr)\n"
          "  ret float %y\n}\n"},
    {"user.load", "null",
     HEAD "  %n = icmp eq i32 %r, 0\n  %p = select i1 %n, ptr null, ptr %u\n"
          "  %y = load float, ptr %p\n  ret float %y\n}\n"},
    {"user.loop", "unroll", HEAD "  br label %turn\nturn:\n  br label %turn\n}\n"},
    {"user.loop", "unroll",
     HEAD "  br label %turn\nturn:\n"
          "  %y = phi float [ %x, %0 ], [ %z, %turn ]\n"
          "  %z = fmul float %y, 0.5\n  %m = fcmp ogt float %z, 1.0\n"
          "  br i1 %m, label %turn, label %end\nend:\n  ret float %z\n}\n"},
    {"user.type", "64 bits",
     HEAD "  %y = sext i32 %r to i128\n  %z = sitofp i128 %y to float\n"
          "  ret float %z\n}\n"},
    {"user.global", "g", "@g = global float 0.0\n" HEAD "  ret float %x\n}\n"},
    {"user.module", "asm", "module asm \"trap;\"\n" HEAD "  ret float %x\n}\n"},
    {"user.function", "legal: float", "define float @f(float %x) {\n  ret float %x\n}\n"},
    {"user.function", "nearest: define float @f(float",
     "define float @g(float %x) {\n  ret float %x\n}\n"},
    {"user.parse", "", "define float @f(\n"},
    {"user.parse", "legal: LLVM IR", "\x01\x02noise"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(refusals); i++) {
    heddle_context *ctx = heddle_context_create();
    hd_emit_result result = {0};
    heddle_status status = emit_user(ctx, refusals[i].ir, &result);
    if (strcmp(first_rule(ctx), refusals[i].rule) != 0)
      print_message("refusal %zu:\n", i), print_errors(ctx);
    assert_true(status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED);
    assert_string_equal(first_rule(ctx), refusals[i].rule);
    if (!strstr(heddle_context_get(ctx, 0)->text, refusals[i].word))
      print_message("refusal %zu:\n", i), print_errors(ctx);
    assert_non_null(strstr(heddle_context_get(ctx, 0)->text, refusals[i].word));
    assert_null(result.ptx);
    heddle_context_free(ctx);
  }
}

static void refuses(const hd_user_source *source, const char *rule, const char *word) {
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  hd_emit_options options = {.user = *source};
  heddle_status status = emit_body(ctx, "sm_80", body, &options, &result);
  if (strcmp(first_rule(ctx), rule) != 0)
    print_errors(ctx);
  assert_true(status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED);
  assert_string_equal(first_rule(ctx), rule);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, word));
  heddle_context_free(ctx);
}

/* Without a worker process, a text that Heddle reads itself is accepted. */
static void test_without_worker(void **state) {
  (void)state;
  static const char *const texts[] = {
      "@t = constant [2 x i8] [i8 1, i8 -2], align 16\n@h = constant [1 x half] [half 0xH3C00]\n"
      "declare float @llvm.exp2.f32(float)\n; all of it\n"
      HEAD "  %a = add nuw nsw i32 %r, 3\n"
           "  %b = udiv exact i32 %a, 1\n  %d = or disjoint i32 %b, 0\n"
           "  %e = zext nneg i32 %d to i64\n"
           "  %g = getelementptr inbounds float, ptr %u, i64 %e\n"
           "  %h = addrspacecast ptr %g to ptr addrspace(1)\n"
           "  %i = load float, ptr addrspace(1) %h, align 4\n"
           "  %j = getelementptr i8, ptr @t, i32 1\n  %k = load i8, ptr %j\n"
           "  %l = sitofp i8 %k to float\n  %m = fmul reassoc nnan float %i, %l\n"
           "  %n = tail call afn float @llvm.exp2.f32(float %m)\n  %o = fneg float %n\n"
           "  %p = fcmp fast olt float %o, 0x3FF0000000000000\n  %q = icmp eq ptr %u, null\n"
           "  %s = and i1 %p, %q\n  br i1 %s, label %yes, label %no\n"
           "yes:\n  switch i32 %r, label %no [i32 1, label %end i32 -2, label %end]\n"
           "no:\n  %t = phi float [ 1.5, %0 ], [ -2.5e0, %yes ]\n  br label %end\n"
           "end:\n  %v = phi fast float [ %t, %no ], [ %o, %yes ], [ %o, %yes ]\n"
           "  %w = freeze float %v\n"
           "  %y = select i1 true, float %w, float 0.0\n  ret float %y\n}\n"};
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  hd_emit_options options = {.user = {texts[0], strlen(texts[0]), NULL}};
  heddle_status status = emit_body(ctx, "sm_80", body, &options, &result);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  assert_assembles(ctx, result.ptx, "sm_80");
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
  static const char attributes[] = HEAD "  ret float %x\n}\nattributes #0 = { nounwind }\n";
  refuses(&(hd_user_source){attributes, strlen(attributes), NULL}, "user.text", "attributes");
  refuses(&(hd_user_source){"BC\xc0\xde", 4, NULL}, "user.text", "bitcode");
}

/* The size of a text is limited. Heddle's own reader must refuse what LLVM would refuse. */
static void test_bounds(void **state) {
  (void)state;
  static char ir[40000] = HEAD "  %v0 = fadd float %x, 1.0\n";
  size_t n = strlen(ir);
  for (int i = 1; i < 300; i++)
    n += (size_t)snprintf(ir + n, sizeof ir - n, "  %%v%d = fmul float %%v%d, 1.5\n", i, i - 1);
  snprintf(ir + n, sizeof ir - n, "  ret float %%v299\n}\n");
  refuses(&(hd_user_source){ir, strlen(ir), NULL}, "user.size", "up to 256");
  refuses(&(hd_user_source){ir, strlen(ir), HD_EPILOGUE_WORKER}, "user.size", "up to 256");
  static const char unknown[] = HEAD
      "  %n = icmp eq i32 %r, 0\n  br i1 %n, label %a, label %b\na:\n  %y = fneg float %x\n"
      "  br label %b\nb:\n  ret float %y\n}\n";
  refuses(&(hd_user_source){unknown, strlen(unknown), NULL}, "user.text", "every path");
  refuses(&(hd_user_source){"none", 4, "/bin/false"}, "user.worker", "ended with code 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_inlined),
                                     cmocka_unit_test(test_counted_loop_unrolls),
                                     cmocka_unit_test(test_names_stay_apart),
                                     cmocka_unit_test(test_many_calls_are_refused),
                                     cmocka_unit_test(test_without_worker),
                                     cmocka_unit_test(test_bounds),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
