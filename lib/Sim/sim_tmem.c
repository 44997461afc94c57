/* Sim/sim_tmem.c: tensor memory: its cells, who knows what of them (R9), fences. */
#include "Sim/sim_tmem.h"
#include "Support/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

void hd_sim_tensor_forget(sim_tensor *t, uint32_t first, uint32_t n) {
  for (uint32_t lane = 0; lane < SIM_TENSOR_LANES; lane++)
    for (uint32_t c = first; c < first + n; c++)
      t->memory.cell[lane * SIM_TENSOR_COLUMNS + c] =
          (sim_cell){.writer = SIM_NO_AGENT, .reader = SIM_NO_AGENT};
}

void hd_sim_tensor_start(sim_machine *m, sim_cta *cta) {
  if (!m->program->has_tensor)
    return;
  uint64_t n_cells = SIM_TENSOR_LANES * SIM_TENSOR_COLUMNS;
  sim_tensor *t = cta->tensor = hd_xzalloc(sizeof *t);
  t->memory = (sim_memory){.data = hd_xzalloc(4 * n_cells), .n_bytes = 4 * n_cells, .cta = cta,
                           .cell = hd_xmalloc(sizeof(sim_cell) * n_cells), .shift = 2,
                           .column = t->column};
  hd_sim_tensor_forget(t, 0, SIM_TENSOR_COLUMNS);
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    cta->thread[i].issuer = hd_xzalloc(sizeof(sim_issuer));
    hd_sim_vc_init(m, &cta->thread[i].issuer->view);
    hd_sim_vc_init(m, &cta->thread[i].issuer->behind);
    hd_sim_vc_init(m, &cta->thread[i].issuer->heard);
  }
  for (uint32_t i = 0; i < m->n_warps; i++) {
    cta->warp[i].mover = hd_xzalloc(sizeof(sim_mover));
    cta->warp[i].mover->loading = hd_xzalloc(sizeof(uint32_t) * m->program->n_regs);
  }
}

static void stop_issuers(sim_machine *m, sim_cta *cta, bool all) {
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    sim_issuer *issuer = cta->thread[i].issuer;
    if (!issuer)
      continue;
    hd_sim_vc_free(m, &issuer->view);
    hd_sim_vc_free(m, &issuer->behind);
    hd_sim_vc_free(m, &issuer->heard);
    if (all) {
      hd_free(issuer->issued);
      hd_free(issuer);
      cta->thread[i].issuer = NULL;
    }
  }
}

void hd_sim_tensor_stop(sim_machine *m, sim_cta *cta, bool all) {
  stop_issuers(m, cta, all);
  for (uint32_t i = 0; i < m->n_warps && cta->tensor; i++) {
    hd_free(cta->warp[i].mover->loading);
    hd_free(cta->warp[i].mover);
    cta->warp[i].mover = NULL;
  }
  if (cta->tensor) {
    hd_free(cta->tensor->memory.data);
    hd_free(cta->tensor->memory.cell);
    hd_free(cta->tensor);
  }
  cta->tensor = NULL;
}

/* ---- operations ---- */

static sim_async *new_op(sim_warp *w, uint32_t lane, const sim_insn *in, sim_complete *complete) {
  sim_async *op = hd_sim_async_new(w, lane, in, complete);
  op->tensor = hd_xzalloc(sizeof *op->tensor);
  hd_sim_vc_init(w->machine, &op->tensor->view);
  hd_sim_vc_join(w->machine, &op->tensor->view, &hd_sim_thread(w, lane)->issuer->view);
  return op;
}

void hd_sim_tensor_op_free(const sim_machine *m, sim_tensor_op *op) {
  if (!op)
    return;
  hd_sim_vc_free(m, &op->view);
  hd_free(op->value);
  hd_free(op);
}

sim_async *hd_sim_tensor_issue(sim_warp *w, uint32_t lane, const sim_insn *in,
                               sim_complete *complete) {
  sim_async *op = new_op(w, lane, in, complete);
  sim_issuer *issuer = hd_sim_thread(w, lane)->issuer;
  if (in->op != SIM_OP_COMMIT) {
    sim_issued record = {.insn = in, .clock = op->self_clock};
    HD_PUSH(issuer->issued, issuer->n_issued, issuer->cap, record);
    /* Of shared memory it sees what its thread does, where the view holds that, too. */
    hd_sim_vc_meet(w->machine, &op->vc, &op->tensor->view);
  }
  op->tensor->number = issuer->n_issued;
  return op;
}

