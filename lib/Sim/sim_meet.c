/* Sim/sim_meet.c: what the lanes of a warp tell each other where they meet.
 *
 * bar.warp.sync orders memory among its lanes, and nothing else does: of the other instructions
 * with .sync (shfl, vote, elect, redux, ldmatrix, stmatrix, mma, wgmma, tcgen05, setmaxnreg)
 * the ISA says that a lane waits there until all execute it. So they tell that what a lane has
 * waited for is over (sim_vc's order), and nothing of memory.
 *
 * So a lane that arrives for its warp tells of the others' reads only behind a bar.warp.sync: that
 * a wgmma or a tcgen05.st which took what they had read is over, says nothing of the reads. The
 * operation itself is the warp's (or warpgroup's): over for one lane, it is over for all. */
#include "Sim/sim_machine.h"

void hd_sim_lanesync(sim_warp *w, uint32_t mask) {
  if (!w->dirty || !mask)
    return;
  sim_machine *m = w->machine;
  sim_vc all;
  hd_sim_vc_init(m, &all);
  hd_sim_publish(m, &all, w, mask);
  SIM_LANES(l, mask) hd_sim_vc_copy(m, &hd_sim_thread(w, l)->vc, &all);
  hd_sim_vc_free(m, &all);
  if (mask == (w->lanes & ~w->exited))
    w->dirty = false;
}

void hd_sim_meet(sim_warp *w, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_vc all;
  if (!w->waited)
    return;
  hd_sim_vc_init(m, &all);
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_clock_join(m, &all.order, &t->vc.order);
    hd_sim_clock_raise(m, &all.order, hd_sim_thread_agent(w, l), t->clock++);
  }
  sim_lanes lanes;
  hd_sim_lanes_begin(m, &lanes);
  SIM_LANES(l, mask) hd_sim_lanes_join(m, &lanes, &hd_sim_thread(w, l)->vc, &all);
  hd_sim_lanes_end(&lanes);
  w->dirty = true;
  hd_sim_vc_free(m, &all);
  w->waited = mask != (w->lanes & ~w->exited);
}
