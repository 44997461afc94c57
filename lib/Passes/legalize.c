/* legalize: makes implicit parts of the problem explicit, and refuses what cannot be computed.
 *
 * Requires   problem level, verified.
 * Ensures    the target of this compilation; an epilogue op in every kernel; types that an
 *            instruction of the target supports, and types of D that its accumulators can be
 *            converted to.
 * Why here   first, so that refusals use the names and locations of the user's text.
 * Does not   choose anything.
 */
#include "Passes/pass_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "Passes/plan.h"

static bool float_output(heddle_elem elem) {
  return elem == HEDDLE_F16 || elem == HEDDLE_BF16 || elem == HEDDLE_F32;
}

static bool integer_output(heddle_elem elem) {
  return elem == HEDDLE_S32 || elem == HEDDLE_S8 || elem == HEDDLE_U8;
}

/* D, or the second matrix. cvt to e4m3x2 and e5m2x2: sm_89 (PTX ISA, cvt). */
static heddle_status check_output(heddle_context *ctx, const hd_problem *p, const char *name,
                                  heddle_elem elem) {
  bool narrow = elem == HEDDLE_E4M3 || elem == HEDDLE_E5M2;
  bool whole = elem == HEDDLE_S32 && p->acc_elem != HEDDLE_S32;
  bool scaled = p->scale_d && elem == p->d.elem;
  if (narrow && p->target->sm < 89)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->store->loc, "problem.type",
                    "got %s of type %s on %s, which cannot convert to it before sm_89; nearest: %s",
                    name, heddle_elem_get(elem)->name, p->target->name, scaled ? "s8" : "f16");
  if (narrow || float_output(elem) || (integer_output(elem) && !whole))
    return HEDDLE_OK;
  return hd_error(
      ctx, HEDDLE_UNSUPPORTED, p->store->loc, "problem.type",
      "got %s of type %s with %s accumulators; legal: %sf16, bf16, f32, e4m3, e5m2, s8, u8", name,
      heddle_elem_get(elem)->name, heddle_elem_get(p->acc_elem)->name,
      p->acc_elem == HEDDLE_S32 ? "s32, " : "");
}

static heddle_status check_outputs(heddle_context *ctx, const hd_problem *p) {
  HD_TRY(check_output(ctx, p, "D", p->d.elem));
  return p->aux_of ? check_output(ctx, p, "aux", p->aux.elem) : HEDDLE_OK;
}

static bool has_row(const hd_problem *p) {
  return hd_problem_has(p, HD_FAMILY_WGMMA_SP) || hd_problem_has(p, HD_FAMILY_TCGEN05_SP) ||
         hd_problem_has(p, HD_FAMILY_MMA_SP);
}

/* The target nearest by number that has an instruction for the problem; NULL: no target has one. */
static const hd_target *nearest_target(const hd_problem *p) {
  const hd_target *best = NULL;
  for (size_t i = 0; i < hd_target_count(); i++) {
    hd_problem there = *p;
    there.target = hd_target_get(i);
    bool nearer = !best || abs(there.target->sm - p->target->sm) < abs(best->sm - p->target->sm);
    if (nearer && has_row(&there))
      best = there.target;
  }
  return best;
}

/* Adds the block scales that an instruction needs; false: no target has such an instruction. */
static bool add_scales(const hd_problem *p, hd_problem *scaled) {
  const hd_spec_row *row = p->block ? NULL : hd_problem_scaled_row(p);
  *scaled = *p;
  if (!row)
    return false;
  scaled->block = hd_spec_block(row);
  scaled->block_a.elem = scaled->block_b.elem = row->operand[HD_OPERAND_SCALE_A].elem;
  return nearest_target(scaled) != NULL;
}

