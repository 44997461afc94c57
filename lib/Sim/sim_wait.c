/* Sim/sim_wait.c: how a group of lanes blocks, and what wakes it. */
#include "Sim/sim_machine.h"

/* A value whose change wakes a blocked group. Mbarriers and cp.async have one of their own, so that
 * they wake only the groups that wait for them. */
uint64_t hd_sim_moved(const sim_warp *w, const sim_group *g) {
  switch (g->wait) {
  case SIM_WAIT_MBARRIER: return g->mbarrier->phase;
  case SIM_WAIT_CP_ASYNC: return w->cp_landed;
  default: return w->machine->progress;
  }
}

void hd_sim_block(sim_warp *w, sim_wait_kind wait, uint64_t address, uint32_t detail) {
  sim_group *g = &w->group[w->current];
  g->wait = wait;
  g->address = address;
  g->detail = detail;
  g->stamp = hd_sim_moved(w, g);
}
