/* heddle_compile_module: a module of the C builder compiles to the same output as its text, with
 * any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Compile/cache_key.h"
#include "Compile/sources_hash.h"
#include "Kernel/manifest.h"
#include "Spec/spec.h"
#include "Support/file.h"
#include "Support/strbuf.h"
#include "heddle/compile.h"
#include "heddle/version.h"

static heddle_module *scaled_linear(heddle_context *ctx) {
  heddle_problem *p = heddle_problem_create("scaled_linear", "sm_90a");
  heddle_module *module = NULL;
  heddle_problem_set_size(p, HEDDLE_DIM_M, 256);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 4096, 1);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 512);
  heddle_problem_set_a(p, HEDDLE_E4M3);
  heddle_problem_set_b(p, HEDDLE_E4M3, HEDDLE_K_MAJOR, 0, 16);
  heddle_problem_set_d(p, HEDDLE_BF16, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_scales(p, HEDDLE_SCALE_VECTOR, HEDDLE_SCALE_ONE);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_OK);
  heddle_problem_free(p);
  return module;
}

static void a_module_compiles_to_what_its_text_does(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = scaled_linear(ctx);
  heddle_compile_options threads = {.n_threads = 3};
  heddle_compiled *built = NULL, *parsed = NULL;
  char before[33], after[33], *text = NULL;
  size_t n;
  heddle_module_hash(module, before);
  assert_int_equal(heddle_compile_module(ctx, module, NULL, &built), HEDDLE_OK);
  heddle_module_hash(module, after);
  assert_string_equal(before, after);
  assert_int_equal(heddle_module_print(module, &text, &n), HEDDLE_OK);
  assert_int_equal(heddle_compile(ctx, NULL, text, n, &threads, &parsed), HEDDLE_OK);
  assert_string_equal(heddle_compiled_name(built), "scaled_linear");
  assert_string_equal(heddle_compiled_ptx(built, NULL), heddle_compiled_ptx(parsed, NULL));
  assert_string_equal(heddle_compiled_manifest(built, NULL),
                      heddle_compiled_manifest(parsed, NULL));
  assert_non_null(strstr(heddle_compiled_manifest(built, NULL), "\"scale_b_one\": true"));
  heddle_compiled_free(built);
  heddle_compiled_free(parsed);
  free(text);
  heddle_module_free(module);
  heddle_context_free(ctx);
}

static void block_scales_are_arguments(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  heddle_problem *p = heddle_problem_create("nvfp4", "sm_120a");
  heddle_module *module = NULL;
  heddle_compiled *compiled = NULL;
  heddle_problem_set_dynamic(p, HEDDLE_DIM_M, 4096, 1);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 4096, 1);
  heddle_problem_set_size(p, HEDDLE_DIM_K, 512);
  heddle_problem_set_a(p, HEDDLE_E2M1P);
  heddle_problem_set_b(p, HEDDLE_E2M1P, HEDDLE_K_MAJOR, 0, 32);
  heddle_problem_set_d(p, HEDDLE_BF16, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_block_scales(p, HEDDLE_UE4M3, 32, 0, 4096);
  assert_int_equal(heddle_problem_build(ctx, p, &module), HEDDLE_OK);
  assert_int_equal(heddle_compile_module(ctx, module, NULL, &compiled), HEDDLE_OK);
  const char *json = heddle_compiled_manifest(compiled, NULL);
  assert_non_null(strstr(json, "\"scale_block\": 32"));
  assert_non_null(strstr(json, "\"kind\": \"block_scale_a\""));
  assert_non_null(strstr(json, "\"kind\": \"ldsb\""));
  assert_non_null(strstr(heddle_compiled_ptx(compiled, NULL),
                         ".kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"));
  heddle_compiled_free(compiled);
  heddle_module_free(module);
  heddle_problem_free(p);
  heddle_context_free(ctx);
}

static void a_module_without_a_kernel_is_refused(void **state) {
  (void)state;
  static const char text[] = "module version=1 level=problem sync=none\n";
  heddle_context *ctx = heddle_context_create();
  heddle_module *module = NULL;
  heddle_compiled *compiled = NULL;
  assert_int_equal(heddle_module_parse(ctx, NULL, text, sizeof text - 1, &module), HEDDLE_OK);
  assert_int_equal(heddle_compile_module(ctx, module, NULL, &compiled), HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "compile.one-kernel");
  assert_null(compiled);
  heddle_module_free(module);
  heddle_context_free(ctx);
}

static const char head[] = "module version=1 level=problem sync=none\n";
static const char kernel[] =
    "kernel {name = \"%s\", target = \"sm_80\"} {\n"
    "  %%m: i32 = size {dim = m, value = 64}\n  %%n: i32 = size {dim = n, value = 64}\n"
    "  %%k: i32 = size {dim = k, value = 64}\n  %%a: matrix<f16> = sparse %%m, %%k {type = f16}\n"
    "  %%b: matrix<f16> = dense %%k, %%n {type = f16, operand = b, order = k_major}\n"
    "  %%x: matrix<f32> = matmul %%a, %%b {acc = f32}\n"
    "  store %%x {type = f16, order = row_major}\n}\n";

static hd_strbuf text_of(const char *name) {
  hd_strbuf text = {0};
  hd_strbuf_add(&text, head);
  hd_strbuf_printf(&text, kernel, name);
  return text;
}

static void refused(const hd_strbuf *text, const heddle_compile_options *options,
                    heddle_status status, const char *rule, const char *what) {
  heddle_context *ctx = heddle_context_create();
  heddle_compiled *compiled = NULL;
  assert_int_equal(heddle_compile(ctx, NULL, text->text, text->len, options, &compiled), status);
  assert_null(compiled);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, what));
  heddle_context_free(ctx);
}

static void two_kernels_are_one_too_many(void **state) {
  (void)state;
  hd_strbuf text = text_of("first");
  hd_strbuf_printf(&text, kernel, "second");
  refused(&text, NULL, HEDDLE_UNSUPPORTED, "compile.one-kernel", "got more");
  hd_strbuf_free(&text);
}

static void a_function_that_nobody_calls_is_refused(void **state) {
  (void)state;
  static const char ir[] = "define float @f(float %x, i32 %r, i32 %c, ptr %u) { ret float %x }";
  heddle_compile_options options = {.user_epilogue = ir, .user_epilogue_bytes = sizeof ir - 1};
  hd_strbuf text = text_of("plain");
  refused(&text, &options, HEDDLE_INVALID, "epilogue.user", "the problem calls none");
  hd_strbuf_free(&text);
}

static hd_hash fold(hd_hash hash, const void *data, size_t n_bytes) {
  return hd_hash_combine(hash, hd_hash_bytes(data, n_bytes));
}

/* A kernel's hash covers the module, the specs, the versions and the user's function. Its key in a
 * cache also covers the sources, the manifest's version, and size and time of ptxas. Neither covers
 * a path. */
