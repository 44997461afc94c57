/* Sim/sim_copy.c: cp.async, cp.async.bulk: issue, completion, groups. */
#include <string.h>

#include "Sim/sim_machine.h"
#include "Sim/sim_reduce.h"
#include "Support/diag.h"

/* ---- cp.async ---- */

static sim_step complete_lane(sim_machine *m, sim_async *op, uint32_t lane) {
  sim_agent agent = hd_sim_agent(op->warp->cta, m->agent_cp + op->warp->index * 32 + lane);
  op->lane = lane;
  op->self = hd_sim_thread_agent(op->warp, lane);
  op->self_clock = op->lane_clock[lane];
  sim_access a = hd_sim_async_access(m, op, agent, op->lane_number[lane], SIM_READ, false);
  sim_memory *from = NULL, *to;
  uint64_t from_at = 0, to_at;
  if (op->lane_bytes[lane] &&
      (hd_sim_resolve_global(&a, op->lane_global[lane], op->lane_bytes[lane], 1, &from, &from_at) ==
           SIM_STOP ||
       hd_sim_check(&a, from, from_at, op->lane_bytes[lane]) == SIM_STOP))
    return SIM_STOP;
  a.kind = SIM_WRITE;
  if (hd_sim_resolve(&a, SIM_SHARED_CTA, op->lane_shared[lane], op->n_bytes, op->n_bytes, &to,
                     &to_at) == SIM_STOP ||
      hd_sim_check(&a, to, to_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  memset(to->data + to_at, 0, op->n_bytes);
  if (from)
    memcpy(to->data + to_at, from->data + from_at, op->lane_bytes[lane]);
  return SIM_NEXT;
}

static sim_step complete_cp(sim_machine *m, sim_async *op) {
  SIM_LANES(l, op->mask)
  if (complete_lane(m, op, l) == SIM_STOP)
    return SIM_STOP;
  op->warp->cp_landed += op->awaited;
  return SIM_NEXT;
}

static sim_step fill_lane(sim_warp *w, const sim_insn *in, sim_async *op, uint32_t lane) {
  uint32_t n = (uint32_t)in->opnd[2].imm, source = n;
  if (in->n_opnds > 3 && !(in->n_opnds == 4 && (in->flags & SIM_F_CACHE_HINT)))
    source = (uint32_t)hd_sim_read_lane(w, &in->opnd[3], lane);
  op->n_bytes = n;
  op->lane_bytes[lane] = source;
  op->lane_shared[lane] = (uint32_t)hd_sim_address(w, &in->opnd[0], lane);
  op->lane_global[lane] = hd_sim_address(w, &in->opnd[1], lane);
  op->lane_number[lane] = ++hd_sim_thread(w, lane)->cp_issued;
  op->lane_clock[lane] = hd_sim_thread(w, lane)->clock++;
  if (source > n || op->lane_global[lane] % n || op->lane_shared[lane] % n)
    return hd_sim_fault(w->machine, "alignment", w, lane, in,
                        "%u of %u bytes from 0x%llx to shared byte %u; legal: multiples of %u",
                        source, n, (unsigned long long)op->lane_global[lane],
                        hd_sim_offset(op->lane_shared[lane]), n);
  return SIM_NEXT;
}

/* One operation for all lanes with the same clock. */
static sim_step exec_cp(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  while (mask) {
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    sim_async *op = hd_sim_async_new(w, first, in, complete_cp);
    op->mask = 0;
    SIM_LANES(l, mask)
    if (hd_sim_vc_same(m, &hd_sim_thread(w, first)->vc, &hd_sim_thread(w, l)->vc)) {
      op->mask |= 1u << l;
      if (fill_lane(w, in, op, l) == SIM_STOP) {
        hd_sim_async_free(m, op);
        return SIM_STOP;
      }
    }
    mask &= ~op->mask;
    if (hd_sim_async_push(m, op) == SIM_STOP)
      return SIM_STOP;
  }
  return SIM_NEXT;
}

static void commit_lane(sim_warp *w, uint32_t lane) {
  sim_thread *t = hd_sim_thread(w, lane);
  HD_PUSH(t->cp_group, t->n_cp_groups, t->cp_group_cap, t->cp_issued);
}

static sim_step exec_cp_commit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) commit_lane(w, l);
  return SIM_NEXT;
}

