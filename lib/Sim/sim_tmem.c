/* Sim/sim_tmem.c: tensor memory: its cells, who knows what of them (R9), allocation, fences. */
#include "Sim/sim_tmem.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static void *zeroed(size_t n_bytes) {
  void *p = hd_xmalloc(n_bytes + 1);
  memset(p, 0, n_bytes + 1);
  return p;
}

static void forget_cells(sim_tensor *t, uint32_t first, uint32_t n) {
  for (uint32_t lane = 0; lane < SIM_TENSOR_LANES; lane++)
    for (uint32_t c = first; c < first + n; c++)
      t->memory.cell[lane * SIM_TENSOR_COLUMNS + c] =
          (sim_cell){.writer = SIM_NO_AGENT, .reader = SIM_NO_AGENT};
}

void hd_sim_tensor_start(sim_machine *m, sim_cta *cta) {
  if (!m->program->has_tensor)
    return;
  uint64_t n_cells = SIM_TENSOR_LANES * SIM_TENSOR_COLUMNS;
  sim_tensor *t = cta->tensor = zeroed(sizeof *t);
  t->memory = (sim_memory){.data = zeroed(4 * n_cells), .n_bytes = 4 * n_cells, .cta = cta,
                           .cell = hd_xmalloc(sizeof(sim_cell) * n_cells), .shift = 2,
                           .column = t->column};
  forget_cells(t, 0, SIM_TENSOR_COLUMNS);
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    cta->thread[i].issuer = zeroed(sizeof(sim_issuer));
    hd_sim_clock_init(m, &cta->thread[i].issuer->view);
  }
  for (uint32_t i = 0; i < m->n_warps; i++) {
    cta->warp[i].mover = zeroed(sizeof(sim_mover));
    cta->warp[i].mover->loading = zeroed(sizeof(uint32_t) * m->program->n_regs);
  }
}

static void stop_issuers(sim_machine *m, sim_cta *cta, bool all) {
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    sim_issuer *issuer = cta->thread[i].issuer;
    if (!issuer)
      continue;
    hd_sim_clock_free(m, &issuer->view);
    if (all) {
      free(issuer->issued);
      free(issuer);
      cta->thread[i].issuer = NULL;
    }
  }
}

void hd_sim_tensor_stop(sim_machine *m, sim_cta *cta, bool all) {
  stop_issuers(m, cta, all);
  for (uint32_t i = 0; i < m->n_warps && cta->tensor; i++) {
    free(cta->warp[i].mover->loading);
    free(cta->warp[i].mover);
    cta->warp[i].mover = NULL;
  }
  if (cta->tensor) {
    free(cta->tensor->memory.data);
    free(cta->tensor->memory.cell);
    free(cta->tensor);
  }
  cta->tensor = NULL;
}

/* ---- operations ---- */

static sim_async *new_op(sim_warp *w, uint32_t lane, const sim_insn *in, sim_complete *complete) {
  sim_async *op = hd_sim_async_new(w, lane, in, complete);
  op->tensor = zeroed(sizeof *op->tensor);
  hd_sim_clock_init(w->machine, &op->tensor->view);
  hd_sim_join_know(w->machine, &op->tensor->view, &hd_sim_thread(w, lane)->issuer->view);
  return op;
}

void hd_sim_tensor_op_free(const sim_machine *m, sim_tensor_op *op) {
  if (!op)
    return;
  hd_sim_clock_free(m, &op->view);
  free(op->value);
  free(op);
}

sim_async *hd_sim_tensor_issue(sim_warp *w, uint32_t lane, const sim_insn *in,
                               sim_complete *complete) {
  sim_async *op = new_op(w, lane, in, complete);
  sim_issuer *issuer = hd_sim_thread(w, lane)->issuer;
  if (in->op != SIM_OP_COMMIT) {
    sim_issued record = {.insn = in, .clock = op->self_clock};
    HD_PUSH(issuer->issued, issuer->n_issued, issuer->cap, record);
  }
  op->tensor->number = issuer->n_issued;
  return op;
}