static void assert_key(const hd_module *module, const heddle_compile_options *options,
                       const char *user, const char *ptxas) {
  static const char versions[] = "heddle " HEDDLE_VERSION " llvm " HEDDLE_LLVM_VERSION;
  uint64_t facts[4] = {HD_MANIFEST_VERSION, ptxas != NULL};
  if (ptxas)
    hd_file_stamp(ptxas, &facts[2]);
  hd_hash expected = hd_hash_combine(hd_module_hash(module), hd_spec_hash());
  expected = fold(expected, versions, sizeof versions);
  expected = fold(expected, user, strlen(user));
  hd_hash got = hd_kernel_hash(module, options);
  assert_true(got.lo == expected.lo && got.hi == expected.hi);
  expected = fold(expected, HD_SOURCES_HASH, sizeof HD_SOURCES_HASH);
  expected = fold(expected, facts, sizeof facts);
  assert_int_equal(hd_cache_key(got, options, &got), options->cache != NULL);
  assert_true(got.lo == expected.lo && got.hi == expected.hi);
}

static void the_key_is_of_all_that_matters(void **state) {
  (void)state;
  hd_strbuf text = text_of("plain");
  hd_module *module = NULL;
  assert_int_equal(hd_parse(NULL, "x", text.text, text.len, &module), HEDDLE_OK);
  assert_key(module, &(heddle_compile_options){0}, "", NULL);
  assert_key(module, &(heddle_compile_options){.cache = "/nowhere"}, "", NULL);
  heddle_compile_options user = {.user_epilogue = "function", .user_epilogue_bytes = 4};
  assert_key(module, &user, "func", NULL);
  assert_key(module, &(heddle_compile_options){.ptxas = "/bin/sh"}, "", "/bin/sh");
  assert_key(module, &(heddle_compile_options){.ptxas = "/bin/sh", .cache = "/"}, "", "/bin/sh");
  hd_module_free(module);
  hd_strbuf_free(&text);
}

/* A program that is looked up on the PATH cannot be told from another one or from a missing one. */
static void a_name_on_the_path_is_not_cached(void **state) {
  (void)state;
  heddle_compile_options options = {.ptxas = "sh", .cache = "/nowhere"};
  hd_hash none = {0, 0}, key;
  assert_false(hd_cache_key(none, &options, &key));
  options.ptxas = NULL;
  assert_true(hd_cache_key(none, &options, &key));
}

static void cached(const char *folder, const char *name) {
  hd_strbuf problem = text_of(name), entry = {0};
  heddle_compile_options options = {.cache = folder};
  heddle_compiled *compiled = NULL;
  hd_strbuf_printf(&entry, ".entry %s(", name);
  assert_int_equal(heddle_compile(NULL, NULL, problem.text, problem.len, &options, &compiled),
                   HEDDLE_OK);
  assert_string_equal(heddle_compiled_name(compiled), name);
  assert_non_null(strstr(heddle_compiled_ptx(compiled, NULL), entry.text));
  heddle_compiled_free(compiled);
  hd_strbuf_free(&problem);
  hd_strbuf_free(&entry);
}

/* One problem under two names has two entries in a cache. */
static void a_cached_kernel_has_its_own_name(void **state) {
  (void)state;
  char *folder;
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  cached(folder, "first");
  cached(folder, "second");
  cached(folder, "first");
  assert_int_equal(hd_file_remove(NULL, folder), HEDDLE_OK);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_module_compiles_to_what_its_text_does),
                                     cmocka_unit_test(block_scales_are_arguments),
                                     cmocka_unit_test(a_module_without_a_kernel_is_refused),
                                     cmocka_unit_test(two_kernels_are_one_too_many),
                                     cmocka_unit_test(a_function_that_nobody_calls_is_refused),
                                     cmocka_unit_test(the_key_is_of_all_that_matters),
                                     cmocka_unit_test(a_name_on_the_path_is_not_cached),
      cmocka_unit_test(a_name_on_the_path_is_not_cached),
                                     cmocka_unit_test(a_cached_kernel_has_its_own_name)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