/* Whether all cp.async of the lane up to `number` are complete; the first other will wake w. */
static bool cp_done(const sim_machine *m, const sim_warp *w, uint32_t lane, uint32_t number) {
  for (uint32_t i = 0; i < m->n_pending; i++) {
    sim_async *op = m->pending[i];
    if (op->complete == complete_cp && op->warp == w && (op->mask >> lane & 1) &&
        op->lane_number[lane] <= number) {
      op->awaited = true;
      return false;
    }
  }
  return true;
}

static uint32_t covered(const sim_thread *t, uint32_t may_stay) {
  return t->n_cp_groups > may_stay ? t->cp_group[t->n_cp_groups - 1 - may_stay] : 0;
}

static sim_step exec_cp_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_group *g = &w->group[w->current];
  uint32_t may_stay = in->n_opnds ? (uint32_t)in->opnd[0].imm : 0;
  if (in->n_opnds == 0 && !g->entered) /* wait_all includes what was not committed */
    SIM_LANES(l, mask) commit_lane(w, l);
  g->entered = true;
  SIM_LANES(l, mask)
  if (!cp_done(m, w, l, covered(hd_sim_thread(w, l), may_stay))) {
    hd_sim_block(w, SIM_WAIT_CP_ASYNC, 0, may_stay);
    return SIM_WAIT;
  }
  g->entered = false;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    uint32_t number = covered(t, may_stay);
    if (number > t->cp_waited)
      t->cp_waited = number;
    if (number)
      hd_sim_vc_raise(m, &t->vc, hd_sim_agent(w->cta, m->agent_cp + w->index * 32 + l), number);
  }
  w->dirty = true;
  return SIM_NEXT;
}

/* cp.async.mbarrier.arrive: an arrival when all earlier cp.async of the thread are done. */
static sim_step complete_cp_arrive(sim_machine *m, sim_async *op) {
  if (!cp_done(m, op->warp, op->lane, op->group))
    return SIM_WAIT;
  sim_mbarrier *b = op->mbarrier;
  sim_agent agent = hd_sim_agent(op->target, m->agent_cp + op->warp->index * 32 + op->lane);
  if (b->pending == 0)
    return hd_sim_fault(m, "arrivals", op->warp, op->lane, op->insn,
                        "one arrival too many at the mbarrier at shared byte %u", b->offset);
  if (hd_sim_phase_land(m, op) == SIM_STOP)
    return SIM_STOP;
  if (op->group)
    hd_sim_vc_raise(m, &b->arriving, agent, op->group);
  b->pending--;
  hd_sim_mbarrier_advance(m, op->target, b);
  return SIM_NEXT;
}

