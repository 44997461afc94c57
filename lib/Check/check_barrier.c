#include <string.h>

#include "Check/check_machine.h"

hd_ck_mbarrier *hd_ck_mbarrier_at(hd_ck_machine *m, int32_t cta, int32_t slot) {
  return &m->mbarriers[cta * m->program->n_barrier_slots + slot];
}

static uint32_t known_phases(const hd_ck_machine *m, const hd_ck_warp *w, int32_t cta,
                             int32_t slot) {
  return w->clock[hd_ck_barrier_component(m, cta, slot)];
}

/* Index among all barriers' slots of the slot that operands name; -1 after a finding. */
static int32_t slot_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       int32_t barrier, int64_t cursor) {
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[barrier]);
  if (!ring) {
    hd_ck_undecided(m, step->op, "a barrier that is not named by its declaration");
    return -1;
  }
  if (hd_ck_stages(cursor) == ring->stages && hd_ck_slot(cursor) < ring->stages)
    return ring->first + hd_ck_slot(cursor);
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, hd_ck_slot(cursor)),
             "use a cursor of the barrier's own ring",
             "slot %d of a ring of %d stages at a barrier of %d", hd_ck_slot(cursor),
             hd_ck_stages(cursor), ring->stages);
  return -1;
}

/* --- R4 ------------------------------------------------------------------------------------- */

void hd_ck_barrier_init(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_ck_ring *ring = hd_ck_barrier(m->program, hd_barrier_barrier(step->op));
  if (!ring)
    return hd_ck_undecided(m, step->op, "a barrier that is not named by its declaration");
  for (int32_t i = 0; i < ring->stages; i++) {
    hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, w->cta, ring->first + i);
    if (b->init)
      hd_ck_find(m, "R4", hd_ck_here(m, w, b->init, i), hd_ck_here(m, w, step->op, i),
                 "initialise it once", "a barrier is initialised twice");
    b->init = step->op;
    b->init_warp = w->id;
    b->init_time = w->now;
    b->init_fenced = 0;
  }
}

void hd_ck_barrier_fence_inits(hd_ck_machine *m, hd_ck_warp *w) {
  for (int32_t i = 0; i < m->program->n_barrier_slots; i++) {
    hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, w->cta, i);
    if (b->init && b->init_warp == w->id && !b->init_fenced)
      b->init_fenced = w->now;
  }
  w->inits_fenced = w->now;
}

/* Time up to which w knows the initialising warp. A single role may run on another of its lanes. */
static uint32_t known_of_init(const hd_ck_machine *m, const hd_ck_warp *w,
                              const hd_ck_step *step, const hd_ck_mbarrier *b) {
  if (w->id == b->init_warp && step->role >= 0 && m->program->roles[step->role].single)
    return w->met;
  uint32_t known = w->clock[hd_ck_component(m, b->init_warp, HD_CK_TIME)];
  uint32_t told = w->clock[hd_ck_component(m, b->init_warp, HD_CK_INITS)];
  return told > known ? told : known;
}

/* far: the barrier is used by the async proxy or from another CTA. */
static bool check_init(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_mbarrier *b, int32_t slot, bool far) {
  if (!b->init) {
    hd_check_access here = hd_ck_here(m, w, step->op, slot);
    hd_ck_find(m, "R4", (hd_check_access){0}, here, "barrier.init before the roles",
               "%s uses a barrier that nothing has initialised", here.text);
    m->stop = true; /* every later finding would follow from it */
    return false;
  }
  uint32_t known = known_of_init(m, w, step, b);
  bool visible = known >= b->init_time;
  if (visible && (!far || (b->init_fenced && known >= b->init_fenced)))
    return true;
  hd_check_access here = hd_ck_here(m, w, step->op, slot);
  hd_check_access init = hd_ck_here(m, &m->warps[b->init_warp], b->init, slot);
  if (!visible)
    hd_ck_find(m, "R4", init, here, "cta.sync (cluster.sync in a cluster) between the two",
               "%s may come before the barrier's initialisation", here.text);
  else
    hd_ck_find(m, "R4", init, here,
               "fence.barrier_init in the initialising thread, before the CTA's or cluster's sync",
               "%s may not see the barrier's initialisation", here.text);
  return true;
}