/* A move knows what the views of all its lanes hold. */
sim_async *hd_sim_tensor_move(sim_warp *w, uint32_t mask, const sim_insn *in,
                              sim_complete *complete) {
  sim_async *op = new_op(w, (uint32_t)__builtin_ctz(mask), in, complete);
  SIM_LANES(l, mask)
  hd_sim_vc_meet(w->machine, &op->tensor->view, &hd_sim_thread(w, l)->issuer->view);
  op->mask = mask;
  op->tensor->number = ++w->mover->n_issued[in->op == SIM_OP_ST];
  return op;
}

void hd_sim_tensor_done(sim_machine *m, const sim_async *op) {
  sim_issuer *issuer = hd_sim_thread(op->warp, op->lane)->issuer;
  hd_sim_vc_join(m, &issuer->behind, &op->tensor->view);
  issuer->n_done++;
}

static bool is_move(const sim_async *op) {
  return op->insn->op == SIM_OP_LD || op->insn->op == SIM_OP_ST;
}

static uint32_t mover_agent(const sim_machine *m, const sim_warp *w, bool store) {
  return m->agent_mover + 2 * w->index + store;
}

sim_access hd_sim_tensor_access(sim_machine *m, const sim_async *op, uint8_t kind) {
  uint32_t local = is_move(op) ? mover_agent(m, op->warp, op->insn->op == SIM_OP_ST)
                               : m->agent_tensor + op->warp->index * 32 + op->lane;
  return (sim_access){.m = m, .warp = op->warp, .lane = op->lane, .insn = op->insn,
                      .view = {&op->tensor->view, SIM_NO_AGENT, 0},
                      .agent = hd_sim_agent(op->warp->cta, local), .clock = op->tensor->number,
                      .kind = kind, .async = true, .tensor = op->tensor};
}

sim_access hd_sim_operand_access(sim_machine *m, const sim_async *op) {
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  a.view = (sim_view){&op->vc, op->self, op->self_clock};
  a.tensor = NULL;
  return a;
}

uint32_t hd_sim_tensor_ctas(const sim_async *op, sim_cta *cta[2]) {
  sim_cta *own = op->warp->cta;
  cta[0] = own;
  if (op->insn->cta_group == 1)
    return 1;
  uint32_t even = own->index - own->rank % 2;
  cta[0] = own->machine->cta[even];
  cta[1] = own->machine->cta[even + 1];
  return 2;
}

/* ---- cells ---- */

sim_step hd_sim_tensor_cells(const sim_access *a, sim_cta *cta, uint32_t lane, uint32_t column,
                             uint32_t n, uint32_t **at) {
  sim_tensor *t = cta ? cta->tensor : NULL;
  if (!t || cta->done)
    return hd_sim_fault(a->m, "R9", a->warp, a->lane, a->insn,
                        "uses tensor memory of a CTA that has left");
  if (lane >= SIM_TENSOR_LANES || column >= SIM_TENSOR_COLUMNS || n > SIM_TENSOR_COLUMNS - column)
    return hd_sim_fault(
        a->m, "bounds", a->warp, a->lane, a->insn,
        "lane %u, columns [%u, +%u) of tensor memory; legal: lanes below 128 and columns below 512",
        lane, column, n);
  for (uint32_t c = column; c < column + n; c++)
    if (t->column[c] == 0)
      return hd_sim_fault(a->m, "tmem", a->warp, a->lane, a->insn,
                          "column %u of tensor memory of cta %u is not allocated", c, cta->index);
  uint64_t index = (uint64_t)lane * SIM_TENSOR_COLUMNS + column;
  *at = (uint32_t *)(void *)t->memory.data + index;
  return hd_sim_check(a, &t->memory, 4 * index, 4ull * n);
}

bool hd_sim_tensor_written(const sim_cta *cta, uint32_t lane, uint32_t column) {
  return cta->tensor->memory.cell[lane * SIM_TENSOR_COLUMNS + column].flags & SIM_CELL_WRITTEN;
}

/* ---- the pairs that are ordered by issue ---- */

/* The thread fenced behind its operation, and the view holds the fence. */
static bool issue_is_ordered(const sim_vc *view, const sim_cta *cta, uint32_t thread,
                             uint32_t issued_at) {
  const sim_thread *t = &cta->thread[thread];
  for (uint32_t i = t->n_fences; i-- > 0 && t->fence[i].clock > issued_at;)
    if ((t->fence[i].what & SIM_FENCE_TENSOR) &&
        hd_sim_clock_has(&view->full, hd_sim_agent(cta, thread), t->fence[i].clock + 1))
      return true;
  return false;
}

static bool is_pair(const sim_issued *before, const sim_issued *mma) {
  return before->insn->op == SIM_OP_CP || (before->d == mma->d && before->shape == mma->shape);
}