static sim_step exec_cp_arrive(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  SIM_LANES(l, mask) {
    sim_access a = hd_sim_access(w, l, in, SIM_READ);
    uint64_t address = hd_sim_read_lane(w, &in->opnd[0].vec[0], l) + (uint64_t)in->opnd[0].imm;
    sim_cta *cta;
    uint32_t offset;
    sim_mbarrier *b;
    if (hd_sim_shared(&a, address, &cta, &offset) == SIM_STOP ||
        hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
      return SIM_STOP;
    sim_async *op = hd_sim_async_new(w, l, in, complete_cp_arrive);
    op->mbarrier = b;
    op->group = hd_sim_thread(w, l)->cp_issued;
    b->pending += !(in->flags & SIM_F_NOINC);
    if (hd_sim_async_push(m, op) == SIM_STOP)
      return SIM_STOP;
  }
  return SIM_NEXT;
}

/* ---- bulk loads: global to shared, signalling an mbarrier ---- */

static sim_step complete_bulk_load(sim_machine *m, sim_async *op) {
  sim_agent agent = hd_sim_mbarrier_agent(m, op->target, op->mbarrier);
  sim_access a = hd_sim_async_access(m, op, agent, op->mbarrier->phase + 1, SIM_READ, true);
  sim_memory *from, *to;
  uint64_t from_at, to_at;
  uint64_t shared = op->shared | (uint64_t)op->target->rank << SIM_RANK_SHIFT;
  if (hd_sim_resolve_global(&a, op->global, op->n_bytes, 16, &from, &from_at) == SIM_STOP ||
      hd_sim_check(&a, from, from_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  a.kind = SIM_WRITE;
  if (hd_sim_resolve(&a, SIM_SHARED_CLUSTER, shared, op->n_bytes, 16, &to, &to_at) == SIM_STOP ||
      hd_sim_check(&a, to, to_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  memcpy(to->data + to_at, from->data + from_at, op->n_bytes);
  return hd_sim_mbarrier_complete_tx(m, op, op->n_bytes);
}

static const hd_tmap *tensor_map(sim_warp *w, const sim_insn *in, uint32_t lane, uint64_t address) {
  sim_machine *m = w->machine;
  const hd_variant *v = m->plan->variant;
  uint64_t at = address >= SIM_PARAM_WINDOW ? address - SIM_PARAM_WINDOW : address;
  for (uint32_t i = 0; i < m->program->n_params && i < (uint32_t)v->n_params; i++) {
    if (m->program->param[i].offset != at || v->param[i].arg != HD_ARG_NONE)
      continue;
    if (at % 64 == 0)
      return &m->plan->tmap[v->param[i].tmap];
  }
  hd_sim_fault(m, "tensor-map", w, lane, in, "0x%llx is not a tensor map of the kernel",
               (unsigned long long)address);
  return NULL;
}

static sim_step fill_tensor(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_opnd *o,
                            sim_async *op) {
  uint64_t address = hd_sim_address(w, o, lane);
  op->tmap = tensor_map(w, in, lane, address);
  if (!op->tmap)
    return SIM_STOP;
  if (op->tmap->rank != in->op || o->n != in->op + 1u)
    return hd_sim_fault(w->machine, "tensor-map", w, lane, in,
                        "%u coordinates for a map of rank %d", o->n - 1u, op->tmap->rank);
  for (uint32_t i = 0; i < in->op; i++)
    op->coord[i] = (int32_t)hd_sim_read_lane(w, &o->vec[1 + i], lane);
  op->n_bytes = hd_sim_box_bytes(op->tmap);
  /* Otherwise an H200 aborts the kernel with an illegal instruction. */
  int64_t first = (int64_t)op->coord[0] * hd_sim_element_bytes(op->tmap->elem);
  if (first % 16)
    return hd_sim_fault(w->machine, "alignment:measured", w, lane, in,
                        "a box begins %lld bytes into a row of its tensor; legal: a multiple of 16",
                        (long long)first);
  return SIM_NEXT;
}

static sim_step fill_load(sim_warp *w, const sim_insn *in, uint32_t lane, sim_async *op) {
  const sim_opnd *source = &in->opnd[1];
  if (in->op)
    return fill_tensor(w, in, lane, source, op);
  op->global = hd_sim_address(w, source, lane);
  op->n_bytes = (uint32_t)hd_sim_read_lane(w, &in->opnd[2], lane);
  if (op->n_bytes == 0 || op->n_bytes % 16)
    return hd_sim_fault(w->machine, "alignment", w, lane, in,
                        "copies %u bytes; legal: a positive multiple of 16", op->n_bytes);
  return SIM_NEXT;
}

/* Issues a load to one destination CTA, with the same offsets as in the others. */
static sim_step issue_load(sim_warp *w, const sim_insn *in, uint32_t lane, uint32_t rank,
                           uint32_t shared, uint32_t barrier) {
  sim_machine *m = w->machine;
  sim_access a = hd_sim_access(w, lane, in, SIM_WRITE);
  a.async = true;
  sim_cta *cta;
  uint32_t offset;
  sim_mbarrier *b;
  if (hd_sim_shared(&a, barrier | (uint64_t)rank << SIM_RANK_SHIFT, &cta, &offset) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
    return SIM_STOP;
  sim_async *op = hd_sim_async_new(w, lane, in, in->op ? hd_sim_tensor_load : complete_bulk_load);
  op->target = cta;
  op->shared = shared;
  op->mbarrier = b;
  if (fill_load(w, in, lane, op) == SIM_STOP) {
    hd_sim_async_free(m, op);
    return SIM_STOP;
  }
  b->in_flight++;
  return hd_sim_async_push(m, op);
}

static sim_step load_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  const sim_opnd *d = &in->opnd[0], *bar = &in->opnd[in->op ? 2 : 3];
  uint64_t shared = hd_sim_address(w, d, lane);
  uint64_t barrier = hd_sim_address(w, bar, lane);
  uint32_t rank = (uint32_t)(shared >> SIM_RANK_SHIFT), mask;
  if (!(in->flags & SIM_F_MULTICAST)) {
    if (barrier >> SIM_RANK_SHIFT != rank)
      return hd_sim_fault(m, "mbarrier", w, lane, in,
                          "destination in CTA rank %u, mbarrier in rank %llu", rank,
                          (unsigned long long)(barrier >> SIM_RANK_SHIFT));
    return issue_load(w, in, lane, rank, hd_sim_offset(shared), hd_sim_offset(barrier));
  }
  if (hd_sim_multicast(w, in, lane, &in->opnd[in->op ? 3 : 4], &mask) == SIM_STOP)
    return SIM_STOP;
  SIM_LANES(r, mask)
  if (issue_load(w, in, lane, r, hd_sim_offset(shared), hd_sim_offset(barrier)) == SIM_STOP)
    return SIM_STOP;
  return SIM_NEXT;
}

static sim_step exec_load(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, load_lane);
}

/* ---- bulk stores and reductions: shared to global, in groups ---- */

static sim_step complete_bulk_store(sim_machine *m, sim_async *op) {
  uint32_t thread = op->warp->index * 32 + op->lane;
  sim_agent agent = hd_sim_agent(op->warp->cta, m->agent_bulk_read + thread);
  sim_access a = hd_sim_async_access(m, op, agent, op->group, SIM_READ, true);
  sim_memory *from, *to;
  uint64_t from_at, to_at;
  if (hd_sim_resolve(&a, SIM_SHARED_CTA,
                     op->shared | (uint64_t)op->target->rank << SIM_RANK_SHIFT, op->n_bytes, 16,
                     &from, &from_at) == SIM_STOP ||
      hd_sim_check(&a, from, from_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  bool reduces = op->insn->flags & SIM_F_REDUCE;
  a.agent = hd_sim_agent(op->warp->cta, m->agent_bulk_write + thread);
  a.kind = reduces ? SIM_ATOMIC : SIM_WRITE;
  if (hd_sim_resolve_global(&a, op->global, op->n_bytes, 16, &to, &to_at) == SIM_STOP ||
      hd_sim_check(&a, to, to_at, op->n_bytes) == SIM_STOP)
    return SIM_STOP;
  hd_sim_async_move(op, to->data + to_at, from->data + from_at);
  return SIM_NEXT;
}

static sim_step store_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  const sim_opnd *d = &in->opnd[0], *s = &in->opnd[1];
  sim_thread *t = hd_sim_thread(w, lane);
  sim_async *op = hd_sim_async_new(w, lane, in, in->op ? hd_sim_tensor_store : complete_bulk_store);
  op->shared = hd_sim_offset(hd_sim_address(w, s, lane));
  op->group = t->bulk_committed + 1;
  t->bulk_issued++;
  if (in->op) {
    if (fill_tensor(w, in, lane, d, op) == SIM_STOP) {
      hd_sim_async_free(m, op);
      return SIM_STOP;
    }
  } else {
    op->global = hd_sim_address(w, d, lane);
    op->n_bytes = (uint32_t)hd_sim_read_lane(w, &in->opnd[2], lane);
  }
  return hd_sim_async_push(m, op);
}

static sim_step exec_store(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, store_lane);
}

static sim_step exec_bulk_commit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) {
    hd_sim_thread(w, l)->bulk_committed++;
    hd_sim_thread(w, l)->bulk_issued = 0;
  }
  return SIM_NEXT;
}

static bool bulk_done(const sim_machine *m, const sim_warp *w, uint32_t lane, uint32_t group) {
  for (uint32_t i = 0; i < m->n_pending; i++) {
    const sim_async *op = m->pending[i];
    if ((op->complete == complete_bulk_store || op->complete == hd_sim_tensor_store) &&
        op->warp == w && op->lane == lane && op->group <= group)
      return false;
  }
  return true;
}

static sim_step exec_bulk_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  uint32_t may_stay = (uint32_t)in->opnd[0].imm;
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    uint32_t group = t->bulk_committed > may_stay ? t->bulk_committed - may_stay : 0;
    if (!bulk_done(m, w, l, group)) {
      hd_sim_block(w, SIM_WAIT_BULK, 0, may_stay);
      return SIM_WAIT;
    }
  }
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    uint32_t thread = w->index * 32 + l;
    uint32_t group = t->bulk_committed > may_stay ? t->bulk_committed - may_stay : 0;
    if (group && m->agent_bulk_read) {
      hd_sim_vc_raise(m, &t->vc, hd_sim_agent(w->cta, m->agent_bulk_read + thread), group);
      if (!(in->flags & SIM_F_READ))
        hd_sim_vc_raise(m, &t->vc, hd_sim_agent(w->cta, m->agent_bulk_write + thread), group);
    }
  }
  w->dirty = true;
  return SIM_NEXT;
}