/* --- arrivals ------------------------------------------------------------------------------- */

/* An arrival (or copy) belongs to the current phase in every schedule only if its warp knows that
 * the previous phase is complete. */
static void check_phase(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                        int32_t slot) {
  const hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, slot);
  if (known_phases(m, w, cta, slot) >= b->completed)
    return;
  hd_check_access here = hd_ck_here(m, w, step->op, slot);
  hd_ck_find(m, "phase", (hd_check_access){0}, here,
             "barrier.wait on the phase before, or on what follows from it",
             "%s may count for a phase before phase %u of the barrier", here.text,
             b->completed);
}

static void arrive(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t barrier,
                   int32_t cta, int32_t slot, hd_ck_release how, uint32_t n) {
  hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, slot);
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[barrier]);
  if (!check_init(m, w, step, b, slot - ring->first, cta != w->cta))
    return;
  check_phase(m, w, step, cta, slot);
  hd_ck_release_to(m, w, how, b->arriving);
  b->arrived += n;
  b->last = step->op;
  if ((int64_t)b->arrived <= ring->count)
    return;
  hd_check_access here = hd_ck_here(m, w, step->op, slot - ring->first);
  hd_ck_find(m, "arrivals", (hd_check_access){0}, here,
             "make the barrier's count the number of arrivals of a phase",
             "%s is arrival %u in a phase of a barrier of count %lld", here.text, b->arrived,
             (long long)ring->count);
}

/* A mask of the CTAs at whose barriers the op arrives; 0 after a finding. */
static int64_t ranks_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step) {
  int64_t ranks = hd_op_int(step->op, HD_ATTR_RANK, (int64_t)1 << w->cta);
  if (ranks > 0 && !(ranks >> m->program->cluster))
    return ranks;
  hd_ck_find(m, "bounds", (hd_check_access){0}, hd_ck_here(m, w, step->op, -1),
             "name CTAs of the cluster", "ranks %lld of a cluster of %d CTAs", (long long)ranks,
             m->program->cluster);
  return 0;
}

void hd_ck_barrier_expect(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int32_t slot =
      slot_of(m, w, step, HD_AT_barrier_barrier, w->env[step->args[HD_AT_barrier_cursor]].i);
  if (slot < 0)
    return;
  hd_ck_mbarrier_at(m, w->cta, slot)->expected += hd_op_int(step->op, HD_ATTR_BYTES, 0);
  arrive(m, w, step, HD_AT_barrier_barrier, w->cta, slot, HD_CK_ELECTED, 1);
}

void hd_ck_barrier_arrive(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int32_t slot =
      slot_of(m, w, step, HD_AT_barrier_barrier, w->env[step->args[HD_AT_barrier_cursor]].i);
  int64_t ranks = ranks_of(m, w, step);
  bool thread = hd_op_is(step->op, HD_ATTR_SCOPE, "thread");
  bool releases = hd_op_is(step->op, HD_ATTR_SCOPE, "cluster");
  for (int32_t cta = 0; slot >= 0 && cta < m->program->cluster; cta++) {
    if (!(ranks >> cta & 1))
      continue;
    bool far = cta != w->cta;
    hd_ck_release how = thread ? HD_CK_PUBLISH : HD_CK_ELECTED;
    /* An arrival at another CTA relies on R3's assumption if it releases nothing. Copies need no
     * such note: the receiving CTA waits for their bytes. */
    if (far) {
      m->report->n_assumed_r3 += !releases;
      w->remote_op = step->op;
      w->remote_time = w->now;
    }
    hd_ck_mbarrier_at(m, cta, slot)->sent |= far && releases;
    arrive(m, w, step, HD_AT_barrier_barrier, cta, slot, far && !releases ? HD_CK_REMOTE : how,
           thread ? 32 : 1);
  }
}

