/* Sim/sim_phase.c: which phase of an mbarrier a wait or an arrival meets, whatever the schedule.
 *
 * A parity tells two phases apart, no more. So a wait for phase p may only be met by p: that p - 1
 * is over happens before it (else it could pass on p - 2), and p + 1 completes only after arrivals
 * that follow the wait (else the wait could be overtaken, and would never pass). An arrival, and
 * the bytes of a copy, count for phase p in every schedule only where the end of p - 1 happens
 * before; bytes that are expected without an arrival, only where an arrival that p needs follows
 * it (the bytes themselves do not count: without this they are not waited for). Bytes land, and a
 * tcgen05.commit arrives, after they were issued: so they tell, as relaxed arrivals and lanes that
 * meet do, that what their thread has waited for is over (sim_vc's order), and nothing of memory.
 * A run in which nothing went wrong does not show all this: the clocks do. */
#include "Sim/sim_machine.h"

/* That `phases` of them are over: order is enough, whatever told it. */
static bool follows_phases(const sim_machine *m, const sim_vc *vc, const sim_cta *cta,
                           const sim_mbarrier *b, uint32_t phases) {
  return phases == 0 || hd_sim_clock_has(&vc->order, hd_sim_mbarrier_agent(m, cta, b), phases);
}

static bool is_off(const sim_machine *m) { return m->options.off & HD_SIM_NO_RACES; }

sim_step hd_sim_phase_arrive(sim_machine *m, const sim_warp *w, uint32_t lane, const sim_insn *in,
                             const sim_vc *vc, const sim_cta *cta, sim_mbarrier *b) {
  if (is_off(m) || follows_phases(m, vc, cta, b, b->phase))
    return SIM_NEXT;
  return hd_sim_find(m, "phase", w, lane, in, NULL,
                     "counts for phase %u of the mbarrier at shared byte %u of cta %u here, and "
                     "could count for an earlier one: nothing tells it that phase %u is over",
                     b->phase, b->offset, cta->index, b->phase - 1);
}

sim_step hd_sim_phase_land(sim_machine *m, const sim_async *op) {
  sim_mbarrier *b = op->mbarrier;
  hd_sim_clock_join(m, &b->arriving.order, &op->vc.order);
  hd_sim_clock_raise(m, &b->arriving.order, op->self, op->self_clock);
  return hd_sim_phase_arrive(m, op->warp, op->lane, op->insn, &op->vc, op->target, b);
}

/* What the phase's last arrivals must follow. */
static void must_follow(sim_warp *w, const sim_insn *in, uint32_t lane, sim_mbarrier *b,
                        bool expects) {
  sim_waited use = {.warp = w,
                    .insn = in,
                    .lane = lane,
                    .agent = hd_sim_thread_agent(w, lane),
                    .clock = hd_sim_thread(w, lane)->clock,
                    .expects = expects};
  w->waited = true;
  HD_PUSH(b->waited, b->n_waited, b->waited_cap, use);
}

sim_step hd_sim_phase_expect(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_cta *cta,
                             sim_mbarrier *b) {
  must_follow(w, in, lane, b, true);
  b->expecting = true;
  return hd_sim_phase_arrive(w->machine, w, lane, in, &hd_sim_thread(w, lane)->vc, cta, b);
}

void hd_sim_phase_follow(sim_warp *w, uint32_t lane, sim_mbarrier *b) {
  for (uint32_t i = 0; b->expecting && i < b->n_waited; i++) {
    sim_waited *x = &b->waited[i];
    x->followed = x->followed || x->agent == hd_sim_thread_agent(w, lane) ||
                  hd_sim_clock_has(&hd_sim_thread(w, lane)->vc.order, x->agent, x->clock);
  }
}

sim_step hd_sim_phase_passed(sim_warp *w, const sim_insn *in, uint32_t lane, sim_cta *cta,
                             sim_mbarrier *b) {
  sim_machine *m = w->machine;
  const sim_thread *t = hd_sim_thread(w, lane);
  if (is_off(m))
    return SIM_NEXT;
  must_follow(w, in, lane, b, false);
  if (b->phase < 2 || follows_phases(m, &t->vc, cta, b, b->phase - 1))
    return SIM_NEXT;
  return hd_sim_find(
      m, "phase", w, lane, in, NULL,
      "passes on phase %u of the mbarrier at shared byte %u here, and could pass two "
      "phases early: nothing tells it that phase %u is over",
      b->phase - 1, b->offset, b->phase - 2);
}

void hd_sim_phase_over(sim_machine *m, const sim_cta *cta, sim_mbarrier *b) {
  for (uint32_t i = 0; i < b->n_waited && !m->stop; i++) {
    const sim_waited *x = &b->waited[i];
    if (x->expects ? !x->followed : !hd_sim_clock_has(&b->arriving.order, x->agent, x->clock))
      hd_sim_find(
          m, "phase", x->warp, x->lane, x->insn, NULL,
          "can be overtaken: phase %u of the mbarrier at shared byte %u of cta %u completes "
          "without an arrival that follows from this",
          b->phase, b->offset, cta->index);
  }
  b->n_waited = 0;
  b->expecting = false;
}
