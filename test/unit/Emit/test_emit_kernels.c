/* Small complete kernels, assembled by ptxas: parameters, shared memory, copies of every width,
 * stores of every type and order. */
#include "emit_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "IR/shared_layout.h"

static const char head[] = "module version=1 level=role sync=placed\n";

static void test_parameters(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  const char *text =
      "module version=1 level=role sync=placed\n"
      "kernel {name = \"first\", target = \"sm_90a\", threads = 64, cluster = 2} {\n"
      "  %ldd: i64 = arg {arg = ldd}\n"
      "  %t: tmap = tmap {arg = b, type = bf16, dims = [\"k\", \"n\"], strides = [\"\", "
      "\"ldb*2\"], "
      "box = [64, 8], swizzle = 128}\n"
      "  %d: ptr<f32> = arg {arg = d, type = f32}\n"
      "  %alpha: f32 = arg {arg = alpha}\n"
      "  %b: buffer = buffer {name = \"b\", space = shared, bytes = 1024, stages = 3, align = "
      "1024, "
      "layout = rows, rows = 8, panel = 128, swizzle = 128}\n"
      "  %full: barrier = barrier {name = \"full\", stages = 3, count = 1}\n"
      "  %a: buffer = buffer {name = \"a\", space = shared, bytes = 384, stages = 1, align = 128, "
      "layout = linear}\n"
      "}\n";
  hd_module *module = NULL;
  hd_emit_options options = {.header = "one\n\nthree"};
  hd_emit_result r = {0};
  assert_int_equal(hd_parse(ctx, "t", text, strlen(text), &module), HEDDLE_OK);
  assert_int_equal(hd_emit_ptx(ctx, module, &options, &r), HEDDLE_OK);
  assert_int_equal(r.n_kernels, 1);
  assert_string_equal(r.kernel[0].entry, "first");
  assert_int_equal(r.kernel[0].cluster, 2);
  assert_int_equal(r.kernel[0].shared_bytes, 3 * 1024 + 384 + 3 * 8);
  static const char *const order[] = {"ldd", "b", "d", "alpha"};
  assert_int_equal(r.kernel[0].n_params, 4);
  for (int i = 0; i < 4; i++)
    assert_true(hd_op_is(r.kernel[0].param[i], HD_ATTR_ARG, order[i]));
  assert_int_equal(strncmp(r.ptx, "// one\n//\n// three\n", 19), 0);
  assert_non_null(strstr(r.ptx, ".param .align 64 .b8 first_param_1[128]"));
  assert_non_null(strstr(r.ptx, ".reqnctapercluster 2"));
  assert_non_null(strstr(r.ptx, ".maxntid 64"));
  assert_assembles(ctx, r.ptx, "sm_90a");
  hd_emit_result again = {0};
  assert_int_equal(hd_emit_ptx(ctx, module, &options, &again), HEDDLE_OK);
  assert_string_equal(r.ptx, again.ptx);
  hd_emit_result_free(&again);
  hd_emit_result_free(&r);
  hd_module_free(module);
  heddle_context_free(ctx);
}

static void emit_and_assemble(const char *target, hd_strbuf *text) {
  heddle_context *ctx = heddle_context_create();
  hd_emit_result r = {0};
  heddle_status status = emit_text(ctx, hd_strbuf_text(text), NULL, &r);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  assert_assembles(ctx, r.ptx, target);
  hd_emit_result_free(&r);
  hd_strbuf_free(text);
  heddle_context_free(ctx);
}

/* Shapes with each order of chunks (DOWN, ALONG, LOOSE), for every width, with and without
 * panels. */
static void test_copies(void **state) {
  (void)state;
  static const struct shape {
    int warps, rows, row_bytes;
    const char *layout;
  } shapes[] = {
      {4, 64, 128, "rows, rows = 64, panel = 128, swizzle = 128"},
      {4, 64, 256, "rows, rows = 64, panel = 128, swizzle = 128"},
      {1, 8, 512, "rows, rows = 8, panel = 128, swizzle = 128"},
      {2, 24, 64, "rows, rows = 24, panel = 64, swizzle = 64"},
      {3, 16, 96, "linear"},
      {3, 2, 4608, "packed_a, slab_bytes = 4608, meta_offset = 4096"},
  };
  hd_strbuf s = {0};
  hd_strbuf_add(&s, head);
  int n = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++)
    for (int vec = 1; vec <= 16; vec *= 2)
      for (int async = 0; async < 2; async++) {
        const struct shape *h = &shapes[i];
        if ((vec < 4 && async) || (vec < 16 && h->row_bytes == 4608))
          continue; /* cp.async takes 4 bytes or more; packed A is always aligned */
        hd_strbuf_printf(&s,
            "kernel {name = \"k%d\", target = \"sm_80\", threads = %d} {\n"
            "  %%b: ptr<f16> = arg {arg = b, type = f16}\n  %%ld: i64 = arg {arg = ldb}\n"
            "  %%n: i32 = arg {arg = n}\n"
            "  %%s: buffer = buffer {name = \"b\", space = shared, bytes = %d, stages = 2, "
            "align = 128, layout = %s, type = f16}\n"
            "  role {name = \"main\", warp_lo = 0, n_warps = %d} {\n"
            "    %%c: cursor = cursor {stages = 2}\n    %%z: i32 = const {value = 0}\n"
            "    %%z64: i64 = const {value = 0}\n"
            "    %s %%b, %%ld, %%s, %%c, %%z, %%z64, %%ld, %%n {offset = 0, rows = %d, "
            "row_bytes = %d, vec = %d}\n  }\n}\n",
            n++, h->warps * 32, h->rows * h->row_bytes, h->layout, h->warps,
            async ? "copy.cp_async" : "copy.ld_st", h->rows, h->row_bytes, vec);
      }
  print_message("%d copies\n", n);
  emit_and_assemble("sm_80", &s);
}

