/* Replaces numbers of correct kernels by other numbers. Any verdict is accepted, but the checker
 * must return one. Run this test under the sanitizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "Check/check.h"
#include "Support/file.h"

static char *read_kernel(const char *file) {
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%s/test/check/Inputs/%s.heddle", HD_SOURCE_DIR, file);
  heddle_context *ctx = heddle_context_create();
  char *text = NULL;
  size_t n = 0;
  assert_int_equal(hd_file_read(ctx, path.text, &text, &n), HEDDLE_OK);
  heddle_context_free(ctx);
  hd_strbuf_free(&path);
  return text;
}

/* Returns the i-th number that stands alone (is not part of a name); NULL past the last one. */
static const char *number_at(const char *text, int i, size_t *n) {
  for (const char *at = text + 1; *at; at++) {
    bool starts = isdigit((unsigned char)*at) && !isalnum((unsigned char)at[-1]) && at[-1] != '_' &&
                  at[-1] != '%';
    if (!starts || i-- > 0)
      continue;
    *n = strspn(at, "0123456789");
    return at;
  }
  return NULL;
}

static heddle_status check_text(const char *text) {
  heddle_context *ctx = heddle_context_create();
  hd_module *module = NULL;
  hd_check_report report = {0};
  hd_check_options options = {.max_steps = 300000};
  heddle_status status = hd_parse(ctx, "noise", text, strlen(text), &module);
  if (status == HEDDLE_OK)
    status = hd_check(ctx, module, &options, &report);
  assert_true(status == HEDDLE_OK || heddle_context_count(ctx) > 0);
  hd_check_report_free(&report);
  hd_module_free(module);
  heddle_context_free(ctx);
  return status;
}

static void change_numbers(const char *file, int *n_by_status) {
  static const char *const others[] = {"0", "1", "-1", "7", "4096", "2147483647",
                                       "9223372036854775807"};
  char *text = read_kernel(file);
  size_t n;
  for (int i = 0; number_at(text, i, &n); i++) {
    const char *at = number_at(text, i, &n);
    hd_strbuf changed = {0};
    hd_strbuf_addn(&changed, text, (size_t)(at - text));
    hd_strbuf_add(&changed, others[i % (int)HD_COUNT(others)]);
    hd_strbuf_add(&changed, at + n);
    n_by_status[check_text(changed.text)]++;
    hd_strbuf_free(&changed);
  }
  free(text);
}

static void say_something(void **state) {
  (void)state;
  int n_by_status[8] = {0};
  change_numbers("hopper_cluster", n_by_status);
  change_numbers("hopper_gather", n_by_status);
  change_numbers("ampere_cp_async", n_by_status);
  assert_true(n_by_status[HEDDLE_MISMATCH] > 20);
  assert_true(n_by_status[HEDDLE_INVALID] > 20);
  assert_int_equal(n_by_status[HEDDLE_INTERNAL], 0);
  assert_int_equal(n_by_status[HEDDLE_NO_MEMORY], 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(say_something)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
