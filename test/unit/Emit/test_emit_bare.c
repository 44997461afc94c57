/* lib/Emit emits every row of specs/ alone in a kernel, for each of its targets at the minimum PTX
 * version that LLVM supports. The text must be the row's, and ptxas must assemble it. */
#include "emit_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_bare.h"
#include "Support/file.h"
#include "emit_sim.h"

enum { MAX_MODULE = 512, LAST_PTX = 90 };

/* Whether the kernel named as the row has an instruction that `heddle legal` matches to the row. */
static bool prints_row(const char *ptx, const hd_spec_row *row) {
  char text[256];
  snprintf(text, sizeof text, ".entry %s(", row->name);
  const char *line = strstr(ptx, text), *end = line ? strstr(line, "\n}") : NULL;
  for (; line && line < end; line += strcspn(line, "\n") + 1) {
    const char *word = line + strspn(line, " \t");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(word, " ;\t\n"), word);
    const hd_spec_row *found = hd_spec_find(text);
    if (found && !strcmp(found->ptx, row->ptx))
      return true;
  }
  return false;
}

/* Whether ptxas generates code for the target. For other targets it only parses, which checks
 * target and version. sm_8x is left out because ptxas 13.0.88 crashes there on mbarrier.test_wait
 * with a state. test_emit_rows assembles mma.sp and wgmma for these targets. */
static bool makes_code(const hd_target *target) {
  static const char *const names[] = {"sm_75", "sm_90", "sm_100a", "sm_120a"};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    if (!strcmp(names[i], target->name))
      return true;
  return false;
}

static bool ptxas_takes(const hd_target *target, const char *ptx, size_t n_bytes, bool quiet) {
  char *folder = NULL, path[512], arch[32];
  int code = -1;
  hd_strbuf log = {0};
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  snprintf(path, sizeof path, "%s/rows.ptx", folder);
  assert_int_equal(hd_file_write(NULL, path, ptx, n_bytes), HEDDLE_OK);
  snprintf(arch, sizeof arch, "%s_%s", makes_code(target) ? "sm" : "compute", target->name + 3);
  const char *argv[] = {HD_PTXAS, "-arch", arch, path, "-o", "/dev/null", NULL};
  assert_int_equal(hd_process_run(NULL, argv, 120, &log, &code), HEDDLE_OK);
  if (code && !quiet)
    print_error("%s: %.2000s\n", target->name, hd_strbuf_text(&log));
  hd_file_remove(NULL, folder);
  hd_strbuf_free(&log);
  free(folder);
  return code == 0;
}

static void check_module(const hd_target *target, unsigned version, const hd_spec_row **rows,
                         size_t n) {
  heddle_context *ctx = heddle_context_create();
  char *ptx = NULL;
  size_t n_bytes = 0, n_wrong = 0;
  heddle_status status = hd_emit_bare_rows(ctx, target, version, rows, n, &ptx, &n_bytes);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  assert_int_equal(status, HEDDLE_OK);
  for (size_t i = 0; i < n; i++)
    if (!prints_row(ptx, rows[i])) {
      print_error("%s: its kernel has no %s\n", rows[i]->name, rows[i]->ptx);
      n_wrong++;
    }
  assert_int_equal(n_wrong, 0);
  assert_true(ptxas_takes(target, ptx, n_bytes, false));
  free(ptx);
  heddle_context_free(ctx);
}

/* Checks all rows of a target, at most MAX_MODULE of one version in a module. */
static size_t check_target(const hd_target *target) {
  const hd_spec_row *rows[MAX_MODULE];
  size_t n_cells = 0, n = 0;
  for (unsigned version = 63; version <= LAST_PTX; version++) {
    for (size_t i = 0; i <= hd_spec_count(); i++) {
      const hd_spec_row *row = hd_spec_get(i); /* NULL at the end */
      if (row && hd_emit_bare_version(row, target) == version)
        rows[n++] = row;
      if (n && (!row || n == MAX_MODULE)) {
        check_module(target, version, rows, n);
        n_cells += n;
        n = 0;
      }
    }
  }
  return n_cells;
}

