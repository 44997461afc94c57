/* legalize: a problem that every later pass can take as it stands.
 *
 * Requires   problem level, verified.
 * Ensures    the target of the run; an epilogue op in every kernel; types that an instruction of the
 *            target takes, and outputs that its accumulators convert to.
 * Why here   first: what is refused here is refused with the user's own words and places.
 * Does not   choose anything.
 */
#include "Passes/pass_list.h"

#include <string.h>

#include "Passes/problem.h"

static void add_epilogue(hd_module *m, hd_problem *p) {
  hd_builder b = hd_builder_before(m, p->store);
  b.loc = p->store->loc;
  hd_op *op = hd_build_op(&b, HD_OP_EPILOGUE, p->matmul->results[0]->type, 1,
                          p->matmul->results[0]);
  hd_op_set_str(m, op, HD_ATTR_ACT, "none");
  p->store->operands[0] = op->results[0];
}

static bool float_output(heddle_elem elem) {
  return elem == HEDDLE_F16 || elem == HEDDLE_BF16 || elem == HEDDLE_F32;
}

static heddle_status check_output(heddle_context *ctx, const hd_op *op, heddle_elem elem,
                                  heddle_elem acc, const char *what) {
  bool ok = acc == HEDDLE_S32 ? elem == HEDDLE_S32 || elem == HEDDLE_S8 || float_output(elem)
                              : float_output(elem);
  if (ok)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.type",
                  "got %s of type %s with %s accumulators; legal: %s", what,
                  heddle_elem_get(elem)->name, heddle_elem_get(acc)->name,
                  acc == HEDDLE_S32 ? "s32, s8, f16, bf16, f32" : "f16, bf16, f32");
}

static heddle_status check_types(heddle_context *ctx, const hd_problem *p) {
  if (heddle_elem_get(p->b.elem)->container_bits < 8)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "problem.type-width",
                    "got B of %s: a row of B is addressed in whole bytes; nearest legal: 8-bit types",
                    heddle_elem_get(p->b.elem)->name);
  if (!hd_problem_row(p, "wgmma", 0, false) && !hd_problem_row(p, "mma", 0, true))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->matmul->loc, "problem.instruction",
                    "no sparse instruction of %s takes %s x %s -> %s in the packed order; see `heddle "
                    "list --target %s`",
                    p->target->name, heddle_elem_get(p->a_elem)->name,
                    heddle_elem_get(p->b.elem)->name, heddle_elem_get(p->acc_elem)->name,
                    p->target->name);
  if (p->b.transposed && heddle_elem_get(p->b.elem)->container_bits != 16)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "problem.b-order",
                    "got an mn_major B of %s; only 16-bit types transpose on the way; nearest legal: "
                    "order = k_major", heddle_elem_get(p->b.elem)->name);
  HD_TRY(check_output(ctx, p->store, p->d.elem, p->acc_elem, "D"));
  if (p->c.op)
    HD_TRY(check_output(ctx, p->c.op, p->c.elem, p->acc_elem, "C"));
  if (p->bias.op && !float_output(p->bias.elem))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->bias.op->loc, "problem.type",
                    "got a bias of type %s; legal: f32, f16, bf16",
                    heddle_elem_get(p->bias.elem)->name);
  return HEDDLE_OK;
}

heddle_status hd_pass_legalize(hd_pass_context *pass, hd_module *module) {
  if (module->level != HD_LEVEL_PROBLEM)
    return hd_error(pass->ctx, HEDDLE_INVALID, HD_NOWHERE, "pass.level",
                    "legalize takes a module of problem level");
  HD_FOR_OPS(kernel, module->body) {
    if (pass->target)
      hd_op_set_str(module, kernel, HD_ATTR_TARGET, pass->target);
    hd_problem p;
    HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
    HD_TRY(check_types(pass->ctx, &p));
    if (!p.epilogue)
      add_epilogue(module, &p);
  }
  return HEDDLE_OK;
}
