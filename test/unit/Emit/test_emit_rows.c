/* Emits every mma.sp and wgmma.sp row that may be generated, with every selector, for its targets.
 * ptxas must assemble it without a remark. */
#include "emit_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"

static const char *const targets[] = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};

static bool is_legal(const hd_spec_row *row, const hd_target *target) {
  hd_legal_query query = {target, target->llvm_ptx, -1};
  return hd_spec_can_generate(row) && hd_spec_legal(row, &query, NULL, 0) == HD_LEGAL;
}

static const char *acc_name(const hd_spec_row *row) {
  return heddle_elem_get(row->operand[HD_OPERAND_D].elem)->name;
}

/* Accumulator elements per thread: f16 has two per register. */
static int acc_elems(const hd_spec_row *row) {
  const hd_operand *d = &row->operand[HD_OPERAND_D];
  return d->n_regs * 32 / heddle_elem_get(d->elem)->container_bits;
}

static void write_mma(hd_strbuf *s, const hd_spec_row *row, const char *target, int number) {
  const hd_operand *o = row->operand;
  hd_strbuf_printf(s, "kernel {name = \"k%d\", target = \"%s\", threads = 32} {\n", number, target);
  hd_strbuf_add(s, "  %d: ptr<f32> = arg {arg = d, type = f32}\n"
                   "  %ldd: i64 = arg {arg = ldd}\n  %m: i32 = arg {arg = m}\n"
                   "  role {name = \"main\", warp_lo = 0, n_warps = 1} {\n"
                   "    %zero: i32 = const {value = 0}\n    %e: frag<s32 x 1> = frag.zero\n");
  hd_strbuf_printf(s, "    %%a: frag<s32 x %d> = frag.zero\n    %%b: frag<s32 x %d> = frag.zero\n",
                   o[HD_OPERAND_A].n_regs, o[HD_OPERAND_B].n_regs);
  hd_strbuf_printf(s, "    %%c0: frag<%s x %d> = frag.zero\n", acc_name(row), acc_elems(row));
  int n = row->n_selectors ? row->n_selectors : 1;
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(s, "    %%c%d: frag<%s x %d> = mma.sp %%c%d, %%a, %%b, %%e {row = \"%s\", "
                        "selector = %d}\n", i + 1, acc_name(row), acc_elems(row), i, row->name, i);
  hd_strbuf_printf(s, "    store.tile %%d, %%ldd, %%zero, %%zero, %%m, %%m, %%c%d {type = f32, "
                      "order = row_major, act = none, path = direct}\n  }\n}\n", n);
}

static void write_wgmma(hd_strbuf *s, const hd_spec_row *row, const char *target, int number) {
  const char *acc = acc_name(row);
  int n_acc = acc_elems(row), n = row->n_selectors ? row->n_selectors : 1;
  hd_strbuf_printf(s, "kernel {name = \"k%d\", target = \"%s\", threads = 128} {\n"
                      "  %%sa: buffer = buffer {name = \"a\", space = shared, bytes = 4608, "
                      "stages = 1, align = 128, layout = packed_a, slab_bytes = 4608, "
                      "meta_offset = 4096}\n"
                      "  %%sb: buffer = buffer {name = \"b\", space = shared, bytes = %d, "
                      "stages = 1, align = 1024, layout = rows, rows = %d, panel = 128, "
                      "swizzle = 128}\n", number, target, row->n * 128, row->n);
  hd_strbuf_printf(s,
                   "  role {name = \"main\", warp_lo = 0, n_warps = 4} {\n"
                   "    %%zero: i32 = const {value = 0}\n    %%yes: i1 = const {value = 1}\n"
                   "    %%at: cursor = cursor {stages = 1}\n"
                   "    %%e: frag<s32 x 1> = load.meta %%sa, %%at, %%zero {word = 0}\n"
                   "    %%a: frag<s32 x 4> = load.a %%sa, %%at, %%zero {row = \"%s\", step = 0}\n"
                   "    %%u: frag<%s x %d> = frag.undef\n"
                   "    %%c0: frag<%s x %d> = wgmma.fence %%u\n",
                   row->name, acc, n_acc, acc, n_acc);
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(s, "    %%c%d: frag<%s x %d> = %s %%c%d, %s, %%e, %%yes {row = \"%s\", "
                        "selector = %d, step = 1}\n", i + 1, acc, n_acc,
                     row->a_in_registers ? "wgmma.sp.rs" : "wgmma.sp.ss", i,
                     row->a_in_registers ? "%a, %sb, %at" : "%sa, %at, %zero, %sb", row->name, i);
  hd_strbuf_printf(s, "    wgmma.commit\n    %%w: frag<%s x %d> = wgmma.wait %%c%d {pending = 0}\n"
                      "  }\n}\n", acc, n_acc, n);
}

