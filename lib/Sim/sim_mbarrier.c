/* Sim/sim_mbarrier.c: mbarriers: phases, arrivals, transaction bytes, and what a wait acquires. */
#include "Sim/sim_tmem.h"
#include "Support/memory.h"

enum { MAX_TX = (1 << 20) - 1 };

/* All clocks of an mbarrier. */
#define CLOCKS(b)                                                                                  \
  {                                                                                                \
    &(b)->arriving, &(b)->done, &(b)->arriving_cluster, &(b)->done_cluster, &(b)->arriving_order,  \
        &(b)->done_order                                                                           \
  }

void hd_sim_mbarrier_free(const sim_machine *m, sim_mbarrier *b) {
  sim_vc *const all[] = CLOCKS(b);
  for (size_t i = 0; i < HD_COUNT(all); i++)
    hd_sim_vc_free(m, all[i]);
  hd_free(b->waited);
  hd_free(b->arrived);
}

sim_mbarrier *hd_sim_mbarrier_at(sim_cta *cta, uint32_t offset) {
  for (uint32_t i = 0; i < cta->n_mbarriers; i++)
    if (cta->mbarrier[i].live && cta->mbarrier[i].offset == offset)
      return &cta->mbarrier[i];
  return NULL;
}

static void mark_cells(sim_cta *cta, uint32_t offset, uint32_t flags, const sim_access *a) {
  sim_memory *s = &cta->shared;
  for (uint32_t i = offset >> s->shift; i <= (offset + 7) >> s->shift; i++) {
    s->cell[i].flags = flags;
    s->cell[i].writer = a->agent;
    s->cell[i].write_clock = a->clock;
    s->cell[i].write_site = a->insn->site;
  }
}

/* The init was fenced, and the access is ordered after the fence. fence.mbarrier_init releases the
 * init, so that order is sufficient (a relaxed cluster barrier); a proxy fence releases nothing. */
static bool follows_fence(const sim_access *a, const sim_cta *cta, const sim_mbarrier *b) {
  const sim_thread *t = &cta->thread[hd_sim_local(b->init_agent)];
  for (uint32_t i = 0; i < t->n_fences; i++) {
    const sim_fence *f = &t->fence[i];
    bool releases = f->what & SIM_FENCE_INIT;
    const sim_clock *clock = releases ? &a->view.vc->order : &a->view.vc->full;
    if ((releases || (f->what & SIM_FENCE_SHARED)) && f->clock >= b->init_clock &&
        (b->init_agent == a->view.self || hd_sim_clock_has(clock, b->init_agent, f->clock + 1)))
      return true;
  }
  return false;
}

/* R4: the init must happen before. That a copy or a remote arrive also needs a fence after the init
 * is Heddle's own rule: the ISA requires it only if a relaxed barrier orders the two. */
sim_step hd_sim_mbarrier_use(const sim_access *a, sim_cta *cta, uint32_t offset,
                             sim_mbarrier **out) {
  sim_mbarrier *b = hd_sim_mbarrier_at(cta, offset);
  if (!b)
    return hd_sim_fault(a->m, "mbarrier", a->warp, a->lane, a->insn,
                        "no mbarrier was initialised at shared byte %u of cta %u", offset,
                        cta->index);
  *out = b;
  if ((a->m->options.off & HD_SIM_NO_RACES) || follows_fence(a, cta, b))
    return SIM_NEXT;
  const sim_insn *init = &a->m->program->insn[b->site];
  bool own = b->init_agent == a->view.self, remote = a->warp->cta != cta;
  if (!own && !hd_sim_clock_has(&a->view.vc->full, b->init_agent, b->init_clock))
    return hd_sim_find(
        a->m, "R4", a->warp, a->lane, a->insn, init,
        "uses the mbarrier at shared byte %u of cta %u, whose init at line %u is not "
        "ordered before: a CTA or cluster barrier is missing",
        offset, cta->index, init->line);
  if ((!a->async && !remote) || (a->m->options.off & HD_SIM_NO_PROXIES))
    return SIM_NEXT;
  return hd_sim_find(
      a->m, "R4:heddle", a->warp, a->lane, a->insn, init,
      "%s the mbarrier at shared byte %u of cta %u without fence.mbarrier_init after "
      "its init at line %u",
      remote ? "arrives from another CTA at" : "lets a copy signal", offset, cta->index,
      init->line);
}