/* ---- decoding ---- */

static bool is_address(const sim_insn *in, uint32_t i) {
  return i < in->n_opnds && in->opnd[i].kind == SIM_ADDR;
}

static heddle_status decode_cp(sim_decode *d, sim_insn *in) {
  sim_program *g = (sim_program *)d->program;
  in->exec = exec_cp;
  in->accesses = true;
  g->has_cp_async = true;
  if (!hd_sim_take(d, "shared") && !hd_sim_take(d, "shared::cta"))
    return HEDDLE_UNSUPPORTED;
  hd_sim_take(d, "global");
  hd_sim_take_hints(d, in);
  if (in->n_opnds < 3 || in->n_opnds > 5 || !is_address(in, 0) || !is_address(in, 1) ||
      in->opnd[2].kind != SIM_IMM)
    return HEDDLE_INVALID;
  int64_t n = in->opnd[2].imm;
  return n == 4 || n == 8 || n == 16 ? HEDDLE_OK : HEDDLE_INVALID;
}

static uint8_t take_rank(sim_decode *d) {
  static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d"};
  for (uint8_t i = 0; i < HD_COUNT(ranks); i++)
    if (hd_sim_take(d, ranks[i]))
      return i + 1;
  return 0;
}

static heddle_status decode_bulk_copy(sim_decode *d, sim_insn *in) {
  sim_program *g = (sim_program *)d->program;
  bool tensor = hd_sim_take(d, "tensor");
  in->op = tensor ? take_rank(d) : 0;
  in->accesses = true;
  hd_sim_take(d, "tile");
  hd_sim_take_hints(d, in);
  if (tensor && !in->op)
    return HEDDLE_UNSUPPORTED;
  if (in->flags & SIM_F_REDUCE)
    HD_TRY(tensor ? hd_sim_decode_operation(d, in, false) : hd_sim_decode_reduction(d, in, false));
  if (!hd_sim_take(d, "global"))
    return tensor ? HEDDLE_UNSUPPORTED : hd_sim_decode_peer_copy(d, in);
  if (hd_sim_take(d, "bulk_group")) {
    in->exec = exec_store;
    g->has_bulk_store = true;
    if (tensor) /* rows are cut at the edge of the tensor, at any element */
      g->global_shift = 0;
    if (!hd_sim_take(d, "shared::cta"))
      return HEDDLE_UNSUPPORTED;
    return hd_sim_check_operands(d, in->n_opnds >= (tensor ? 2 : 3) && is_address(in, 0) &&
                                        is_address(in, 1));
  }
  in->exec = exec_load;
  if ((in->flags & SIM_F_REDUCE) ||
      !(hd_sim_take(d, "shared::cluster") || hd_sim_take(d, "shared::cta")) ||
      !hd_sim_take(d, "mbarrier::complete_tx::bytes"))
    return HEDDLE_UNSUPPORTED;
  if (hd_sim_take(d, "multicast::cluster"))
    in->flags |= SIM_F_MULTICAST;
  uint32_t bar = tensor ? 2 : 3, want = bar + 1 + ((in->flags & SIM_F_MULTICAST) != 0) +
                                ((in->flags & SIM_F_CACHE_HINT) != 0);
  return hd_sim_check_operands(d, in->n_opnds == want && is_address(in, 0) && is_address(in, 1) &&
                                      is_address(in, bar));
}