/* Writes all legal rows of a family into one module. */
static int write_rows(hd_strbuf *s, const char *name, hd_family family, int first, int stride) {
  const hd_target *target;
  int n = 0;
  assert_int_equal(hd_target_parse(name, &target), HEDDLE_OK);
  hd_strbuf_add(s, "module version=1 level=role sync=placed\n");
  for (size_t i = (size_t)first; i < hd_spec_count(); i += (size_t)stride) {
    const hd_spec_row *row = hd_spec_get(i);
    bool scaled = row->fragment[HD_OPERAND_SCALE_A] || row->operand[HD_OPERAND_SCALE_A].n_regs;
    if (row->family != family || scaled || !is_legal(row, target))
      continue;
    (family == HD_FAMILY_MMA_SP ? write_mma : write_wgmma)(s, row, name, n++);
  }
  return n;
}

static int try_rows(const char *target, hd_family family, int first, int stride) {
  heddle_context *ctx = heddle_context_create();
  hd_strbuf text = {0};
  hd_emit_result result = {0};
  int n = write_rows(&text, target, family, first, stride);
  if (n) {
    heddle_status status = emit_text(ctx, hd_strbuf_text(&text), NULL, &result);
    if (status != HEDDLE_OK)
      print_errors(ctx);
    assert_int_equal(status, HEDDLE_OK);
    assert_int_equal(result.n_kernels, n);
    assert_assembles(ctx, result.ptx, target);
  }
  hd_emit_result_free(&result);
  hd_strbuf_free(&text);
  heddle_context_free(ctx);
  return n;
}

static void test_mma_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(targets); i++) {
    int n = try_rows(targets[i], HD_FAMILY_MMA_SP, 0, 1);
    print_message("%s: %d rows of mma.sp\n", targets[i], n);
    assert_true(n > 0);
  }
}

/* A module has a sixteenth of the rows, so that no PTX text becomes large. */
static void test_wgmma_rows(void **state) {
  (void)state;
  enum { PARTS = 16 };
  int n = 0;
  for (int part = 0; part < PARTS; part++)
    n += try_rows("sm_90a", HD_FAMILY_WGMMA_SP, part, PARTS);
  print_message("sm_90a: %d rows of wgmma.sp\n", n);
  assert_true(n >= 32);
}

/* tcgen05.wait_ld waits with or without fragments as operands. */
static void test_a_wait_for_nothing(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_emit_result result = {0};
  assert_int_equal(emit_body(ctx, "sm_100a",
                             "  role {name = \"main\", warp_lo = 0, n_warps = 1} {\n"
                             "    tcgen05.wait_ld\n  }\n",
                             NULL, &result),
                   HEDDLE_OK);
  assert_non_null(strstr(result.ptx, "tcgen05.wait::ld.sync.aligned"));
  assert_assembles(ctx, result.ptx, "sm_100a");
  hd_emit_result_free(&result);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mma_rows),
                                     cmocka_unit_test(test_wgmma_rows),
                                     cmocka_unit_test(test_a_wait_for_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