void hd_sim_mbarrier_advance(sim_machine *m, sim_cta *cta, sim_mbarrier *b) {
  if (b->pending != 0 || b->tx != 0)
    return;
  hd_sim_phase_over(m, cta, b);
  b->phase++;
  b->pending = b->count;
  hd_sim_vc_raise(m, &b->arriving, hd_sim_mbarrier_agent(m, cta, b), b->phase);
  hd_sim_vc_join(m, &b->done, &b->arriving);
  if (m->agent_sent)
    hd_sim_vc_raise(m, &b->arriving_cluster, hd_sim_sent_agent(m, cta, b), b->phase);
  hd_sim_vc_join(m, &b->done_cluster, &b->arriving_cluster);
  if (m->program->has_tensor) {
    hd_sim_vc_raise(m, &b->arriving_order, hd_sim_mbarrier_agent(m, cta, b), b->phase);
    hd_sim_vc_join(m, &b->done_order, &b->arriving_order);
  }
  hd_sim_progress(m);
}

/* The phase would complete although copies that signal it are in flight. */
static sim_step check_early(sim_machine *m, const sim_warp *w, uint32_t lane, const sim_insn *in,
                            const sim_mbarrier *b) {
  if (b->pending != 0 || b->tx != 0 || b->in_flight == 0)
    return SIM_NEXT;
  return hd_sim_find(m, "tx", w, lane, in, NULL,
                     "phase %u of the mbarrier at shared byte %u completes while %u copies that "
                     "signal it are in flight: fewer bytes are expected than will arrive",
                     b->phase, b->offset, b->in_flight);
}

sim_step hd_sim_mbarrier_complete_tx(sim_machine *m, const sim_async *op, uint32_t n_bytes) {
  sim_mbarrier *b = op->mbarrier;
  b->tx -= n_bytes;
  b->in_flight--;
  b->landed = b->phase + 1;
  if (b->tx < -MAX_TX || (b->pending == 0 && b->tx < 0))
    return hd_sim_fault(m, "tx", op->warp, op->lane, op->insn,
                        "%lld bytes more arrive at the mbarrier at shared byte %u in phase %u than "
                        "were expected", (long long)-b->tx, b->offset, b->phase);
  if (check_early(m, op->warp, op->lane, op->insn, b) == SIM_STOP ||
      hd_sim_phase_land(m, op) == SIM_STOP)
    return SIM_STOP;
  hd_sim_mbarrier_advance(m, op->target, b);
  return SIM_NEXT;
}

/* ---- instructions ---- */

static sim_step find(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_opnd *o,
                     sim_access *a, sim_cta **cta, uint32_t *offset) {
  uint64_t address = hd_sim_address(w, o, lane);
  *a = hd_sim_access(w, lane, in, SIM_READ);
  if (in->space == SIM_GENERIC)
    address -= SIM_SHARED_WINDOW;
  if (hd_sim_shared(a, address, cta, offset) == SIM_STOP)
    return SIM_STOP;
  if (*offset % 8 || *offset < SIM_SHARED_BASE || *offset + 8ull > (*cta)->shared.n_bytes)
    return hd_sim_fault(w->machine, *offset % 8 ? "alignment" : "bounds", w, lane, in,
                        "mbarrier at shared byte %u", *offset);
  return SIM_NEXT;
}

/* PTX ISA, mbarrier.test_wait, .inval: in .shared::cta only. */
static sim_step check_own(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_cta *cta) {
  if (cta == w->cta)
    return SIM_NEXT;
  return hd_sim_fault(w->machine, "mbarrier", w, lane, in,
                      "names an mbarrier of cta %u; legal: of the own CTA", cta->index);
}