/* A move knows what the views of all its lanes hold. */
sim_async *hd_sim_tensor_move(sim_warp *w, uint32_t mask, const sim_insn *in,
                              sim_complete *complete) {
  sim_async *op = new_op(w, (uint32_t)__builtin_ctz(mask), in, complete);
  SIM_LANES(l, mask)
  hd_sim_meet_know(w->machine, &op->tensor->view, &hd_sim_thread(w, l)->issuer->view);
  op->mask = mask;
  op->tensor->number = ++w->mover->n_issued[in->op == SIM_OP_ST];
  return op;
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
  a.view = (sim_view){&op->know, op->self, op->self_clock};
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
    return hd_sim_fault(a->m, "bounds", a->warp, a->lane, a->insn,
                        "lane %u, columns [%u, +%u) of tensor memory: expected lanes below 128 and "
                        "columns below 512", lane, column, n);
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

/* The thread fenced behind its operation, and the view holds the fence. */
static bool issue_is_known(const sim_access *a, const sim_cta *cta, uint32_t thread,
                           uint32_t issued_at) {
  const sim_thread *t = &cta->thread[thread];
  for (uint32_t i = t->n_fences; i-- > 0 && t->fence[i].clock > issued_at;)
    if ((t->fence[i].what & SIM_FENCE_TENSOR) &&
        hd_sim_knows(&a->view.know->full, hd_sim_agent(cta, thread), t->fence[i].clock + 1))
      return true;
  return false;
}

bool hd_sim_tensor_pipelined(const sim_access *a, sim_agent agent, uint32_t at) {
  const sim_machine *m = a->m;
  if (agent == a->agent && at == a->clock)
    return true; /* the same operation: D is read, then written */
  uint32_t local = agent & ((1u << SIM_AGENT_SHIFT) - 1);
  const sim_cta *cta = m->cta[agent >> SIM_AGENT_SHIFT];
  if (a->insn->op != SIM_OP_MMA || local < m->agent_tensor ||
      local >= m->agent_tensor + m->n_warps * 32)
    return false;
  const sim_issuer *before = cta->thread[local - m->agent_tensor].issuer;
  const sim_issued *was = &before->issued[at - 1];
  const sim_issuer *now = a->warp->cta->thread[a->warp->index * 32 + a->lane].issuer;
  const sim_issued *is = &now->issued[a->clock - 1];
  if (was->insn->op != SIM_OP_CP && (was->d != is->d || was->shape != is->shape))
    return false;
  return before == now ? at < a->clock
                       : issue_is_known(a, cta, local - m->agent_tensor, was->clock);
}

/* ---- fences ---- */

static sim_step exec_before(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_join_know(w->machine, &t->know, &t->issuer->view);
    sim_fence f = {.clock = t->clock++, .what = SIM_FENCE_TENSOR};
    HD_PUSH(t->fence, t->n_fences, t->fence_cap, f);
  }
  w->dirty = true;
  return SIM_NEXT;
}

static sim_step exec_after(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    hd_sim_join_know(w->machine, &t->issuer->view, &t->know);
  }
  return SIM_NEXT;
}

/* ---- allocation ---- */

/* What all lanes must give alike. */
static sim_step uniform(sim_warp *w, const sim_insn *in, uint32_t mask, const sim_opnd *o,
                        const char *what, uint32_t *value) {
  *value = (uint32_t)hd_sim_read_lane(w, o, (uint32_t)__builtin_ctz(mask));
  SIM_LANES(l, mask)
  if ((uint32_t)hd_sim_read_lane(w, o, l) != *value)
    return hd_sim_fault(w->machine, "uniform", w, l, in, "%s differs from the first lane's", what);
  return SIM_NEXT;
}

static bool is_size(uint32_t n) { return n >= 32 && n <= 512 && (n & (n - 1)) == 0; }

static sim_step check_alloc(sim_warp *w, const sim_insn *in, const sim_tensor *t, uint32_t n) {
  sim_machine *m = w->machine;
  if (!is_size(n))
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "allocates %u columns: expected a power of two from 32 to 512", n);
  if (t->relinquished)
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "allocates after tcgen05.relinquish_alloc_permit");
  if (t->last_size && n > t->last_size)
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "allocates %u columns after an allocation of %u: sizes must not increase",
                        n, t->last_size);
  return SIM_NEXT;
}

/* First columns at which all of `n_ctas` have n free ones: one of them at random, so that nobody
 * takes 0 for granted. 512: none. */
static uint32_t find_columns(sim_machine *m, sim_tensor *const *t, uint32_t n_ctas, uint32_t n) {
  uint32_t chosen = SIM_TENSOR_COLUMNS, n_found = 0;
  for (uint32_t first = 0; first + n <= SIM_TENSOR_COLUMNS; first += 32) {
    bool is_free = true;
    for (uint32_t i = 0; i < n_ctas; i++)
      for (uint32_t c = first; c < first + n; c++)
        is_free &= t[i]->column[c] == 0;
    if (is_free && hd_sim_random(m) % ++n_found == 0)
      chosen = first;
  }
  return chosen;
}

