/* Sim/sim_peer_copy.c: cp.async.bulk and cp.reduce.async.bulk from the CTA's own shared memory to
 * that of a CTA of the cluster. They signal an mbarrier there: a wait for its phase implies that
 * the source is read and the destination written. */
#include "Sim/sim_machine.h"
#include "Sim/sim_types.h"

static sim_step complete(sim_machine *m, sim_async *op) {
  sim_cta *own = op->warp->cta;
  sim_agent agent = hd_sim_mbarrier_agent(m, op->target, op->mbarrier);
  sim_access a = hd_sim_async_access(m, op, agent, op->mbarrier->phase + 1, SIM_READ, true);
  bool reduces = op->insn->flags & SIM_F_REDUCE;
  uint64_t source = op->global | (uint64_t)own->rank << SIM_RANK_SHIFT;
  uint64_t shared = op->shared | (uint64_t)op->target->rank << SIM_RANK_SHIFT;
  sim_memory *from, *to;
  uint64_t from_at, to_at;
  if (hd_sim_resolve(&a, SIM_SHARED_CTA, source, op->n_bytes, 16, &from, &from_at) == SIM_STOP ||
      hd_sim_check(&a, from, from_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  a.kind = reduces ? SIM_ATOMIC : SIM_WRITE;
  if (hd_sim_resolve(&a, SIM_SHARED_CLUSTER, shared, op->n_bytes, 16, &to, &to_at) == SIM_STOP ||
      hd_sim_check(&a, to, to_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  hd_sim_async_move(op, to->data + to_at, from->data + from_at);
  return hd_sim_mbarrier_complete_tx(m, op, op->n_bytes);
}

static sim_step copy_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  uint64_t shared = hd_sim_address(w, &in->opnd[0], lane);
  uint64_t source = hd_sim_address(w, &in->opnd[1], lane);
  uint64_t n_bytes = hd_sim_read_lane(w, &in->opnd[2], lane);
  uint64_t barrier = hd_sim_address(w, &in->opnd[3], lane);
  sim_async *op;
  if (n_bytes == 0 || n_bytes % 16)
    return hd_sim_fault(m, "alignment", w, lane, in,
                        "copies %llu bytes; legal: a positive multiple of 16",
                        (unsigned long long)n_bytes);
  if (hd_sim_async_signal(w, in, lane, shared, barrier, complete, &op) == SIM_STOP)
    return SIM_STOP;
  op->global = hd_sim_offset(source);
  op->n_bytes = (uint32_t)n_bytes;
  return hd_sim_async_push(m, op);
}

static sim_step exec(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, copy_lane);
}

/* The operation of a reduction is already decoded. PTX ISA, cp.reduce.async.bulk: integers only. */
heddle_status hd_sim_decode_peer_copy(sim_decode *d, sim_insn *in) {
  bool addresses = in->n_opnds == 4;
  if (!hd_sim_take(d, "shared::cluster") || !hd_sim_take(d, "shared::cta") ||
      !hd_sim_take(d, "mbarrier::complete_tx::bytes"))
    return HEDDLE_UNSUPPORTED;
  if ((in->flags & SIM_F_REDUCE) &&
      (hd_sim_type(in->type[0])->cls == 'f' || hd_sim_type(in->type[0])->bits < 32))
    return HEDDLE_UNSUPPORTED;
  for (uint32_t i = 0; i < 4 && addresses; i++)
    addresses = i == 2 || in->opnd[i].kind == SIM_ADDR;
  in->exec = exec;
  in->accesses = true;
  return addresses ? HEDDLE_OK : HEDDLE_INVALID;
}
