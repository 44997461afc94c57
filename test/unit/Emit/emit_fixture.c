#include "emit_fixture.h"

#include <stdio.h>
#include <string.h>

heddle_status emit_text(heddle_context *ctx, const char *text, const hd_emit_options *options,
                        hd_emit_result *result) {
  hd_module *module = NULL;
  heddle_status status = hd_parse(ctx, "test", text, strlen(text), &module);
  if (status == HEDDLE_OK)
    status = hd_emit_ptx(ctx, module, options, result);
  /* result->kernel[].param points into the module and must not be read after this. */
  hd_module_free(module);
  return status;
}

heddle_status emit_body(heddle_context *ctx, const char *target, const char *body,
                        const hd_emit_options *options, hd_emit_result *result) {
  hd_strbuf text = {0};
  hd_strbuf_printf(&text,
                   "module version=1 level=role sync=placed\n"
                   "kernel {name = \"k\", target = \"%s\", threads = 32} {\n%s}\n",
                   target, body);
  heddle_status status = emit_text(ctx, hd_strbuf_text(&text), options, result);
  hd_strbuf_free(&text);
  return status;
}

void assert_assembles(heddle_context *ctx, const char *ptx, const char *target) {
  hd_ptxas_report report = {0};
  if (strstr(HD_PTXAS, "NOTFOUND"))
    return;
  heddle_status status = hd_ptxas_assemble(ctx, HD_PTXAS, ptx, target, NULL, NULL, &report);
  if (status != HEDDLE_OK)
    print_errors(ctx);
  hd_ptxas_report_free(&report);
  assert_int_equal(status, HEDDLE_OK);
}

const char *first_rule(const heddle_context *ctx) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++)
    if (heddle_context_get(ctx, i)->severity == HEDDLE_ERROR)
      return heddle_context_get(ctx, i)->rule;
  return "";
}

void print_errors(const heddle_context *ctx) {
  char line[400];
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
    print_message("%s\n", line);
  }
}
