/* Sim/sim_poll.c: threads that poll memory (strong loads, atoms). */
#include "Sim/sim_machine.h"
#include "Support/hash.h"

enum { FIRST_POLLS = 8 }; /* without any progress, before states are compared */

/* Hash of registers and number of stores: a warp that stores may be counting in memory. */
static uint64_t state_of(const sim_warp *w, uint32_t mask) {
  uint64_t h = hd_hash_mix((uint64_t)w->n_stores << 32 | mask);
  for (uint32_t r = 0; r < w->machine->program->n_regs; r++)
    SIM_LANES(l, mask) h = hd_hash_mix(h ^ w->reg[(size_t)r * 32 + l]);
  return h;
}

/* Brent's cycle detection: the reference state is renewed after 8, 16, 32 ... polls, so that it
 * finally is in the cycle, however long the path to the cycle is. */
bool hd_sim_goes_round(sim_warp *w, const sim_insn *in) {
  sim_group *g = &w->group[w->current];
  sim_poll *p = &g->poll;
  if (p->progress != w->machine->progress)
    *p = (sim_poll){.progress = w->machine->progress, .until = FIRST_POLLS};
  if (p->insn == in && p->state == state_of(w, g->mask))
    return true;
  if (p->n++ < p->until)
    return false;
  p->n = 0;
  p->until *= 2;
  p->insn = in;
  p->state = state_of(w, g->mask);
  return false;
}
