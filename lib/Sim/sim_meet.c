/* Sim/sim_meet.c: what the lanes of a warp tell each other where they meet.
 *
 * bar.warp.sync orders memory among its lanes, and nothing else does: of the other instructions
 * with .sync (shfl, vote, elect, redux, ldmatrix, stmatrix, mma, wgmma, tcgen05, setmaxnreg)
 * the ISA says that a lane waits there until all execute it. So they tell that what a lane has
 * waited for is over (sim_know's order), and nothing of memory.
 *
 * Of one thing more the end of a collective operation tells that takes registers of all lanes
 * (wgmma, and tcgen05.st): these held their values, so that what the lanes had read when they
 * issued it is read. That is R3's "value in a register"; it permits an asynchronous overwrite,
 * and no other access (sim_know's reads). */
#include <stdlib.h>

#include "Sim/sim_machine.h"

void hd_sim_lanesync(sim_warp *w, uint32_t mask) {
  if (!w->dirty || !mask)
    return;
  sim_machine *m = w->machine;
  sim_know all;
  hd_sim_clock_init(m, &all);
  hd_sim_publish(m, &all, w, mask);
  SIM_LANES(l, mask) hd_sim_adopt(m, &hd_sim_thread(w, l)->know, &all);
  hd_sim_clock_free(m, &all);
  if (mask == (w->lanes & ~w->exited))
    w->dirty = false;
}

static void join_lanes(sim_warp *w, uint32_t mask, const sim_know *all) {
  sim_lanes lanes;
  hd_sim_lanes_begin(w->machine, &lanes);
  SIM_LANES(l, mask) hd_sim_lanes_join(w->machine, &lanes, &hd_sim_thread(w, l)->know, all);
  hd_sim_lanes_end(&lanes);
  w->dirty = true;
}

void hd_sim_meet(sim_warp *w, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_know all;
  if (!w->waited)
    return;
  hd_sim_clock_init(m, &all);
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_join(m, &all.order, &t->know.order);
    hd_sim_learn(m, &all.order, hd_sim_thread_agent(w, l), t->clock++);
  }
  join_lanes(w, mask, &all);
  hd_sim_clock_free(m, &all);
  w->waited = mask != (w->lanes & ~w->exited);
}

void hd_sim_take_registers(sim_warp *w, uint32_t mask, uint32_t group) {
  sim_machine *m = w->machine;
  if (!w->loaded)
    return;
  w->loaded = false;
  if (w->n_taken == 0 || w->taken[w->n_taken - 1].group != group) {
    sim_taken fresh = {.group = group};
    hd_sim_clock_init(m, &fresh.know);
    HD_PUSH(w->taken, w->n_taken, w->taken_cap, fresh);
  }
  sim_clock *reads = &w->taken[w->n_taken - 1].know.reads;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_join(m, reads, &t->know.reads);
    hd_sim_learn(m, reads, hd_sim_thread_agent(w, l), t->clock++);
  }
}

void hd_sim_registers_taken(sim_warp *w, uint32_t mask, uint32_t group) {
  sim_machine *m = w->machine;
  uint32_t n = 0, kept = 0;
  while (n < w->n_taken && w->taken[n].group <= group)
    n++;
  if (n > 0)
    join_lanes(w, mask, &w->taken[n - 1].know); /* it holds what those before do */
  for (uint32_t i = 0; i < n; i++)
    hd_sim_clock_free(m, &w->taken[i].know);
  for (uint32_t i = n; i < w->n_taken; i++)
    w->taken[kept++] = w->taken[i];
  w->n_taken = kept;
}

void hd_sim_free_taken(const sim_machine *m, sim_warp *w) {
  for (uint32_t i = 0; i < w->n_taken; i++)
    hd_sim_clock_free(m, &w->taken[i].know);
  free(w->taken);
  w->taken = NULL;
  w->n_taken = w->taken_cap = 0;
}
