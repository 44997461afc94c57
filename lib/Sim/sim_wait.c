/* Sim/sim_wait.c: how a group of lanes waits: what it looks at again when that has moved. */
#include "Sim/sim_machine.h"

/* What a waiting group looks at again when it has moved. Of mbarriers and cp.async there are many:
 * each wakes those only who wait for it. */
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