static sim_step init_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  sim_access a;
  sim_cta *cta;
  uint32_t offset, count = (uint32_t)hd_sim_read_lane(w, &in->opnd[1], lane);
  if (find(w, in, lane, &in->opnd[0], &a, &cta, &offset) == SIM_STOP)
    return SIM_STOP;
  if (count == 0 || count > 0xfffff || cta != w->cta || hd_sim_mbarrier_at(cta, offset) ||
      cta->n_mbarriers == SIM_MAX_MBARRIERS)
    return hd_sim_fault(m, "mbarrier", w, lane, in,
                        "count %u at shared byte %u; legal: 1 to 1048575, in the own CTA, not "
                        "already initialised, at most 256",
                        count, offset);
  a.kind = SIM_WRITE;
  if (hd_sim_check(&a, &cta->shared, offset, 8) == SIM_STOP)
    return SIM_STOP;
  mark_cells(cta, offset, SIM_CELL_WRITTEN | SIM_CELL_MBARRIER, &a);
  sim_mbarrier *b = &cta->mbarrier[cta->n_mbarriers++];
  *b = (sim_mbarrier){.offset = offset, .live = true, .count = count, .pending = count,
                      .init_agent = a.agent, .init_clock = a.clock, .site = in->site};
  sim_vc *const all[] = CLOCKS(b);
  for (size_t i = 0; i < HD_COUNT(all); i++)
    hd_sim_vc_init(m, all[i]);
  return SIM_NEXT;
}

/* Whether a use by another agent is not ordered before. */
static bool is_running(const sim_access *a, const sim_clock *after, const sim_waited *use,
                       uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (use[i].agent != a->agent && !hd_sim_clock_has(after, use[i].agent, use[i].clock))
      return true;
  return false;
}

/* Its copies have landed, and all arrivals and waits for its last phase are complete, according to
 * `clock`. */
static bool is_unused(const sim_access *a, const sim_clock *clock, const sim_cta *cta,
                      const sim_mbarrier *b) {
  bool landing =
      b->in_flight ||
      (b->landed && !hd_sim_clock_has(clock, hd_sim_mbarrier_agent(a->m, cta, b), b->landed));
  return !landing && !is_running(a, clock, b->waited, b->n_waited) &&
         !is_running(a, &a->view.vc->order, b->arrived, b->n_arrived);
}

/* Using an invalid mbarrier is undefined in the ISA. That memory must be ordered, and not only the
 * instructions (as by a match.sync of the lanes), is Heddle's own rule. */
static sim_step check_unused(const sim_access *a, const sim_cta *cta, const sim_mbarrier *b) {
  sim_machine *m = a->m;
  if ((m->options.off & HD_SIM_NO_RACES) || is_unused(a, &a->view.vc->full, cta, b))
    return SIM_NEXT;
  bool ordered = is_unused(a, &a->view.vc->order, cta, b);
  return hd_sim_find(m, ordered ? "mbarrier:heddle" : "mbarrier", a->warp, a->lane, a->insn,
                     &m->program->insn[b->site],
                     "invalidates the mbarrier at shared byte %u, not ordered after all copies "
                     "that signal it, all arrivals, and all waits for its last phase",
                     b->offset);
}

static sim_step inval_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_access a;
  sim_cta *cta;
  uint32_t offset;
  sim_mbarrier *b;
  if (find(w, in, lane, &in->opnd[0], &a, &cta, &offset) == SIM_STOP ||
      check_own(w, in, lane, cta) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP ||
      check_unused(&a, cta, b) == SIM_STOP)
    return SIM_STOP;
  b->live = false;
  mark_cells(cta, offset, 0, &a);
  return SIM_NEXT;
}

static void release_all(sim_machine *m, sim_vc *into, const sim_thread *t, sim_agent self) {
  hd_sim_vc_join(m, into, &t->vc);
  hd_sim_vc_raise(m, into, self, t->clock);
}

static void release_part(sim_machine *m, sim_clock *into, const sim_clock *after,
                         const sim_thread *t, sim_agent self) {
  hd_sim_clock_join(m, into, after);
  hd_sim_clock_raise(m, into, self, t->clock);
}

/* What an arrival releases. Local, or at cluster scope: everything. Remote at default scope: only
 * that reads are complete (R3). Relaxed: only the order of the thread's instructions. */
static void release(sim_warp *w, const sim_insn *in, uint32_t lane, sim_mbarrier *b, bool remote) {
  sim_machine *m = w->machine;
  sim_thread *t = hd_sim_thread(w, lane);
  bool relaxed = in->sem == SIM_SEM_RELAXED;
  sim_agent self = hd_sim_thread_agent(w, lane);
  if (m->program->has_tensor)
    release_all(m, &b->arriving_order, t, self);
  if (!relaxed && in->scope >= SIM_SCOPE_CLUSTER)
    release_all(m, &b->arriving_cluster, t, self);
  if (!relaxed && !remote)
    release_all(m, &b->arriving, t, self);
  else
    release_part(m, &b->arriving.order, &t->vc.order, t, self);
  if (!relaxed && remote)
    release_part(m, &b->arriving.reads, &t->vc.reads, t, self);
  t->clock++;
}

