/* build_mainloop: makes the kernel's loops, buffers and every access, as one sequential program.
 *
 * Requires   select_operand_path.
 * Ensures    role level, with one role "main" in each kernel. Each k-step of its loop names the
 *            slot that it fills and the slot that it reads. Arguments, tensor maps and ring buffers
 *            are declared.
 * Why here   the ring is the same for all instruction families; split_roles divides it into roles.
 * Does not   split roles or insert synchronisation.
 */
#include "Passes/keep_only.h"
#include "Passes/pass_list.h"
#include "Schedule/resources.h"
#include "Passes/stage.h"

static heddle_status begin(hd_pass_context *pass, hd_module *m, hd_records records,
                           hd_op *kernel, hd_stage *st) {
  hd_plan *plan;
  HD_TRY(hd_plan_of(pass->ctx, m, kernel, &plan));
  *st = (hd_stage){.ctx = pass->ctx, .module = m, .plan = plan, .p = plan->p, .s = plan->s};
  st->records = records;
  st->row = plan->row;
  st->variant = plan->variant;
  if (st->variant->staged)
    st->slot = hd_store_slot_of(&st->p, &st->s);
  if (st->p.gather && !hd_schedule_gathers(&st->p, &st->s)) { /* in the copy they are in order */
    st->p.gather = NULL;
    st->p.t = (hd_size){0};
  }
  if (st->p.combine) /* the products are stored to the workspace, which has its own pitch */
    st->p.d.ld = hd_combine_pitch(&st->p);
  st->steps = st->s.tile_k / st->row->k;
  st->prefetch = hd_op_has(kernel, HD_ATTR_WEIGHTS_READY) && !hd_schedule_is_mma(&st->s);
  st->cluster = st->s.cluster;
  st->shares_a = st->cluster > 1 && st->s.multicast == HD_MULTICAST_A;
  st->pair = hd_schedule_is_pair(&st->s);
  st->b_n = hd_schedule_b_columns(&st->s);
  st->along_k = hd_schedule_along_k(&st->s);
  st->owners = hd_schedule_owners(&st->p, &st->s);
  st->own_n = st->s.tile_n / st->owners;
  hd_op_set_int(m, kernel, HD_ATTR_CLUSTER, st->cluster * st->along_k);
  if (st->s.ctas_per_sm > 1)
    hd_op_set_int(m, kernel, HD_ATTR_MIN_CTAS, st->s.ctas_per_sm);
  if (st->s.persistent)
    hd_op_set_flag(m, kernel, HD_ATTR_PERSISTENT);
  return HEDDLE_OK;
}

/* Ops to keep: parameters and ops with effects, but not constants that folding left unused. */
static bool is_needed(const hd_op *op) {
  bool parameter = op->kind == HD_OP_ARG || op->kind == HD_OP_TMAP || op->kind == HD_OP_BUFFER;
  return parameter || !(hd_op_effects(op->kind) & HD_EFFECT_PURE);
}

/* Builds the role level after the ops of the tile level, then erases these. */
static heddle_status stage_kernel(hd_pass_context *pass, hd_module *m, hd_records records,
                                  hd_op *kernel) {
  hd_stage st;
  HD_TRY(begin(pass, m, records, kernel, &st));
  hd_op *last_old = kernel->regions[0]->last;
  st.b = hd_builder_at_end(m, kernel->regions[0]);
  st.b.loc = st.p.matmul->loc;
  hd_stage_declare(&st);
  if (hd_schedule_is_wgmma(&st.s))
    hd_stage_wgmma(&st);
  else if (hd_schedule_is_tensor(&st.s))
    hd_stage_tcgen05(&st);
  else
    hd_stage_mma(&st);
  for (hd_op *op = kernel->regions[0]->first; op;) {
    hd_op *next = op == last_old ? NULL : op->next;
    hd_op_erase(op);
    op = next;
  }
  hd_keep_only(kernel->regions[0], is_needed);
  hd_op_set_int(m, kernel, HD_ATTR_THREADS,
                32 * hd_op_int(hd_find_op(kernel->regions[0], HD_OP_ROLE), HD_ATTR_N_WARPS, 0));
  return HEDDLE_OK;
}

heddle_status hd_pass_build_mainloop(hd_pass_context *pass, hd_module *module) {
  hd_plan *plan;
  HD_FOR_OPS(kernel, module->body) /* reads all plans: the kernels may share a workspace */
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
  hd_records records = hd_records_of(module);
  HD_FOR_OPS(kernel, module->body) {
    HD_TRY(stage_kernel(pass, module, records, kernel));
    hd_op_remove_attr(kernel, HD_ATTR_RECORD_BYTES);
    hd_op_remove_attr(kernel, HD_ATTR_RECORDS);
  }
  module->level = HD_LEVEL_ROLE;
  return HEDDLE_OK;
}
