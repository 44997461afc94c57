/* Sim/sim_clock.c: vector clocks, one shared block a CTA, copied when written. */
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_machine.h"

static sim_block *new_block(const sim_machine *m) {
  sim_block *b = hd_xmalloc(sizeof *b + sizeof(uint32_t) * m->agents_per_cta);
  memset(b, 0, sizeof *b + sizeof(uint32_t) * m->agents_per_cta);
  b->n_refs = 1;
  return b;
}

static void drop(sim_block *b) {
  if (b && --b->n_refs == 0)
    free(b);
}

/* A block that nobody else sees. */
static sim_block *own(const sim_machine *m, sim_block **slot) {
  sim_block *old = *slot;
  if (old && old->n_refs == 1)
    return old;
  sim_block *b = new_block(m);
  if (old) {
    memcpy(b->clock, old->clock, sizeof(uint32_t) * m->agents_per_cta);
    old->n_refs--;
  }
  *slot = b;
  return b;
}

static void share(sim_block **slot, sim_block *from) {
  from->n_refs++;
  drop(*slot);
  *slot = from;
}

void hd_sim_clock_init(const sim_machine *m, sim_know *know) {
  know->full.block = hd_xmalloc(sizeof(sim_block *) * 2 * m->n_ctas);
  memset(know->full.block, 0, sizeof(sim_block *) * 2 * m->n_ctas);
  know->reads.block = know->full.block + m->n_ctas;
}

void hd_sim_clock_free(const sim_machine *m, sim_know *know) {
  if (!know->full.block)
    return;
  for (uint32_t i = 0; i < 2 * m->n_ctas; i++)
    drop(know->full.block[i]);
  free(know->full.block);
  know->full.block = NULL;
}

/* Element-wise maximum; keeps blocks shared where one side has it all. */
static void join_block(const sim_machine *m, sim_block **into, sim_block *from) {
  if (!from || *into == from)
    return;
  if (!*into) {
    share(into, from);
    return;
  }
  uint32_t n = m->agents_per_cta, more = 0, less = 0;
  const uint32_t *a = (*into)->clock, *b = from->clock;
  for (uint32_t i = 0; i < n; i++) {
    more |= a[i] < b[i];
    less |= a[i] > b[i];
  }
  if (!more)
    return;
  if (!less) {
    share(into, from);
    return;
  }
  uint32_t *c = own(m, into)->clock;
  for (uint32_t i = 0; i < n; i++)
    c[i] = c[i] > b[i] ? c[i] : b[i];
}

void hd_sim_join(const sim_machine *m, sim_clock *into, const sim_clock *from) {
  for (uint32_t i = 0; i < m->n_ctas; i++)
    join_block(m, &into->block[i], from->block[i]);
}

void hd_sim_join_know(const sim_machine *m, sim_know *into, const sim_know *from) {
  hd_sim_join(m, &into->full, &from->full);
  hd_sim_join(m, &into->reads, &from->reads);
}

static void meet_block(const sim_machine *m, sim_block **into, const sim_block *other) {
  if (!*into || *into == other)
    return;
  if (!other) {
    drop(*into);
    *into = NULL;
    return;
  }
  uint32_t *c = own(m, into)->clock;
  for (uint32_t i = 0; i < m->agents_per_cta; i++)
    c[i] = c[i] < other->clock[i] ? c[i] : other->clock[i];
}

void hd_sim_meet_know(const sim_machine *m, sim_know *into, const sim_know *other) {
  for (uint32_t i = 0; i < 2 * m->n_ctas; i++)
    meet_block(m, &into->full.block[i], other->full.block[i]);
}

bool hd_sim_knows(const sim_clock *clock, sim_agent agent, uint32_t at) {
  const sim_block *b = clock->block[agent >> SIM_AGENT_SHIFT];
  return b && b->clock[agent & ((1u << SIM_AGENT_SHIFT) - 1)] >= at;
}

void hd_sim_learn(const sim_machine *m, sim_clock *into, sim_agent agent, uint32_t clock) {
  if (!hd_sim_knows(into, agent, clock))
    own(m, &into->block[agent >> SIM_AGENT_SHIFT])
        ->clock[agent & ((1u << SIM_AGENT_SHIFT) - 1)] = clock;
}

void hd_sim_learn_know(const sim_machine *m, sim_know *into, sim_agent agent, uint32_t clock) {
  bool same = into->full.block[agent >> SIM_AGENT_SHIFT] ==
              into->reads.block[agent >> SIM_AGENT_SHIFT];
  hd_sim_learn(m, &into->full, agent, clock);
  if (same)
    hd_sim_join(m, &into->reads, &into->full);
  else
    hd_sim_learn(m, &into->reads, agent, clock);
}

void hd_sim_publish(sim_machine *m, sim_know *into, sim_warp *w, uint32_t lane) {
  sim_thread *t = hd_sim_thread(w, lane);
  hd_sim_join_know(m, into, &t->know);
  hd_sim_learn_know(m, into, hd_sim_thread_agent(w, lane), t->clock);
  t->clock++;
}

void hd_sim_acquire(sim_machine *m, sim_warp *w, uint32_t lane, const sim_know *from) {
  hd_sim_join_know(m, &hd_sim_thread(w, lane)->know, from);
  w->dirty = true;
}

void hd_sim_lanesync(sim_warp *w, uint32_t mask) {
  if (!w->dirty || !mask)
    return;
  sim_machine *m = w->machine;
  sim_know all;
  hd_sim_clock_init(m, &all);
  SIM_LANES(l, mask) hd_sim_publish(m, &all, w, l);
  SIM_LANES(l, mask) hd_sim_join_know(m, &hd_sim_thread(w, l)->know, &all);
  hd_sim_clock_free(m, &all);
  if (mask == (w->lanes & ~w->exited))
    w->dirty = false;
}
