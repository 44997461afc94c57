/* Sim/sim_meet.c: what the lanes of a warp learn from each other at .sync instructions.
 *
 * Only bar.warp.sync orders memory among its lanes. For the other instructions with .sync (shfl,
 * vote, elect, redux, ldmatrix, stmatrix, mma, wgmma, tcgen05, setmaxnreg) the ISA only says that a
 * lane waits until all execute the instruction. So they imply that what a lane has waited for is
 * complete (sim_vc's order), but nothing about memory.
 *
 * So a lane that arrives for its warp releases the other lanes' reads only after a bar.warp.sync: a
 * completed wgmma or tcgen05.st that used what they read implies nothing about the reads. The
 * operation itself belongs to the warp (or warpgroup): complete for one lane, it is for all. */
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

void hd_sim_split(sim_warp *w, uint32_t stay, uint32_t pc) {
  sim_group g = w->group[w->current];
  w->group[w->current].mask &= ~stay;
  g.mask = stay;
  g.pc = pc;
  g.wait = SIM_WAIT_NONE;
  w->group[w->n_groups++] = g;
}

/* PTX ISA: undefined if the executing thread is not in membermask. A thread waits for the threads
 * of its mask, which execute the same instruction with the same mask. */
sim_step hd_sim_members(sim_warp *w, const sim_insn *in, const sim_opnd *o, uint32_t *mask) {
  uint32_t live = w->lanes & ~w->exited, left = *mask;
  SIM_LANES(l, *mask) {
    uint32_t own = (uint32_t)hd_sim_read_lane(w, o, l);
    if (!(own >> l & 1))
      return hd_sim_fault(w->machine, "membermask", w, l, in,
                          "the lane is not in its membermask 0x%08x", own);
  }
  while (left) {
    uint32_t member = (uint32_t)hd_sim_read_lane(w, o, (uint32_t)__builtin_ctz(left)), same = 0;
    SIM_LANES(l, left) same |= (uint32_t)((uint32_t)hd_sim_read_lane(w, o, l) == member) << l;
    if (!(member & live & ~same)) {
      if (*mask & ~same)
        hd_sim_split(w, *mask & ~same, w->group[w->current].pc);
      *mask = same;
      return SIM_NEXT;
    }
    left &= ~same;
  }
  hd_sim_block(w, SIM_WAIT_LANES, 0, live & ~w->group[w->current].mask);
  return SIM_WAIT;
}