/* Checks that the test above can fail: another row's text, a version that is too low, a target
 * without the row. */
static void test_injected_errors_are_seen(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  const hd_spec_row *row = hd_spec_find("wgmma_sp_ss_m64n8k32_f32_f16_f16");
  const hd_target *target, *other;
  char *ptx = NULL;
  size_t n = 0;
  assert_int_equal(hd_target_parse("sm_90a", &target), HEDDLE_OK);
  assert_int_equal(hd_target_parse("sm_100a", &other), HEDDLE_OK);
  assert_int_equal(hd_emit_bare_rows(ctx, other, 86, &row, 1, &ptx, &n), HEDDLE_UNSUPPORTED);
  assert_int_equal(hd_emit_bare_rows(ctx, target, 82, &row, 1, &ptx, &n), HEDDLE_OK);
  assert_true(prints_row(ptx, row) && ptxas_takes(target, ptx, n, false));
  char *version = strstr(ptx, ".version 8.2"), *shape = strstr(ptx, ".m64n8k32");
  assert_true(version && shape);
  version[strlen(".version 8.")] = '1';
  assert_false(ptxas_takes(target, ptx, n, true));
  shape[strlen(".m64n8k")] = '1';
  assert_false(prints_row(ptx, row));
  free(ptx);
  heddle_context_free(ctx);
}

/* Rows with an intrinsic that LLVM does not have, cannot select, or rejects with these operands.
 * The error names the row, and LLVM does not abort the process. */
static void test_rows_that_llvm_refuses(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"emit.intrinsic", "llvm.nvvm.none"},
      {"emit.verify", "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"}, /* with 0 registers */
      {"emit.llvm", "llvm.stacksave"}};                             /* needs PTX 7.3 */
  const hd_target *target;
  assert_int_equal(hd_target_parse("sm_75", &target), HEDDLE_OK);
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    heddle_context *ctx = heddle_context_create();
    hd_spec_row bad = *hd_spec_find("ldmatrix_m8n8_x1_b16");
    const hd_spec_row *row = &bad;
    char *ptx = NULL;
    size_t n = 0;
    bad.llvm_intrinsic = cases[i][1];
    assert_int_equal(hd_emit_bare_rows(ctx, target, 65, &row, 1, &ptx, &n), HEDDLE_INTERNAL);
    assert_null(ptx);
    assert_string_equal(heddle_context_get(ctx, 0)->rule, cases[i][0]);
    heddle_context_free(ctx);
  }
}

/* A row that cannot be emitted must have a note with the reason. */
static bool is_emitted(const hd_spec_row *row) {
  bool somewhere = false;
  for (size_t t = 0; t < hd_target_count(); t++)
    somewhere |= hd_emit_bare_version(row, hd_target_get(t)) != 0;
  if (somewhere != !*row->note)
    print_error("%s: note \"%s\"\n", row->name, row->note);
  assert_true(somewhere == !*row->note);
  return somewhere;
}

static void test_every_row_on_every_target(void **state) {
  (void)state;
  size_t n_cells = 0, n_rows = 0;
  for (size_t i = 0; i < hd_spec_count(); i++)
    n_rows += is_emitted(hd_spec_get(i));
  for (size_t i = 0; i < hd_target_count(); i++)
    n_cells += check_target(hd_target_get(i));
  print_message("rows=%zu rows x targets=%zu refusals=0 not expressible (see their notes)=%zu\n",
                n_rows, n_cells, hd_spec_count() - n_rows);
  assert_true(n_cells > 8000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row_on_every_target),
                                     cmocka_unit_test(test_injected_errors_are_seen),
                                     cmocka_unit_test(test_rows_that_llvm_refuses),
                                     cmocka_unit_test(test_the_simulator_takes_or_names_each_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