/* If no target has an instruction: the change of one word after which one has; "": none exists. */
enum { CHANGE_BYTES = 32 };
static void find_change(const hd_problem *p, char change[CHANGE_BYTES]) {
  static const heddle_elem accumulators[] = {HEDDLE_F32, HEDDLE_S32, HEDDLE_F16};
  hd_problem kind = *p, b = *p;
  kind.kind = NULL;
  b.b.elem = p->a_elem;
  snprintf(change, CHANGE_BYTES, "%s", nearest_target(&kind) ? "no kind" : "");
  if (!*change && nearest_target(&b))
    snprintf(change, CHANGE_BYTES, "B of %s", heddle_elem_get(p->a_elem)->name);
  for (size_t i = 0; i < HD_COUNT(accumulators) && !*change; i++) {
    hd_problem acc = *p;
    acc.acc_elem = accumulators[i];
    if (nearest_target(&acc))
      snprintf(change, CHANGE_BYTES, "acc = %s", heddle_elem_get(accumulators[i])->name);
  }
}

static heddle_status refuse_instruction(heddle_context *ctx, const hd_problem *p) {
  hd_problem scaled;
  char change[CHANGE_BYTES] = "";
  const hd_target *nearest = nearest_target(p);
  if (!nearest && add_scales(p, &scaled))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->matmul->loc, "problem.instruction",
                    "no sparse instruction takes %s x %s -> %s without block scales; nearest: "
                    "block_scale operands of %s, block = %d, target %s",
                    heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
                    heddle_elem_get(p->acc_elem)->name,
                    heddle_elem_get(scaled.block_a.elem)->name, scaled.block,
                    nearest_target(&scaled)->name);
  if (!nearest)
    find_change(p, change);
  return hd_error(
      ctx, HEDDLE_UNSUPPORTED, p->matmul->loc, "problem.instruction",
      "no sparse instruction of %s takes %s x %s -> %s%s%s%s in the packed order%s%s%s",
      p->target->name, heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
      heddle_elem_get(p->acc_elem)->name, p->block ? " with block scales" : "",
      p->kind ? " as kind " : "", p->kind ? p->kind : "",
      nearest ? "; nearest: target " : ", and no target has one: see `heddle list`",
      *change ? "; nearest: " : "", nearest ? nearest->name : change);
}

static heddle_status check_types(heddle_context *ctx, const hd_problem *p) {
  if (!has_row(p))
    return refuse_instruction(ctx, p);
  if (p->b.transposed && heddle_elem_get(p->b.elem)->container_bits != 16)
    return hd_error(
        ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "problem.b-order",
        "got an mn_major B of %s; only 16-bit types can be transposed; nearest: order = k_major",
        heddle_elem_get(p->b.elem)->name);
  HD_TRY(check_outputs(ctx, p));
  bool integers = p->acc_elem == HEDDLE_S32;
  if (p->c.op && !float_output(p->c.elem) && !(integers && integer_output(p->c.elem)))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->c.op->loc, "problem.type",
                    "got C of type %s with %s accumulators; legal: %sf16, bf16, f32",
                    heddle_elem_get(p->c.elem)->name, heddle_elem_get(p->acc_elem)->name,
                    integers ? "s32, s8, u8, " : "");
  if (p->bias.op && !float_output(p->bias.elem))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->bias.op->loc, "problem.type",
                    "got a bias of type %s; legal: f32, f16, bf16",
                    heddle_elem_get(p->bias.elem)->name);
  return HEDDLE_OK;
}

heddle_status hd_pass_legalize(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    if (pass->target)
      hd_op_set_str(module, kernel, HD_ATTR_TARGET, pass->target);
    hd_plan *plan;
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
    hd_problem *p = &plan->p;
    HD_TRY(check_types(pass->ctx, p));
    if (hd_op_has(kernel, HD_ATTR_DEPENDENT) && p->target->sm < 90)
      return hd_error(
          pass->ctx, HEDDLE_UNSUPPORTED, kernel->loc, "problem.dependent",
          "got dependent on %s; programmatic dependent launch needs sm_90; nearest: without it",
          p->target->name);
    if (p->epilogue)
      continue;
    hd_builder b = hd_builder_before(module, p->store);
    hd_value *product = p->matmul->results[0];
    b.loc = p->store->loc;
    p->epilogue = hd_build_op(&b, HD_OP_EPILOGUE, product->type, 1, product);
    hd_op_set_str(module, p->epilogue, HD_ATTR_ACT, "none");
    p->store->operands[HD_AT_store_x] = p->epilogue->results[0];
  }
  return HEDDLE_OK;
}
