/* Sim/sim_clock.c: vector clocks, one shared block per CTA, copied when written. */
#include <string.h>

#include "Sim/sim_machine.h"
#include "Support/memory.h"

static void drop(sim_block *b) {
  if (b && --b->n_refs == 0)
    hd_free(b);
}

/* A block without other references. */
static sim_block *own(const sim_machine *m, sim_block **slot) {
  sim_block *old = *slot;
  if (old && old->n_refs == 1)
    return old;
  size_t n_bytes = sizeof *old + sizeof(uint32_t) * m->agents_per_cta;
  sim_block *b = hd_xmalloc(n_bytes);
  if (old) {
    memcpy(b, old, n_bytes);
    old->n_refs--;
  } else {
    memset(b, 0, n_bytes);
  }
  b->n_refs = 1;
  *slot = b;
  return b;
}

static void share(sim_block **slot, sim_block *from) {
  from->n_refs++;
  drop(*slot);
  *slot = from;
}

/* The blocks of a sim_vc's parts, one after the other. */
static uint32_t n_blocks(const sim_machine *m) {
  return SIM_VC_PARTS * m->n_ctas;
}
static size_t vc_bytes(const sim_machine *m) {
  return sizeof(sim_block *) * n_blocks(m);
}

void hd_sim_vc_init(const sim_machine *m, sim_vc *vc) {
  vc->full.block = hd_xmalloc(vc_bytes(m));
  memset(vc->full.block, 0, vc_bytes(m));
  vc->reads.block = vc->full.block + m->n_ctas;
  vc->order.block = vc->reads.block + m->n_ctas;
}

void hd_sim_vc_free(const sim_machine *m, sim_vc *vc) {
  if (!vc->full.block)
    return;
  for (uint32_t i = 0; i < n_blocks(m); i++)
    drop(vc->full.block[i]);
  hd_free(vc->full.block);
  *vc = (sim_vc){0};
}

/* Iterates over a and b, of different blocks, in steps of constant size, which compilers
 * vectorise. */
#define EACH_STEP(m, a, b)                                                                         \
  for (const uint32_t *end = (a) + (m)->agents_per_cta; (a) < end;                                 \
       (a) += SIM_CLOCK_STEP, (b) += SIM_CLOCK_STEP)

/* more: b is ahead somewhere; less: a is. */
static void compare(const sim_machine *m, const uint32_t *a, const uint32_t *b, uint32_t *more,
                    uint32_t *less) {
  uint32_t ahead = 0, behind = 0;
  EACH_STEP(m, a, b)
  for (int j = 0; j < SIM_CLOCK_STEP; j++) {
    ahead |= a[j] < b[j];
    behind |= a[j] > b[j];
  }
  *more = ahead;
  *less = behind;
}

/* Element-wise maximum; shares the block if one side includes the other. */
static void join_block(const sim_machine *m, sim_block **into, sim_block *from) {
  if (!from || *into == from)
    return;
  if (!*into) {
    share(into, from);
    return;
  }
  uint32_t more = 0, less = 0;
  compare(m, (*into)->clock, from->clock, &more, &less);
  if (!more)
    return;
  if (!less) {
    share(into, from);
    return;
  }
  uint32_t *restrict c = own(m, into)->clock;
  const uint32_t *f = from->clock;
  EACH_STEP(m, c, f)
  for (int j = 0; j < SIM_CLOCK_STEP; j++)
    c[j] = c[j] > f[j] ? c[j] : f[j];
}

void hd_sim_clock_join(const sim_machine *m, sim_clock *into, const sim_clock *from) {
  for (uint32_t i = 0; i < m->n_ctas; i++)
    join_block(m, &into->block[i], from->block[i]);
}

/* The parts are mostly one block on either side: then it is joined once. */
void hd_sim_vc_join(const sim_machine *m, sim_vc *into, const sim_vc *from) {
  for (uint32_t i = 0; i < m->n_ctas; i++) {
    sim_block **full = &into->full.block[i], *before = *full, *other = from->full.block[i];
    join_block(m, full, other);
    for (uint32_t j = i + m->n_ctas; j < n_blocks(m); j += m->n_ctas) {
      sim_block **part = &into->full.block[j];
      if (*full && *part == before && from->full.block[j] == other)
        share(part, *full);
      else
        join_block(m, part, from->full.block[j]);
    }
  }
}

/* Joins only the agents [lo, hi) of a CTA. */
static void join_range(const sim_machine *m, sim_block **into, const sim_block *from, uint32_t lo,
                       uint32_t hi) {
  bool behind = false;
  if (!from || *into == from)
    return;
  for (uint32_t i = lo; i < hi && !behind; i++)
    behind = !*into || (*into)->clock[i] < from->clock[i];
  if (!behind)
    return;
  uint32_t *c = own(m, into)->clock;
  for (uint32_t i = lo; i < hi; i++)
    c[i] = c[i] > from->clock[i] ? c[i] : from->clock[i];
}

void hd_sim_vc_join_tensor(const sim_machine *m, sim_vc *into, const sim_vc *from) {
  uint32_t end = m->agent_mover + 2 * m->n_warps;
  for (uint32_t i = 0; i < m->n_ctas; i++)
    join_range(m, &into->full.block[i], from->full.block[i], m->agent_tensor, end);
  hd_sim_clock_join(m, &into->reads, &from->reads);
  hd_sim_clock_join(m, &into->order, &from->order);
}