static const char *const types[] = {"f16", "bf16", "f32", "e4m3", "e5m2", "s8", "u8", "s32"};
static const char *const acts[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};

/* Types x orders x paths x accumulators. The flags of the epilogue vary with the index. */
static void test_stores(void **state) {
  (void)state;
  hd_strbuf s = {0};
  hd_strbuf_add(&s, head);
  int n = 0;
  for (size_t t = 0; t < HD_COUNT(types); t++)
    for (int form = 0; form < 12; form++, n++) {
      static const char *const accs[] = {"f32 x 24", "f16 x 24", "s32 x 24"};
      hd_strbuf_printf(
          &s,
          "kernel {name = \"k%d\", target = \"sm_90a\", threads = 32} {\n"
          "  %%d: ptr<f32> = arg {arg = d, type = f32}\n  %%c: ptr<f16> = arg {arg = c, type = "
          "f16}\n"
          "  %%bias: ptr<f32> = arg {arg = bias, type = f32}\n"
          "  %%sa: ptr<f32> = arg {arg = scale_a, type = f32}\n"
          "  %%sb: ptr<f32> = arg {arg = scale_b, type = f32}\n"
          "  %%ldd: i64 = arg {arg = ldd}\n  %%ldc: i64 = arg {arg = ldc}\n"
          "  %%alpha: f32 = arg {arg = alpha}\n  %%beta: f32 = arg {arg = beta}\n"
          "  %%m: i32 = arg {arg = m}\n  %%n: i32 = arg {arg = n}\n"
          "  role {name = \"main\", warp_lo = 0, n_warps = 1} {\n"
          "    %%z: i32 = const {value = 0}\n    %%acc: frag<%s> = frag.zero\n"
          "    store.tile %%d, %%ldd, %%z, %%z, %%m, %%n, %%acc {type = %s, order = %s, act = %s, "
          "path = %s%s}\n  }\n}\n",
          n, accs[form / 4], types[t], form & 1 ? "col_major" : "row_major", acts[n % 5],
          form & 2 ? "quad" : "direct",
          n % 4 == 0   ? ", alpha, beta, c, c_type = f16, c_order = row_major"
          : n % 4 == 1 ? ", bias, bias_type = f32, bias_along = n, c, c_type = bf16, "
                         "c_order = col_major"
          : n % 4 == 2 ? ", bias, bias_type = f16, bias_along = m, scale_a, scale_b"
                       : "");
    }
  print_message("%d stores\n", n);
  emit_and_assemble("sm_90a", &s);
}

static const char two_fragments[] =
    "module version=1 level=role sync=placed\n"
    "kernel {name = \"k\", target = \"sm_90a\", threads = 128} {\n"
    "  %b: buffer = buffer {name = \"b\", type = bf16, space = shared, bytes = 1024, stages = 1, "
    "align = 1024, layout = rows, rows = 8, panel = 128, swizzle = 128}\n"
    "  %a: buffer = buffer {name = \"a\", type = bf16, space = shared, bytes = 4608, stages = 1, "
    "align = 128, layout = packed_a, slab_bytes = 4608, meta_offset = 4096}\n"
    "  role {name = \"main\", warp_lo = 0, n_warps = 4} {\n"
    "    %z: i32 = const {value = 0}\n    %one: i32 = const {value = 1}\n"
    "    %no: i1 = const {value = 0}\n    %at: cursor = cursor {stages = 1}\n"
    "    %x: F = frag.undef\n    %y: F = frag.undef\n"
    "    %meta: frag<s32 x 1> = load.meta %a, %at, %z {word = 0}\n";

/* Emits the two fragments and `body`. F stands for their type, M for the operands of a wgmma after
 * its accumulators. */