/* Records each thread's last arrival, for mbarrier.inval. */
static void note_arrival(sim_warp *w, const sim_insn *in, uint32_t lane, sim_mbarrier *b) {
  sim_waited now = {.warp = w,
                    .insn = in,
                    .lane = lane,
                    .agent = hd_sim_thread_agent(w, lane),
                    .clock = hd_sim_thread(w, lane)->clock};
  if (!w->machine->program->has_inval)
    return;
  for (uint32_t i = 0; i < b->n_arrived; i++)
    if (b->arrived[i].agent == now.agent) {
      b->arrived[i] = now;
      return;
    }
  HD_PUSH(b->arrived, b->n_arrived, b->arrived_cap, now);
}

static sim_step expect(sim_warp *w, const sim_insn *in, uint32_t lane, sim_mbarrier *b,
                       uint32_t n_bytes) {
  b->tx += n_bytes;
  if (b->tx > MAX_TX)
    return hd_sim_fault(w->machine, "tx", w, lane, in,
                        "the mbarrier at shared byte %u expects %lld bytes, at most %d", b->offset,
                        (long long)b->tx, MAX_TX);
  return SIM_NEXT;
}

static sim_step arrive_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  const sim_opnd *o = &in->opnd[in->n_dst];
  sim_access a;
  sim_cta *cta;
  uint32_t offset, count = 1;
  sim_mbarrier *b;
  if (find(w, in, lane, o, &a, &cta, &offset) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
    return SIM_STOP;
  uint32_t value = in->n_opnds > in->n_dst + 1u ? (uint32_t)hd_sim_read_lane(w, &o[1], lane) : 1;
  if (in->flags & SIM_F_EXPECT) {
    if (expect(w, in, lane, b, value) == SIM_STOP)
      return SIM_STOP;
  } else {
    count = value;
  }
  if (count == 0 || count > b->pending)
    return hd_sim_fault(m, "arrivals", w, lane, in,
                        "%u arrivals at the mbarrier at shared byte %u of cta %u, which waits for "
                        "%u more in phase %u", count, offset, cta->index, b->pending, b->phase);
  uint64_t scratch[32];
  if (in->n_dst)
    hd_sim_dst(w, &in->opnd[0], scratch)[lane] = b->phase;
  if (hd_sim_phase_arrive(m, w, lane, in, &hd_sim_thread(w, lane)->vc, cta, b) == SIM_STOP ||
      hd_sim_reach(&a, cta) == SIM_STOP)
    return SIM_STOP;
  hd_sim_phase_follow(w, lane, b);
  note_arrival(w, in, lane, b);
  release(w, in, lane, b, cta != w->cta);
  b->pending -= count;
  if (check_early(m, w, lane, in, b) == SIM_STOP)
    return SIM_STOP;
  hd_sim_mbarrier_advance(m, cta, b);
  return SIM_NEXT;
}

static sim_step expect_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_access a;
  sim_cta *cta;
  uint32_t offset;
  sim_mbarrier *b;
  if (find(w, in, lane, &in->opnd[0], &a, &cta, &offset) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
    return SIM_STOP;
  if (hd_sim_reach(&a, cta) == SIM_STOP || hd_sim_phase_expect(w, in, lane, cta, b) == SIM_STOP)
    return SIM_STOP;
  return expect(w, in, lane, b, (uint32_t)hd_sim_read_lane(w, &in->opnd[1], lane));
}

static sim_step exec_init(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, init_lane);
}
static sim_step exec_inval(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, inval_lane);
}
static sim_step exec_arrive(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, arrive_lane);
}
static sim_step exec_expect(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, expect_lane);
}

static void acquire_phase(sim_warp *w, const sim_insn *in, uint32_t mask, const sim_mbarrier *b) {
  sim_machine *m = w->machine;
  if (m->program->has_tensor) {
    sim_lanes lanes;
    hd_sim_lanes_begin(m, &lanes);
    SIM_LANES(l, mask)
    hd_sim_lanes_join(m, &lanes, &hd_sim_thread(w, l)->issuer->heard, &b->done_order);
    hd_sim_lanes_end(&lanes);
  }
  if (in->sem == SIM_SEM_RELAXED || !mask) {
    SIM_LANES(l, mask) hd_sim_clock_join(m, &hd_sim_thread(w, l)->vc.order, &b->done.order);
    w->dirty |= mask != 0;
    return;
  }
  hd_sim_acquire(m, w, mask, &b->done);
  if (in->scope >= SIM_SCOPE_CLUSTER)
    hd_sim_acquire(m, w, mask, &b->done_cluster);
}

