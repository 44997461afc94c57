/* Sim/sim_async.c: the list of asynchronous operations that have been issued and not completed. */
#include <string.h>

#include "Sim/sim_reduce.h"
#include "Sim/sim_tmem.h"
#include "Support/memory.h"

sim_async *hd_sim_async_new(sim_warp *w, uint32_t lane, const sim_insn *insn,
                            sim_complete *complete) {
  sim_machine *m = w->machine;
  sim_thread *t = hd_sim_thread(w, lane);
  sim_async *op = hd_xmalloc(sizeof *op);
  memset(op, 0, sizeof *op);
  op->complete = complete;
  op->insn = insn;
  op->warp = w;
  op->lane = lane;
  op->mask = 1u << lane;
  op->number = m->n_issued++;
  hd_sim_vc_init(m, &op->vc);
  hd_sim_vc_join(m, &op->vc, &t->vc);
  op->self = hd_sim_thread_agent(w, lane);
  op->self_clock = t->clock++; /* what the thread does next comes after the issue */
  op->target = w->cta;
  w->dirty = true;
  hd_sim_trace(w, HD_SIM_ISSUES, insn, op->mask, op->number);
  return op;
}

sim_step hd_sim_async_signal(sim_warp *w, const sim_insn *in, uint32_t lane, uint64_t shared,
                             uint64_t barrier, sim_complete *complete, sim_async **out) {
  sim_access a = hd_sim_access(w, lane, in, SIM_WRITE);
  sim_cta *cta;
  uint32_t offset;
  sim_mbarrier *b;
  a.async = true; /* the signal: R4's fence is needed */
  if (shared >> SIM_RANK_SHIFT != barrier >> SIM_RANK_SHIFT)
    return hd_sim_fault(w->machine, "mbarrier", w, lane, in,
                        "destination in CTA rank %llu, mbarrier in rank %llu",
                        (unsigned long long)(shared >> SIM_RANK_SHIFT),
                        (unsigned long long)(barrier >> SIM_RANK_SHIFT));
  if (hd_sim_shared(&a, barrier, &cta, &offset) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
    return SIM_STOP;
  sim_async *op = *out = hd_sim_async_new(w, lane, in, complete);
  op->target = cta;
  op->mbarrier = b;
  op->shared = hd_sim_offset(shared);
  b->in_flight++;
  return SIM_NEXT;
}

sim_step hd_sim_multicast(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_opnd *o,
                          uint32_t *mask) {
  *mask = (uint16_t)hd_sim_read_lane(w, o, lane);
  if (*mask == 0 || *mask >> w->machine->cluster_size)
    return hd_sim_fault(w->machine, "bounds", w, lane, in, "multicast mask 0x%x in a cluster of %u",
                        *mask, w->machine->cluster_size);
  return SIM_NEXT;
}

sim_access hd_sim_async_access(sim_machine *m, const sim_async *op, sim_agent agent,
                               uint32_t clock, uint8_t kind, bool async) {
  return (sim_access){.m = m,
                      .warp = op->warp,
                      .lane = op->lane,
                      .insn = op->insn,
                      .view = {&op->vc, op->self, op->self_clock},
                      .agent = agent,
                      .clock = clock,
                      .kind = kind,
                      .async = async};
}

void hd_sim_async_move(const sim_async *op, uint8_t *to, const uint8_t *from) {
  if (op->insn->flags & SIM_F_REDUCE)
    hd_sim_reduce_bytes(op->insn->atom, op->insn->type[0], to, from, op->n_bytes);
  else
    memmove(to, from, op->n_bytes);
}

void hd_sim_async_free(sim_machine *m, sim_async *op) {
  hd_sim_vc_free(m, &op->vc);
  if (op->tensor) {
    hd_sim_vc_free(m, &op->tensor->view);
    hd_free(op->tensor->value);
    hd_free(op->tensor);
  }
  hd_free(op);
}

sim_step hd_sim_async_run(sim_machine *m, uint32_t index) {
  sim_async *op = m->pending[index];
  sim_step step = op->complete(m, op);
  if (step == SIM_WAIT)
    return step;
  m->pending[index] = m->pending[--m->n_pending];
  m->report->n_async++;
  hd_sim_trace(op->warp, HD_SIM_COMPLETES, op->insn, op->mask, op->number);
  hd_sim_async_free(m, op);
  hd_sim_progress(m);
  return step;
}

sim_step hd_sim_async_push(sim_machine *m, sim_async *op) {
  HD_PUSH(m->pending, m->n_pending, m->pending_cap, op);
  if (m->options.mode != HD_SIM_EARLY)
    return SIM_NEXT;
  return hd_sim_async_run(m, m->n_pending - 1) == SIM_STOP ? SIM_STOP : SIM_NEXT;
}
