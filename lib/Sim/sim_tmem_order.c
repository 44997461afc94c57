/* Sim/sim_tmem_order.c: the order among tcgen05 operations: pipelined pairs, and the fences that
 * publish and extend views. */
#include "Sim/sim_tmem.h"
#include "Support/diag.h"
#include "Support/memory.h"

uint32_t hd_sim_tensor_ctas(const sim_async *op, sim_cta *cta[2]) {
  sim_cta *own = op->warp->cta;
  cta[0] = own;
  if (op->insn->cta_group == 1)
    return 1;
  uint32_t even = own->index - own->rank % 2;
  cta[0] = own->machine->cta[even];
  cta[1] = own->machine->cta[even + 1];
  return 2;
}

/* Whether the thread fenced after its operation, and the view holds the fence. */
static bool issue_is_ordered(const sim_vc *view, const sim_cta *cta, uint32_t thread,
                             uint32_t issued_at) {
  const sim_thread *t = &cta->thread[thread];
  for (uint32_t i = t->n_fences; i-- > 0 && t->fence[i].clock > issued_at;)
    if ((t->fence[i].what & SIM_FENCE_TENSOR) &&
        hd_sim_clock_has(&view->full, hd_sim_agent(cta, thread), t->fence[i].clock + 1))
      return true;
  return false;
}

static bool is_pair(const sim_issued *before, const sim_issued *mma) {
  return before->insn->op == SIM_OP_CP || (before->d == mma->d && before->shape == mma->shape);
}

bool hd_sim_tensor_pipelined(const sim_access *a, sim_agent agent, uint32_t at) {
  const sim_machine *m = a->m;
  if (agent == a->agent && at == a->clock)
    return true; /* the same operation: D is read, then written */
  uint32_t local = hd_sim_local(agent);
  const sim_cta *cta = m->cta[agent >> SIM_AGENT_SHIFT];
  if (a->insn->op != SIM_OP_MMA || local < m->agent_tensor ||
      local >= m->agent_tensor + m->n_warps * 32)
    return false;
  const sim_issuer *before = cta->thread[local - m->agent_tensor].issuer;
  const sim_issued *was = &before->issued[at - 1];
  const sim_issuer *now = a->warp->cta->thread[a->warp->index * 32 + a->lane].issuer;
  if (!is_pair(was, &now->issued[a->clock - 1]))
    return false;
  if (before == now)
    return at < a->clock;
  if (!issue_is_ordered(&a->tensor->view, cta, local - m->agent_tensor, was->clock))
    return false;
  hd_sim_vc_raise(m, &a->tensor->view, agent, at); /* complete before: enters its view */
  return true;
}

/* Whether one of the thread's operations must complete before this mma. */
static bool holds_up(const sim_async *op, const sim_cta *cta, uint32_t thread,
                     const sim_issued *mma) {
  const sim_issuer *other = cta->thread[thread].issuer;
  for (uint32_t i = other->n_done; i < other->n_issued; i++)
    if (is_pair(&other->issued[i], mma) &&
        issue_is_ordered(&op->tensor->view, cta, thread, other->issued[i].clock))
      return true;
  return false;
}

bool hd_sim_tensor_is_next(const sim_async *op) {
  const sim_issuer *issuer = hd_sim_thread(op->warp, op->lane)->issuer;
  sim_cta *cta[2];
  if (issuer->n_done + 1 != op->tensor->number)
    return false;
  uint32_t n = op->insn->op == SIM_OP_MMA ? hd_sim_tensor_ctas(op, cta) : 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t t = 0; t < cta[i]->n_threads; t++)
      if (cta[i]->thread[t].issuer != issuer &&
          holds_up(op, cta[i], t, &issuer->issued[op->tensor->number - 1]))
        return false;
  return true;
}

static sim_step exec_before(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_vc_join_tensor(w->machine, &t->vc, &t->issuer->view);
    sim_fence f = {.clock = t->clock++, .what = SIM_FENCE_TENSOR};
    HD_PUSH(t->fence, t->n_fences, t->fence_cap, f);
  }
  w->dirty = true;
  return SIM_NEXT;
}

/* Adds what the lanes know, or have heard, to their views. */
static void see(sim_warp *w, uint32_t mask, bool heard) {
  sim_lanes lanes;
  hd_sim_lanes_begin(w->machine, &lanes);
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    hd_sim_lanes_join(w->machine, &lanes, &t->issuer->view, heard ? &t->issuer->heard : &t->vc);
  }
  hd_sim_lanes_end(&lanes);
}

static sim_step exec_after(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  see(w, mask, false);
  see(w, mask, true);
  return SIM_NEXT;
}

heddle_status hd_sim_decode_tensor_fence(sim_insn *in, bool after) {
  in->exec = after ? exec_after : exec_before;
  return in->n_opnds == 0 ? HEDDLE_OK : HEDDLE_INVALID;
}
