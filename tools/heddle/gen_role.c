#include "gen_role.h"

#include "Check/check.h"
#include "Emit/emit.h"
#include "Emit/ptxas.h"
#include "Support/diag.h"
#include "Support/memory.h"

static heddle_status refuse_choices(heddle_context *ctx, const compile_input *in,
                                    const char *sizes) {
  const char *got = in->target     ? "target"
                    : in->schedule ? "schedule"
                    : in->db       ? "db"
                    : in->service.server ? "server"
                    : sizes        ? "size"
                                   : NULL;
  if (!got)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = in->path}, "gen.role",
                  "got --%s for a kernel at role level; legal: --epilogue, --ptxas, -o",
                  got);
}

heddle_status gen_role_compile(heddle_context *ctx, const compile_input *in,
                               const char *sizes, const hd_module *module,
                               gen_role_code *code) {
  HD_TRY(refuse_choices(ctx, in, sizes));
  HD_TRY(hd_check(ctx, module, NULL, NULL)); /* every kernel is checked */
  const hd_op *kernel = hd_find_op(module->body, HD_OP_KERNEL);
  hd_emit_options options = {.header = "Written at role level, and checked.",
                             .user = {in->epilogue_text, in->epilogue_bytes,
                                      in->epilogue_worker}};
  hd_emit_result emitted = {0};
  HD_TRY(hd_emit_ptx(ctx, module, &options, &emitted));
  code->name = hd_op_str(kernel, HD_ATTR_NAME);
  code->ptx = emitted.ptx;
  code->ptx_bytes = emitted.n_bytes;
  emitted.ptx = NULL;
  hd_emit_result_free(&emitted);
  if (!in->ptxas_path)
    return HEDDLE_OK;
  hd_ptxas_report report = {0};
  heddle_status status =
      hd_ptxas_assemble(ctx, in->ptxas_path, code->ptx, hd_op_str(kernel, HD_ATTR_TARGET),
                        &code->cubin, &code->cubin_bytes, &report);
  hd_ptxas_report_free(&report);
  return status;
}

void gen_role_code_free(gen_role_code *code) {
  hd_free(code->ptx);
  hd_free(code->cubin);
}