bool hd_sim_tensor_pipelined(const sim_access *a, sim_agent agent, uint32_t at) {
  const sim_machine *m = a->m;
  if (agent == a->agent && at == a->clock)
    return true; /* the same operation: D is read, then written */
  uint32_t local = hd_sim_local(agent);
  const sim_cta *cta = m->cta[agent >> SIM_AGENT_SHIFT];
  if (a->insn->op != SIM_OP_MMA || local < m->agent_tensor ||
      local >= m->agent_tensor + m->n_warps * 32)
    return false;
  const sim_issuer *before = cta->thread[local - m->agent_tensor].issuer;
  const sim_issued *was = &before->issued[at - 1];
  const sim_issuer *now = a->warp->cta->thread[a->warp->index * 32 + a->lane].issuer;
  if (!is_pair(was, &now->issued[a->clock - 1]))
    return false;
  if (before == now)
    return at < a->clock;
  if (!issue_is_ordered(&a->tensor->view, cta, local - m->agent_tensor, was->clock))
    return false;
  hd_sim_vc_raise(m, &a->tensor->view, agent, at); /* over before this one, so known with it */
  return true;
}

/* Must one of the thread's operations run before this mma? */
static bool holds_up(const sim_async *op, const sim_cta *cta, uint32_t thread,
                     const sim_issued *mma) {
  const sim_issuer *other = cta->thread[thread].issuer;
  for (uint32_t i = other->n_done; i < other->n_issued; i++)
    if (is_pair(&other->issued[i], mma) &&
        issue_is_ordered(&op->tensor->view, cta, thread, other->issued[i].clock))
      return true;
  return false;
}

bool hd_sim_tensor_is_next(const sim_async *op) {
  const sim_issuer *issuer = hd_sim_thread(op->warp, op->lane)->issuer;
  sim_cta *cta[2];
  if (issuer->n_done + 1 != op->tensor->number)
    return false;
  uint32_t n = op->insn->op == SIM_OP_MMA ? hd_sim_tensor_ctas(op, cta) : 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t t = 0; t < cta[i]->n_threads; t++)
      if (cta[i]->thread[t].issuer != issuer &&
          holds_up(op, cta[i], t, &issuer->issued[op->tensor->number - 1]))
        return false;
  return true;
}

/* ---- fences ---- */

static sim_step exec_before(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_vc_join_tensor(w->machine, &t->vc, &t->issuer->view);
    sim_fence f = {.clock = t->clock++, .what = SIM_FENCE_TENSOR};
    HD_PUSH(t->fence, t->n_fences, t->fence_cap, f);
  }
  w->dirty = true;
  return SIM_NEXT;
}

/* What they know, or heard, enters their views. */
static void see(sim_warp *w, uint32_t mask, bool heard) {
  sim_lanes lanes;
  hd_sim_lanes_begin(w->machine, &lanes);
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    hd_sim_lanes_join(w->machine, &lanes, &t->issuer->view, heard ? &t->issuer->heard : &t->vc);
  }
  hd_sim_lanes_end(&lanes);
}

static sim_step exec_after(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  see(w, mask, false);
  see(w, mask, true);
  return SIM_NEXT;
}

/* ---- decoding ---- */

heddle_status hd_sim_decode_tcgen05(sim_decode *d, sim_insn *in) {
  sim_program *g = (sim_program *)d->program;
  g->has_tensor = true;
  in->cta_group = hd_sim_take(d, "cta_group::1") ? 1 : hd_sim_take(d, "cta_group::2") ? 2 : 0;
  g->cta_groups |= in->cta_group;
  if (hd_sim_take(d, "fence::before_thread_sync") || hd_sim_take(d, "fence::after_thread_sync")) {
    in->exec = strstr(d->mod[1], "before") ? exec_before : exec_after;
    return in->n_opnds == 0 ? HEDDLE_OK : HEDDLE_INVALID;
  }
  if (hd_sim_take(d, "ld") || hd_sim_take(d, "st"))
    return hd_sim_decode_tensor_move(d, in, d->mod[1][0] == 's');
  if (hd_sim_take(d, "wait::ld") || hd_sim_take(d, "wait::st"))
    return hd_sim_decode_tensor_wait(d, in, d->mod[1][6] == 's');
  if (!in->cta_group)
    return HEDDLE_UNSUPPORTED;
  return hd_sim_take(d, "mma")      ? hd_sim_decode_tensor_mma(d, in)
         : hd_sim_take(d, "cp")     ? hd_sim_decode_tensor_cp(d, in)
         : hd_sim_take(d, "commit") ? hd_sim_decode_tensor_commit(d, in)
                                    : hd_sim_decode_tensor_alloc(d, in);
}
