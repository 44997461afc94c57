#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "Support/file.h"
#include "check_harness.h"

char *replace(char *text, const edit *e) {
  char *at = strstr(text, e->from);
  if (!at)
    fail_msg("the kernel does not hold \"%s\"", e->from);
  hd_strbuf out = {0};
  hd_strbuf_addn(&out, text, (size_t)(at - text));
  hd_strbuf_add(&out, e->to);
  hd_strbuf_add(&out, at + strlen(e->from));
  free(text);
  return hd_strbuf_take(&out);
}

char *kernel_text(const char *file) {
  hd_strbuf path = {0}, text = {0};
  hd_strbuf_printf(&path, "%s/test/check/Inputs/%s.heddle", HD_SOURCE_DIR, file);
  heddle_context *ctx = heddle_context_create();
  char *bytes = NULL;
  size_t n = 0;
  assert_int_equal(hd_file_read(ctx, path.text, &bytes, &n), HEDDLE_OK);
  hd_strbuf_addn(&text, bytes, n);
  free(bytes);
  heddle_context_free(ctx);
  hd_strbuf_free(&path);
  return hd_strbuf_take(&text);
}

heddle_status check_text(const char *text, hd_check_report *report) {
  heddle_context *ctx = heddle_context_create();
  hd_module *module = NULL;
  heddle_status status = hd_parse(ctx, "injected", text, strlen(text), &module);
  if (status == HEDDLE_OK)
    status = hd_check(ctx, module, NULL, report);
  for (size_t i = 0; status == HEDDLE_INVALID && i < heddle_context_count(ctx); i++)
    print_message("%s\n", heddle_context_get(ctx, i)->text);
  hd_module_free(module);
  heddle_context_free(ctx);
  return status;
}

static bool names_one_of(const char *rules, const hd_check_report *report) {
  for (int32_t i = 0; i < report->n_findings; i++) {
    const char *at = strstr(rules, report->findings[i].rule);
    size_t n = strlen(report->findings[i].rule);
    if (at && (at == rules || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
      return true;
  }
  return false;
}

int count_missed(const injected *errors, size_t n) {
  int n_failed = 0;
  for (size_t i = 0; i < n; i++) {
    const injected *p = &errors[i];
    char *text = kernel_text(p->file);
    for (int e = 0; e < MOST_EDITS && p->edits[e].from; e++)
      text = replace(text, &p->edits[e]);
    hd_check_report report = {0};
    heddle_status status = check_text(text, &report);
    if (status == HEDDLE_OK || !names_one_of(p->rules, &report)) {
      print_message("%s in %s: status %d, rule %s, expected %s\n", p->name, p->file, status,
                    report.n_findings ? report.findings[0].rule : "none", p->rules);
      n_failed++;
    }
    hd_check_report_free(&report);
    free(text);
  }
  return n_failed;
}