static void emit_fragments(const char *body, hd_emit_result *r) {
  static const char more[] = "%a, %at, %z, %b, %meta, %no {row = "
                             "\"wgmma_sp_ss_m64n8k32_f32_bf16_bf16\", step = 0, selector = 0}";
  heddle_context *ctx = heddle_context_create();
  hd_strbuf all = {0}, text = {0};
  hd_strbuf_printf(&all, "%s%s  }\n}\n", two_fragments, body);
  for (const char *at = hd_strbuf_text(&all); *at; at++)
    if (*at == 'F' || *at == 'M')
      hd_strbuf_add(&text, *at == 'F' ? "frag<f32 x 4>" : more);
    else
      hd_strbuf_addn(&text, at, 1);
  heddle_status status = emit_text(ctx, hd_strbuf_text(&text), NULL, r);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  hd_strbuf_free(&all);
  hd_strbuf_free(&text);
  heddle_context_free(ctx);
}

static const char both[] = "    %fx: F, %fy: F = wgmma.fence %x, %y\n"
                           "    %dx: F = wgmma.sp.ss %fx, M\n"
                           "    %dy: F = wgmma.sp.ss %fy, M\n"
                           "    wgmma.commit\n"
                           "    %wx: F, %wy: F = wgmma.wait %dx, %dy {pending = 0}\n";

/* R5: neither a definition of a fenced register nor a copy of one may be moved after the fence. */
static void expect_nothing_behind_fence(const char *body, const char *move_of) {
  hd_emit_result r = {0};
  emit_fragments(body, &r);
  const char *fence = strstr(r.ptx, "wgmma.fence"), *move = strstr(fence, move_of);
  const char *last = strstr(strstr(fence, "wgmma.mma_async") + 1, "wgmma.mma_async");
  assert_true(last && (!move || move > last));
  hd_emit_result_free(&r);
}

static void test_fence(void **state) {
  (void)state;
  expect_nothing_behind_fence(both, "mov.b32");
  /* With a third user the fragments are LLVM values, not pinned. */
  char *shared = NULL;
  assert_true(asprintf(&shared, "%s    %%sx: F, %%sy: F = wgmma.wait %%x, %%y {pending = 0}\n",
                       both) > 0);
  expect_nothing_behind_fence(shared, "mov.b32");
  free(shared);
}

/* Fragments are pinned if each value has a single user, one op after the other. */
static void test_banks(void **state) {
  (void)state;
  static const struct {
    const char *body;
    int32_t n_pinned; /* registers */
  } cases[] = {
      {both, 8},
      {"    %d: F = wgmma.sp.ss %x, M\n    %e: F = wgmma.sp.ss %x, M\n", 0},
      {"    %d: F = wgmma.sp.ss %x, M\n    %e: F = wgmma.sp.ss %y, M\n"
       "    %w: F = wgmma.wait %d {pending = 0}\n",
       4},
      {"    %u: F, %v: F = for %z, %one, %one, %x, %y (%i: i32, %p: F, %q: F) {\n"
       "      %d: F = wgmma.sp.ss %p, M\n      %w: F = wgmma.wait %d {pending = 0}\n"
       "      yield %w, %q\n    }\n",
       8},
      {"    %u: F, %v: F = for %z, %one, %one, %x, %y (%i: i32, %p: F, %q: F) {\n"
       "      %d: F = wgmma.sp.ss %p, M\n      %w: F = wgmma.wait %d {pending = 0}\n"
       "      yield %q, %w\n    }\n",
       0},
      {"    for %z, %one, %one (%i: i32) {\n      %d: F = wgmma.sp.ss %x, M\n"
       "      %w: F = wgmma.wait %d {pending = 0}\n      yield\n    }\n",
       0},
      {"    %u: F = if %no {\n      %d: F = wgmma.sp.ss %x, M\n"
       "      %w: F = wgmma.wait %d {pending = 0}\n      yield %w\n    } else {\n"
       "      yield %x\n    }\n",
       4},
      {"    %u: F = if %no {\n      %d: F = wgmma.sp.ss %x, M\n"
       "      %w: F = wgmma.wait %d {pending = 0}\n      yield %w\n    } else {\n"
       "      yield %y\n    }\n",
       0},
  };
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    hd_emit_result r = {0};
    char declared[32];
    emit_fragments(cases[i].body, &r);
    snprintf(declared, sizeof declared, "%%acc<%d>;", (int)cases[i].n_pinned);
    if (cases[i].n_pinned ? !strstr(r.ptx, declared) : strstr(r.ptx, "%acc") != NULL)
      fail_msg("case %zu: not %d pinned registers", i, (int)cases[i].n_pinned);
    hd_emit_result_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(test_copies),
                                     cmocka_unit_test(test_stores),
                                     cmocka_unit_test(test_fence),
                                     cmocka_unit_test(test_banks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
