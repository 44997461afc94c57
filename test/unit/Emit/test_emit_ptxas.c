/* The check of ptxas's report: each fault that it must detect, injected. */
#include "emit_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n"

static heddle_status assemble(heddle_context *ctx, const char *ptx, hd_ptxas_report *report) {
  return hd_ptxas_assemble(ctx, HD_PTXAS, ptx, "sm_90a", NULL, NULL, report);
}

static void skip_without_ptxas(void) {
  if (strstr(HD_PTXAS, "NOTFOUND")) {
    print_message("skipped: ptxas is absent\n");
    skip();
  }
}

static void test_clean(void **state) {
  (void)state;
  skip_without_ptxas();
  heddle_context *ctx = heddle_context_create();
  hd_ptxas_report report = {0};
  void *cubin = NULL;
  size_t n = 0;
  const char *ptx =
      HEAD ".visible .entry clean(.param .u64 p) { .reg .b64 %rd<2>; .shared .b32 s[8];"
           " ld.param.u64 %rd1, [p]; st.shared.b32 [s], 1; st.global.b32 [%rd1], 7; ret; }\n";
  assert_int_equal(hd_ptxas_assemble(ctx, HD_PTXAS, ptx, "sm_90a", &cubin, &n, &report), HEDDLE_OK);
  assert_int_equal(report.n_entries, 1);
  assert_string_equal(report.entry[0].name, "clean");
  assert_true(report.entry[0].registers > 0);
  assert_int_equal(report.entry[0].shared_bytes % 32, 0);
  assert_true(n > 64 && memcmp(cubin, "\177ELF", 4) == 0);
  free(cubin);
  hd_ptxas_report_free(&report);
  heddle_context_free(ctx);
}

/* Needs more registers than a thread may have: 200 values are live at once in 32 registers. */
static char *spilling(void) {
  hd_strbuf s = {0};
  hd_strbuf_add(&s, HEAD ".visible .entry spilling(.param .u64 p) .maxntid 128 .maxnreg 32 {\n"
                         ".reg .b64 %rd<2>; .reg .f32 %f<201>; ld.param.u64 %rd1, [p];\n");
  for (int i = 0; i < 200; i++)
    hd_strbuf_printf(&s, "ld.volatile.global.f32 %%f%d, [%%rd1+%d];\n", i, 4 * i);
  for (int i = 0; i < 200; i++)
    hd_strbuf_printf(&s, "st.volatile.global.f32 [%%rd1+%d], %%f%d;\n", 4 * i, 199 - i);
  hd_strbuf_add(&s, "ret; }\n");
  return hd_strbuf_take(&s);
}

static void expect(const char *ptx, heddle_status status, const char *rule) {
  heddle_context *ctx = heddle_context_create();
  hd_ptxas_report report = {0};
  heddle_status got = assemble(ctx, ptx, &report);
  if (got != status)
    print_errors(ctx);
  assert_int_equal(got, status);
  assert_string_equal(first_rule(ctx), rule);
  hd_ptxas_report_free(&report);
  heddle_context_free(ctx);
}

static void test_injected(void **state) {
  (void)state;
  skip_without_ptxas();
  expect(HEAD ".visible .entry k(.param .u64 p) .maxntid 128 {\n"
              "setmaxnreg.dec.sync.aligned.u32 40; ret; }\n",
         HEDDLE_UNSUPPORTED, "ptxas.remark");
  expect(HEAD
         ".visible .entry k(.param .u64 p) { .local .align 4 .b8 x[64]; .reg .b64 %rd<3>;\n"
         ".reg .b32 %r<2>; ld.param.u64 %rd1, [p]; mov.u64 %rd2, x; add.s64 %rd2, %rd2, %rd1;\n"
         "st.local.b32 [%rd2], 1; ld.local.b32 %r1, [x]; st.global.b32 [%rd1], %r1;"
         " ret; }\n",
         HEDDLE_UNSUPPORTED, "ptxas.spill");
  char *ptx = spilling();
  expect(ptx, HEDDLE_UNSUPPORTED, "ptxas.spill");
  free(ptx);
  expect(HEAD ".visible .entry k() { no_such_instruction; }\n", HEDDLE_INTERNAL, "ptxas.error");
}

static void test_absent(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  hd_ptxas_report report = {0};
  assert_int_equal(hd_ptxas_assemble(ctx, "/no/such/ptxas", HEAD, "sm_90a", NULL, NULL, &report),
                   HEDDLE_ENVIRONMENT);
  hd_ptxas_report_free(&report);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_injected),
                                     cmocka_unit_test(test_absent)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