static heddle_status decode_bulk(sim_decode *d, sim_insn *in) {
  if (hd_sim_take(d, "commit_group")) {
    in->exec = exec_bulk_commit;
    return HEDDLE_OK;
  }
  if (hd_sim_take(d, "wait_group")) {
    in->exec = exec_bulk_wait;
    if (hd_sim_take(d, "read"))
      in->flags |= SIM_F_READ;
    return in->n_opnds == 1 && in->opnd[0].kind == SIM_IMM ? HEDDLE_OK : HEDDLE_INVALID;
  }
  if (hd_sim_take(d, "prefetch")) {
    in->exec = hd_sim_exec_nothing;
    for (uint32_t i = 1; i < d->n_mods; i++)
      d->taken[i] = true;
    return HEDDLE_OK;
  }
  return decode_bulk_copy(d, in);
}

heddle_status hd_sim_decode_copy(sim_decode *d, sim_insn *in) {
  if (hd_sim_take(d, "reduce"))
    in->flags |= SIM_F_REDUCE;
  if (!hd_sim_take(d, "async"))
    return HEDDLE_UNSUPPORTED;
  if (hd_sim_take(d, "bulk"))
    return decode_bulk(d, in);
  if (hd_sim_take(d, "commit_group")) {
    in->exec = exec_cp_commit;
    return HEDDLE_OK;
  }
  bool all = hd_sim_take(d, "wait_all");
  if (all || hd_sim_take(d, "wait_group")) {
    in->exec = exec_cp_wait;
    return all || (in->n_opnds == 1 && in->opnd[0].kind == SIM_IMM) ? HEDDLE_OK : HEDDLE_INVALID;
  }
  if (hd_sim_take(d, "mbarrier")) {
    in->exec = exec_cp_arrive;
    if (hd_sim_take(d, "noinc"))
      in->flags |= SIM_F_NOINC;
    hd_sim_take_space(d, in);
    return hd_sim_take(d, "arrive") && hd_sim_take(d, "b64") && is_address(in, 0)
               ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  return decode_cp(d, in);
}
