/* Sim/sim_tmem.c: tensor memory: its cells, and the operations on them (R9). */
#include "Sim/sim_tmem.h"
#include "Support/memory.h"

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

void hd_sim_tensor_stop(sim_machine *m, sim_cta *cta, bool all) {
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

sim_async *hd_sim_tensor_issue(sim_warp *w, uint32_t lane, const sim_insn *in,
                               sim_complete *complete) {
  sim_async *op = new_op(w, lane, in, complete);
  sim_issuer *issuer = hd_sim_thread(w, lane)->issuer;
  if (in->op != SIM_OP_COMMIT) {
    sim_issued record = {.insn = in, .clock = op->self_clock};
    HD_PUSH(issuer->issued, issuer->n_issued, issuer->cap, record);
    /* Its accesses to shared memory are ordered after what both the thread and the view hold. */
    hd_sim_vc_meet(w->machine, &op->vc, &op->tensor->view);
  }
  op->tensor->number = issuer->n_issued;
  return op;
}

/* A load or store is ordered after what the views of all its lanes have in common. */
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

sim_access hd_sim_tensor_access(sim_machine *m, const sim_async *op, uint8_t kind) {
  bool store = op->insn->op == SIM_OP_ST, move = store || op->insn->op == SIM_OP_LD;
  uint32_t local = move ? m->agent_mover + 2 * op->warp->index + store
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