/* The receiving CTA waits for a commit, as it does for the bytes of a copy. */
void hd_ck_barrier_commit(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int32_t slot =
      slot_of(m, w, step, HD_AT_barrier_barrier, w->env[step->args[HD_AT_barrier_cursor]].i);
  int64_t ranks = ranks_of(m, w, step);
  for (int32_t cta = 0; slot >= 0 && cta < m->program->cluster && !m->stop; cta++) {
    if (!(ranks >> cta & 1))
      continue;
    arrive(m, w, step, HD_AT_barrier_barrier, cta, slot, HD_CK_COMMIT, 1);
    hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, slot);
    b->landing = b->completed + 1;
  }
}

uint32_t hd_ck_barrier_land(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                            int32_t operand, int32_t cta, int32_t slot, int64_t bytes) {
  const hd_ck_ring *ring = hd_ck_barrier(m->program, step->op->operands[operand]);
  hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, ring->first + slot);
  if (!check_init(m, w, step, b, slot, true))
    return 0;
  check_phase(m, w, step, cta, ring->first + slot);
  b->sent = b->sent || step->op->kind == HD_OP_PARTIAL_SEND;
  hd_ck_release_order(m, w, b->arriving);
  b->landed += bytes;
  b->landing = b->completed + 1;
  b->last = step->op;
  return b->completed;
}

/* --- waiting -------------------------------------------------------------------------------- */

/* A wait for phase p may pass only while p is complete and p + 1 is not. So its warp must know that
 * p - 1 is complete (else it could pass two phases early), and p + 1 must not complete before the
 * wait has passed. */
bool hd_ck_barrier_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  int64_t cursor = w->env[step->args[HD_AT_barrier_cursor]].i,
          parity = hd_op_int(step->op, HD_ATTR_PARITY, 0) & 1;
  int32_t slot = slot_of(m, w, step, HD_AT_barrier_barrier, cursor);
  if (slot < 0)
    return true;
  hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, w->cta, slot);
  if (!check_init(m, w, step, b, hd_ck_slot(cursor), false))
    return true;
  if ((int64_t)(b->completed & 1) == (hd_ck_phase(cursor) ^ parity))
    return false;
  if (b->completed > known_phases(m, w, w->cta, slot) + 1) {
    hd_check_access here = hd_ck_here(m, w, step->op, hd_ck_slot(cursor));
    hd_ck_find(m, "phase", (hd_check_access){0}, here, "wait for every phase, one after the other",
               "%s may pass on an earlier phase than phase %u", here.text, b->completed - 1);
  }
  if (b->sent && !hd_op_is(step->op, HD_ATTR_SCOPE, "cluster")) {
    hd_check_access here = hd_ck_here(m, w, step->op, hd_ck_slot(cursor));
    hd_ck_find(m, "R1", (hd_check_access){0}, here, "scope = cluster",
               "%s does not acquire what threads of another CTA have sent or released", here.text);
  }
  hd_ck_wait wait = {.warp = w->id, .time = w->now, .op = step->op};
  HD_PUSH(b->waits, b->n_waits, b->cap_waits, wait);
  if (b->completed)
    hd_ck_join(m, b->released, w->clock);
  return true;
}

/* --- phases --------------------------------------------------------------------------------- */

static void check_waits(hd_ck_machine *m, hd_ck_mbarrier *b) {
  for (int32_t i = 0; i < b->n_waits; i++) {
    const hd_ck_wait *x = &b->waits[i];
    if (b->arriving[hd_ck_component(m, x->warp, HD_CK_ORDER)] >= x->time)
      continue;
    hd_check_access at = hd_ck_here(m, &m->warps[x->warp], x->op, -1);
    hd_ck_find(m, "phase", at, (hd_check_access){.op = b->last, .text = "the next phase",
                                                 .role = "kernel", .slot = -1, .iteration = -1},
               "an arrival that follows from the wait, in the next phase of its barrier",
               "%s can be overtaken: the phase after the one it waits for may complete first",
               at.text);
  }
  b->n_waits = 0;
}

