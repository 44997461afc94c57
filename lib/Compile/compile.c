/* The public calls: compile a problem to PTX, cubin and manifest. */
#include "heddle/compile.h"

#include "Compile/compile_front.h"
#include "IR/public_module.h"
#include "Passes/front.h"

/* Consumes the module. */
static heddle_status compile_module(heddle_context *ctx, hd_module *module,
                                    const heddle_compile_options *options,
                                    heddle_compiled **compiled) {
  hd_pass_context pass = {.ctx = ctx, .target = options ? options->target : NULL};
  hd_front front;
  HD_TRY(hd_front_read(&pass, module, &front));
  return hd_compile_front(ctx, &front, NULL, options, compiled);
}

heddle_status heddle_compile(heddle_context *ctx, const char *file, const char *text,
                             size_t text_bytes, const heddle_compile_options *options,
                             heddle_compiled **compiled) {
  hd_module *module = NULL;
  HD_TRY(hd_parse(ctx, file, text, text_bytes, &module));
  return compile_module(ctx, module, options, compiled);
}

heddle_status heddle_compile_module(heddle_context *ctx, const heddle_module *module,
                                    const heddle_compile_options *options,
                                    heddle_compiled **compiled) {
  hd_module *copy;
  HD_TRY(hd_module_copy(ctx, module->ir, &copy));
  return compile_module(ctx, copy, options, compiled);
}
