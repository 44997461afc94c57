/* Sim/sim_st_async.c: st.async: a store to the shared memory of a CTA of the cluster that completes
 * on an mbarrier there. It is performed in the generic proxy, and no thread can fence it: an
 * asynchronous access to what it wrote is an error (R2). */
#include <string.h>

#include "Sim/sim_machine.h"

static sim_step complete(sim_machine *m, sim_async *op) {
  sim_agent agent = op->warp->cta == op->target
                        ? hd_sim_mbarrier_agent(m, op->target, op->mbarrier)
                        : hd_sim_sent_agent(m, op->target, op->mbarrier);
  sim_access a = hd_sim_async_access(m, op, agent, op->mbarrier->phase + 1, SIM_WRITE, false);
  a.late = true;
  uint64_t address = op->shared | (uint64_t)op->target->rank << SIM_RANK_SHIFT, at;
  uint32_t each = op->n_bytes / op->insn->vec;
  sim_memory *to;
  if (hd_sim_resolve(&a, SIM_SHARED_CLUSTER, address, op->n_bytes, op->n_bytes, &to, &at) ==
          SIM_STOP ||
      hd_sim_check(&a, to, at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  for (uint32_t i = 0; i < op->insn->vec; i++)
    memcpy(to->data + at + i * each, &op->lane_global[i], each);
  return hd_sim_mbarrier_complete_tx(m, op, op->n_bytes);
}

static sim_step store_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  const sim_opnd *value = &in->opnd[1];
  uint64_t address = hd_sim_address(w, &in->opnd[0], lane);
  uint64_t barrier = hd_sim_address(w, &in->opnd[2], lane);
  sim_async *op;
  if (hd_sim_async_signal(w, in, lane, address, barrier, complete, &op) == SIM_STOP)
    return SIM_STOP;
  op->n_bytes = in->vec * hd_sim_type(in->type[0])->bits / 8;
  for (uint32_t i = 0; i < in->vec; i++)
    op->lane_global[i] =
        hd_sim_read_lane(w, value->kind == SIM_VEC ? &value->vec[i] : value, lane);
  return hd_sim_async_push(m, op);
}

static sim_step exec(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, store_lane);
}

/* The form that signals an mbarrier; the releasing store to global memory is not simulated. */
heddle_status hd_sim_decode_st_async(sim_decode *d, sim_insn *in) {
  hd_sim_take(d, "weak");
  if (!hd_sim_take(d, "shared::cluster") || !hd_sim_take(d, "mbarrier::complete_tx::bytes"))
    return HEDDLE_UNSUPPORTED;
  in->space = SIM_SHARED_CLUSTER;
  in->vec = hd_sim_take(d, "v2") ? 2 : hd_sim_take(d, "v4") ? 4 : 1;
  hd_sim_take_types(d, in);
  uint32_t bits = in->n_types == 1 ? hd_sim_type(in->type[0])->bits : 0;
  if (bits != 32 && bits != 64)
    return HEDDLE_UNSUPPORTED;
  in->exec = exec;
  ((sim_program *)d->program)->has_st_async = true;
  in->accesses = true;
  if (in->n_opnds != 3 || in->opnd[0].kind != SIM_ADDR || in->opnd[2].kind != SIM_ADDR ||
      (in->opnd[1].kind == SIM_VEC ? in->opnd[1].n != in->vec : in->vec != 1) ||
      in->vec * bits > 128)
    return HEDDLE_INVALID;
  return HEDDLE_OK;
}
