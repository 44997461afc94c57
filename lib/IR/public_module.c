#include "IR/public_module.h"
#include "Support/memory.h"

heddle_status hd_public_module(heddle_context *ctx, hd_module *ir, heddle_module **module) {
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_memory_status(ctx, before, hd_verify(ctx, ir, NULL));
  if (status != HEDDLE_OK) {
    hd_module_free(ir);
    return status;
  }
  heddle_module *made = hd_try_malloc(ctx, sizeof *made, "a module");
  if (!made) {
    hd_module_free(ir);
    return HEDDLE_NO_MEMORY;
  }
  made->ir = ir;
  *module = made;
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
  hd_free(module);
}

heddle_status heddle_module_print(const heddle_module *module, char **text, size_t *text_bytes) {
  uint64_t before = hd_memory_shortages();
  hd_strbuf out = {0};
  hd_print(module->ir, &out);
  if (hd_memory_shortages() != before) {
    hd_strbuf_free(&out);
    return HEDDLE_NO_MEMORY;
  }
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