static void meet_block(const sim_machine *m, sim_block **into, const sim_block *other) {
  if (!*into || *into == other)
    return;
  if (!other) {
    drop(*into);
    *into = NULL;
    return;
  }
  uint32_t *restrict c = own(m, into)->clock;
  const uint32_t *o = other->clock;
  EACH_STEP(m, c, o)
  for (int j = 0; j < SIM_CLOCK_STEP; j++)
    c[j] = c[j] < o[j] ? c[j] : o[j];
}

void hd_sim_vc_meet(const sim_machine *m, sim_vc *into, const sim_vc *other) {
  for (uint32_t i = 0; i < n_blocks(m); i++)
    meet_block(m, &into->full.block[i], other->full.block[i]);
}

bool hd_sim_clock_has(const sim_clock *clock, sim_agent agent, uint32_t at) {
  const sim_block *b = clock->block[agent >> SIM_AGENT_SHIFT];
  return b && b->clock[hd_sim_local(agent)] >= at;
}

void hd_sim_clock_raise(const sim_machine *m, sim_clock *into, sim_agent agent, uint32_t clock) {
  if (!hd_sim_clock_has(into, agent, clock))
    own(m, &into->block[agent >> SIM_AGENT_SHIFT])->clock[hd_sim_local(agent)] = clock;
}

/* The parts are mostly one block, which is then written once. */
void hd_sim_vc_raise(const sim_machine *m, sim_vc *into, sim_agent agent, uint32_t clock) {
  uint32_t cta = agent >> SIM_AGENT_SHIFT, local = hd_sim_local(agent);
  sim_block **full = &into->full.block[cta], **reads = &into->reads.block[cta],
            **order = &into->order.block[cta];
  if (*full != *reads || *reads != *order) {
    hd_sim_clock_raise(m, &into->full, agent, clock);
    hd_sim_clock_raise(m, &into->reads, agent, clock);
    hd_sim_clock_raise(m, &into->order, agent, clock);
  } else if (*full && (*full)->n_refs == SIM_VC_PARTS) {
    if ((*full)->clock[local] < clock)
      (*full)->clock[local] = clock;
  } else if (!hd_sim_clock_has(&into->full, agent, clock)) {
    own(m, full)->clock[local] = clock;
    share(reads, *full);
    share(order, *full);
  }
}

bool hd_sim_vc_same(const sim_machine *m, const sim_vc *a, const sim_vc *b) {
  return memcmp(a->full.block, b->full.block, vc_bytes(m)) == 0;
}

static bool same_blocks(const sim_machine *m, const sim_vc *a, sim_block *const *b) {
  return memcmp(a->full.block, b, vc_bytes(m)) == 0;
}

void hd_sim_vc_copy(const sim_machine *m, sim_vc *into, const sim_vc *from) {
  for (uint32_t i = 0; i < n_blocks(m); i++)
    if (from->full.block[i] && into->full.block[i] != from->full.block[i])
      share(&into->full.block[i], from->full.block[i]);
}

/* Lanes of a warp mostly share their blocks, which are then joined once. */
void hd_sim_publish(sim_machine *m, sim_vc *into, sim_warp *w, uint32_t mask) {
  const sim_vc *last = NULL;
  SIM_LANES(l, mask) {
    const sim_vc *vc = &hd_sim_thread(w, l)->vc;
    if (!last || !same_blocks(m, vc, last->full.block))
      hd_sim_vc_join(m, into, vc);
    last = vc;
  }
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_vc_raise(m, into, hd_sim_thread_agent(w, l), t->clock);
    t->clock++;
  }
}

void hd_sim_lanes_begin(const sim_machine *m, sim_lanes *lanes) {
  *lanes = (sim_lanes){.before = hd_xmalloc(vc_bytes(m))};
}

void hd_sim_lanes_end(sim_lanes *lanes) { hd_free(lanes->before); }

/* Reuses the last lane's result if this lane had the same blocks. */
static bool as_the_last(const sim_machine *m, sim_lanes *lanes, sim_vc *vc) {
  bool same = lanes->made && same_blocks(m, vc, lanes->before);
  if (same) {
    hd_sim_vc_copy(m, vc, lanes->made);
  } else {
    memcpy(lanes->before, vc->full.block, vc_bytes(m));
    lanes->made = vc;
  }
  return same;
}

void hd_sim_lanes_join(const sim_machine *m, sim_lanes *lanes, sim_vc *into, const sim_vc *from) {
  if (lanes->from && !same_blocks(m, from, lanes->from->full.block))
    lanes->made = NULL;
  lanes->from = from;
  if (!as_the_last(m, lanes, into))
    hd_sim_vc_join(m, into, from);
}

void hd_sim_lanes_raise(const sim_machine *m, sim_lanes *lanes, sim_vc *into, sim_agent agent,
                        uint32_t clock) {
  if (!as_the_last(m, lanes, into))
    hd_sim_vc_raise(m, into, agent, clock);
}

void hd_sim_acquire(sim_machine *m, sim_warp *w, uint32_t mask, const sim_vc *from) {
  sim_lanes lanes;
  hd_sim_lanes_begin(m, &lanes);
  SIM_LANES(l, mask) hd_sim_lanes_join(m, &lanes, &hd_sim_thread(w, l)->vc, from);
  hd_sim_lanes_end(&lanes);
  w->dirty = true;
}