static void take_columns(sim_machine *m, sim_tensor *t, uint32_t first, uint32_t n) {
  for (uint32_t c = first; c < first + n; c++) {
    t->column[c] = (uint16_t)(first + 1);
    for (uint32_t lane = 0; lane < SIM_TENSOR_LANES; lane++)
      ((uint32_t *)(void *)t->memory.data)[lane * SIM_TENSOR_COLUMNS + c] =
          (uint32_t)hd_sim_random(m) | 0x7f800001; /* a NaN */
  }
  forget_cells(t, first, n);
  t->last_size = n;
  t->granted = first + 1;
  t->wanted = 0;
  hd_sim_progress(m);
}

/* cta_group::2: the later of the two warps allocates for both. */
static sim_step grant(sim_warp *w, const sim_insn *in, sim_tensor *t, uint32_t n) {
  sim_machine *m = w->machine;
  sim_tensor *both[2] = {t, NULL};
  uint32_t n_ctas = in->cta_group;
  if (n_ctas == 2) {
    sim_cta *peer = m->cta[w->cta->index ^ 1];
    both[1] = peer ? peer->tensor : NULL;
    t->wanted = n;
    if (!both[1] || !both[1]->wanted)
      return SIM_WAIT;
    if (both[1]->wanted != n)
      return hd_sim_fault(m, "tmem", w, 0, in, "allocates %u columns, its peer %u", n,
                          both[1]->wanted);
  }
  uint32_t first = find_columns(m, both, n_ctas, n);
  if (first == SIM_TENSOR_COLUMNS)
    return SIM_WAIT;
  for (uint32_t i = 0; i < n_ctas; i++)
    take_columns(m, both[i], first, n);
  return SIM_NEXT;
}

static sim_step store_address(sim_warp *w, const sim_insn *in, uint32_t lane, uint32_t value) {
  sim_access a = hd_sim_access(w, lane, in, SIM_WRITE);
  uint64_t offset, address = hd_sim_read_lane(w, &in->opnd[0].vec[0], lane) +
                             (uint64_t)in->opnd[0].imm;
  sim_memory *memory;
  if (hd_sim_resolve(&a, in->space, address, 4, 4, &memory, &offset) == SIM_STOP)
    return SIM_STOP;
  if (memory->cta != w->cta)
    return hd_sim_fault(w->machine, "bounds", w, lane, in,
                        "the address is not in the CTA's own shared memory");
  if (hd_sim_check(&a, memory, offset, 4) == SIM_STOP)
    return SIM_STOP;
  memcpy(memory->data + offset, &value, 4);
  return SIM_NEXT;
}

static sim_step exec_alloc(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_tensor *t = w->cta->tensor;
  uint32_t n;
  if (uniform(w, in, mask, &in->opnd[1], "the number of columns", &n) == SIM_STOP ||
      (!t->granted && check_alloc(w, in, t, n) == SIM_STOP))
    return SIM_STOP;
  sim_step step = t->granted ? SIM_NEXT : grant(w, in, t, n);
  if (step == SIM_WAIT)
    hd_sim_block(w, SIM_WAIT_TENSOR, 0, n);
  if (step != SIM_NEXT)
    return step;
  uint32_t first = t->granted - 1;
  t->granted = 0;
  if (store_address(w, in, (uint32_t)__builtin_ctz(mask), first) == SIM_STOP)
    return SIM_STOP;
  hd_sim_lanesync(w, mask);
  return SIM_NEXT;
}

/* Synchronous: what was waited for needs no fence. */
static bool is_over(const sim_machine *m, const sim_know *know, sim_agent agent, uint32_t at) {
  uint32_t local = agent & ((1u << SIM_AGENT_SHIFT) - 1);
  bool moved = local >= m->agent_mover && local < m->agent_moved;
  return agent == SIM_NO_AGENT ||
         hd_sim_knows(&know->full, moved ? agent - m->agent_mover + m->agent_moved : agent, at);
}

static sim_step check_cell_over(sim_warp *w, const sim_insn *in, const sim_know *know,
                                const sim_cell *c, uint32_t column) {
  sim_machine *m = w->machine;
  sim_agent agent = SIM_NO_AGENT;
  uint32_t place = 0;
  if (!is_over(m, know, c->writer, c->write_clock)) {
    agent = c->writer;
    place = c->write_site;
  } else if (!is_over(m, know, c->reader, c->read_clock)) {
    agent = c->reader;
    place = c->read_site;
  }
  for (uint32_t i = c->more; i && agent == SIM_NO_AGENT; i = m->readers[i - 1].next) {
    if (!is_over(m, know, m->readers[i - 1].agent, m->readers[i - 1].clock)) {
      agent = m->readers[i - 1].agent;
      place = m->readers[i - 1].site;
    }
  }
  if (agent == SIM_NO_AGENT)
    return SIM_NEXT;
  char name[96];
  const sim_insn *other = &m->program->insn[place];
  return hd_sim_find(m, "R9", w, 0, in, other,
                     "frees column %u, not ordered after its use by %s at line %u (`%s`)", column,
                     hd_sim_agent_name(m, agent, name), other->line, other->text);
}