/* Blocks until the phase is complete, or returns false: at once, as its time limit allows (a wait
 * outside of a loop is a bug that must be found), or when the scheduler finds that nothing else can
 * run. */
static sim_step exec_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_group *g = &w->group[w->current];
  uint32_t over = 0;
  sim_mbarrier *b = NULL, *waits = NULL, *each[32], *same = NULL;
  sim_cta *cta;
  SIM_LANES(l, mask) {
    sim_access a;
    uint32_t offset, value = (uint32_t)hd_sim_read_lane(w, &in->opnd[2], l);
    if (find(w, in, l, &in->opnd[1], &a, &cta, &offset) == SIM_STOP ||
        check_own(w, in, l, cta) == SIM_STOP ||
        hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
      return SIM_STOP;
    bool done = in->flags & SIM_F_PARITY ? (b->phase & 1) != (value & 1) : b->phase != value;
    over |= (uint32_t)done << l;
    waits = done ? waits : b;
    each[l] = b;
    same = l == (uint32_t)__builtin_ctz(mask) || same == b ? b : NULL;
  }
  uint8_t *site = &m->waited[in - m->program->insn];
  bool impatient = !g->entered && (w->refusals < 3 || *site < 2 || hd_sim_random(m) % 2 == 0);
  if (waits && !g->give_up && !impatient) {
    g->entered = true; /* from now on it blocks */
    g->mbarrier = waits;
    hd_sim_block(w, SIM_WAIT_MBARRIER, waits->offset, waits->phase);
    return SIM_WAIT;
  }
  *site = waits || *site == 2 ? 2 : 1;
  w->refusals += waits != NULL;
  g->give_up = false;
  g->entered = false;
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) dst[l] = over >> l & 1;
  SIM_LANES(l, over)
  if (hd_sim_phase_passed(w, in, l, cta, each[l]) == SIM_STOP)
    return SIM_STOP;
  if (same)
    acquire_phase(w, in, over, same);
  else
    SIM_LANES(l, over) acquire_phase(w, in, 1u << l, each[l]);
  return SIM_NEXT;
}

/* ---- decoding ---- */

heddle_status hd_sim_decode_mbarrier(sim_decode *d, sim_insn *in) {
  hd_sim_take_order(d, in);
  hd_sim_take_space(d, in);
  if (!hd_sim_take(d, "b64"))
    return HEDDLE_UNSUPPORTED;
  if (hd_sim_take(d, "test_wait") || hd_sim_take(d, "try_wait")) {
    in->exec = exec_wait;
    in->n_dst = 1;
    if (hd_sim_take(d, "parity"))
      in->flags |= SIM_F_PARITY;
    bool fits = in->n_opnds >= 3 && in->n_opnds <= 4 && in->opnd[1].kind == SIM_ADDR;
    return fits ? HEDDLE_OK : HEDDLE_INVALID;
  }
  if (hd_sim_take(d, "arrive")) {
    in->exec = exec_arrive;
    if (hd_sim_take(d, "expect_tx"))
      in->flags |= SIM_F_EXPECT;
    in->n_dst = in->n_opnds > 0 && in->opnd[0].kind != SIM_ADDR;
    uint32_t least = in->n_dst + 1u + ((in->flags & SIM_F_EXPECT) != 0);
    bool fits = in->n_opnds >= least && in->n_opnds <= in->n_dst + 2u &&
                in->opnd[in->n_dst].kind == SIM_ADDR;
    return fits ? HEDDLE_OK : HEDDLE_INVALID;
  }
  bool init = hd_sim_take(d, "init"), inval = !init && hd_sim_take(d, "inval");
  if (!init && !inval && !hd_sim_take(d, "expect_tx"))
    return HEDDLE_UNSUPPORTED;
  in->exec = init ? exec_init : inval ? exec_inval : exec_expect;
  ((sim_program *)d->program)->has_inval |= inval;
  return hd_sim_check_operands(d, in->n_opnds == (inval ? 1 : 2) && in->opnd[0].kind == SIM_ADDR);
}
