/* Sim/sim_phase.c: which phase of an mbarrier a wait or an arrival belongs to, in every schedule.
 *
 * A parity only distinguishes two adjacent phases. So a wait for phase p must pass on p only: the
 * end of p - 1 happens before it (else it could pass on p - 2), and p + 1 completes only after
 * arrivals that follow the wait (else the wait could be overtaken, and would never pass). An
 * arrival, or the bytes of a copy, count for phase p in every schedule only if the end of p - 1
 * happens before. An expect_tx without an arrival counts only if an arrival that p needs follows it
 * (the bytes do not count: without the expect_tx nothing waits for them). Bytes land, and a
 * tcgen05.commit arrives, after they were issued. So, like relaxed arrivals and .sync instructions,
 * they imply that what their thread has waited for is complete (sim_vc's order), but nothing about
 * memory. A run without errors does not prove all this: the clocks do. */
#include "Sim/sim_machine.h"

/* Whether `phases` phases are known to be complete: order is sufficient. */
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

/* Notes a use that the last arrivals of the phase must be ordered after. */
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