static bool complete(hd_ck_machine *m, int32_t cta, const hd_ck_ring *ring, int32_t i) {
  hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, ring->first + i);
  if (!b->init || b->arrived < (uint64_t)ring->count || b->expected != b->landed)
    return false;
  check_waits(m, b);
  b->completed++;
  b->arrived = 0;
  b->expected = b->landed = 0;
  uint32_t phases = hd_ck_barrier_component(m, cta, ring->first + i);
  b->arriving[phases] = b->arriving[phases + hd_ck_to_landings(m)] = b->completed;
  uint32_t *next = b->released;
  b->released = b->arriving;
  b->arriving = memset(next, 0, sizeof *next * (size_t)m->n_components);
  return true;
}

bool hd_ck_barriers_advance(hd_ck_machine *m) {
  bool any = false;
  for (int32_t cta = 0; cta < m->program->cluster; cta++)
    for (int32_t r = 0; r < m->program->n_barriers; r++)
      for (int32_t i = 0; i < m->program->barriers[r].stages && !m->stop; i++)
        any = complete(m, cta, &m->program->barriers[r], i) || any;
  return any;
}

static void check_bytes(hd_ck_machine *m, int32_t cta, const hd_ck_ring *ring, int32_t i) {
  const hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, ring->first + i);
  if (!b->init || b->arrived < (uint64_t)ring->count || b->expected == b->landed)
    return;
  hd_check_access at = {.op = b->last, .text = hd_op_get_info(b->last->kind)->text,
                        .role = "kernel", .cta = cta, .slot = i, .iteration = -1};
  hd_ck_find(m, "tx-bytes", (hd_check_access){0}, at, "expect the bytes that are copied",
             "phase %u of barrier \"%s\" expects %lld bytes, but %lld are copied", b->completed,
             hd_op_str(ring->op, HD_ATTR_NAME), (long long)b->expected, (long long)b->landed);
  m->stop = true; /* every later finding would follow from it */
}

void hd_ck_barriers_check_bytes(hd_ck_machine *m) {
  for (int32_t cta = 0; cta < m->program->cluster; cta++)
    for (int32_t r = 0; r < m->program->n_barriers; r++)
      for (int32_t i = 0; i < m->program->barriers[r].stages && !m->stop; i++)
        check_bytes(m, cta, &m->program->barriers[r], i);
}

/* A phase that is incomplete when all warps have ended can never complete, and its bytes may be
 * written to memory that another CTA owns by then. Arrivals alone are harmless: all warps have
 * ended, so none waits for them. */
void hd_ck_barriers_finish(hd_ck_machine *m) {
  while (hd_ck_barriers_advance(m))
    ;
  hd_ck_barriers_check_bytes(m);
  for (int32_t cta = 0; cta < m->program->cluster && !m->stop; cta++)
    for (int32_t r = 0; r < m->program->n_barriers; r++)
      for (int32_t i = 0; i < m->program->barriers[r].stages; i++) {
        const hd_ck_ring *ring = &m->program->barriers[r];
        const hd_ck_mbarrier *b = hd_ck_mbarrier_at(m, cta, ring->first + i);
        if (!b->expected && !b->landed)
          continue;
        hd_check_access at = {.op = b->last, .text = hd_op_get_info(b->last->kind)->text,
                              .role = "kernel", .cta = cta, .slot = i, .iteration = -1};
        hd_ck_find(m, "arrivals", (hd_check_access){0}, at,
                   "as many arrivals in a phase as the barrier counts",
                   "the kernel ends with %u of %lld arrivals in phase %u of barrier \"%s\"",
                   b->arrived, (long long)ring->count, b->completed,
                   hd_op_str(ring->op, HD_ATTR_NAME));
      }
}
