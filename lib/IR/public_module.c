#include <stdlib.h>

#include "IR/public_module.h"

heddle_status hd_public_module(heddle_context *ctx, hd_module *ir, heddle_module **module) {
  heddle_status status = hd_verify(ctx, ir, NULL);
  if (status != HEDDLE_OK) {
    hd_module_free(ir);
    return status;
  }
  *module = hd_xmalloc(sizeof **module);
  (*module)->ir = ir;
  return HEDDLE_OK;
}

heddle_status heddle_module_parse(heddle_context *ctx, const char *file, const char *text,
                                  size_t text_bytes, heddle_module **module) {
  hd_module *ir;
  HD_TRY(hd_parse(ctx, file, text, text_bytes, &ir));
  return hd_public_module(ctx, ir, module);
}

void heddle_module_free(heddle_module *module) {
  if (!module)
    return;
  hd_module_free(module->ir);
  free(module);
}

heddle_status heddle_module_print(const heddle_module *module, char **text, size_t *text_bytes) {
  hd_strbuf out = {0};
  hd_print(module->ir, &out);
  if (text_bytes)
    *text_bytes = out.len;
  *text = hd_strbuf_take(&out);
  return HEDDLE_OK;
}

size_t heddle_module_kernel_count(const heddle_module *module) {
  size_t n = 0;
  for (const hd_op *op = module->ir->body->first; op; op = op->next)
    n++;
  return n;
}

const char *heddle_module_kernel_name(const heddle_module *module, size_t i) {
  const hd_op *op = module->ir->body->first;
  while (op && i-- > 0)
    op = op->next;
  return op ? hd_op_str(op, HD_ATTR_NAME) : NULL;
}

void heddle_module_hash(const heddle_module *module, char out[33]) {
  hd_hash_format(hd_module_hash(module->ir), out);
}