static sim_step exec_dealloc(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_tensor *t = w->cta->tensor;
  const sim_know *know = &hd_sim_thread(w, (uint32_t)__builtin_ctz(mask))->know;
  uint32_t address, n;
  if (uniform(w, in, mask, &in->opnd[0], "the address", &address) == SIM_STOP ||
      uniform(w, in, mask, &in->opnd[1], "the number of columns", &n) == SIM_STOP)
    return SIM_STOP;
  uint32_t held = 0;
  while (address < SIM_TENSOR_COLUMNS && address + held < SIM_TENSOR_COLUMNS &&
         t->column[address + held] == address + 1)
    held++;
  if (held == 0 || held != n)
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "frees %u columns at 0x%x, where an allocation of %u starts", n, address,
                        held);
  for (uint32_t i = 0; i < SIM_TENSOR_LANES * n && !(m->options.off & HD_SIM_NO_RACES); i++) {
    uint32_t column = address + i % n;
    const sim_cell *c = &t->memory.cell[i / n * SIM_TENSOR_COLUMNS + column];
    if (check_cell_over(w, in, know, c, column) == SIM_STOP)
      return SIM_STOP;
  }
  memset(t->column + address, 0, sizeof t->column[0] * n);
  forget_cells(t, address, n);
  hd_sim_progress(m);
  return SIM_NEXT;
}

static sim_step exec_relinquish(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  (void)mask;
  w->cta->tensor->relinquished = true;
  return SIM_NEXT;
}

static sim_step check_issued(sim_warp *w, const sim_insn *in, const sim_know *all) {
  sim_machine *m = w->machine;
  for (uint32_t i = 0; i < w->cta->n_threads; i++) {
    uint32_t n = w->cta->thread[i].issuer->n_issued;
    if (n && !hd_sim_knows(&all->full, hd_sim_agent(w->cta, m->agent_tensor + i), n))
      return hd_sim_find(m, "R9", w, 0, in, w->cta->thread[i].issuer->issued[n - 1].insn,
                         "cta %u leaves while nobody has waited for tcgen05 operations of thread "
                         "%u: tcgen05.commit, and a wait on its mbarrier", w->cta->index, i);
  }
  return SIM_NEXT;
}

sim_step hd_sim_tensor_exit(sim_warp *w, const sim_insn *in, const sim_know *all) {
  const sim_tensor *t = w->cta->tensor;
  uint32_t n = 0;
  for (uint32_t c = 0; t && c < SIM_TENSOR_COLUMNS; c++)
    n += t->column[c] != 0;
  if (n && hd_sim_find(w->machine, "tmem", w, 0, in, NULL,
                       "cta %u leaves with %u columns of tensor memory allocated", w->cta->index,
                       n) == SIM_STOP)
    return SIM_STOP;
  return t ? check_issued(w, in, all) : SIM_NEXT;
}

/* ---- decoding ---- */

static heddle_status decode_manage(sim_decode *d, sim_insn *in, sim_exec *exec, uint32_t n_opnds) {
  in->exec = exec;
  in->aligned = in->lanesync = true;
  bool whole = hd_sim_take(d, "sync") && hd_sim_take(d, "aligned");
  if (!whole)
    return HEDDLE_UNSUPPORTED;
  if (exec == exec_alloc) {
    in->accesses = true;
    hd_sim_take_space(d, in);
  }
  if (n_opnds && !hd_sim_take(d, "b32"))
    return HEDDLE_UNSUPPORTED;
  bool fits = in->n_opnds == n_opnds && (exec != exec_alloc || in->opnd[0].kind == SIM_ADDR);
  return fits ? HEDDLE_OK : HEDDLE_INVALID;
}

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
  if (hd_sim_take(d, "alloc"))
    return decode_manage(d, in, exec_alloc, 2);
  if (hd_sim_take(d, "dealloc"))
    return decode_manage(d, in, exec_dealloc, 2);
  if (hd_sim_take(d, "relinquish_alloc_permit"))
    return decode_manage(d, in, exec_relinquish, 0);
  return hd_sim_take(d, "mma")      ? hd_sim_decode_tensor_mma(d, in)
         : hd_sim_take(d, "cp")     ? hd_sim_decode_tensor_cp(d, in)
         : hd_sim_take(d, "commit") ? hd_sim_decode_tensor_commit(d, in)
                                    : HEDDLE_UNSUPPORTED;
}
