/* Sim/sim_tmem_alloc.c: tcgen05.alloc, dealloc and relinquish_alloc_permit, and the checks when a
 * CTA exits. */
#include <string.h>

#include "Sim/sim_tmem.h"

/* A value that all lanes must agree on. */
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
                        "allocates %u columns; legal: a power of two from 32 to 512", n);
  if (t->relinquished)
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "allocates after tcgen05.relinquish_alloc_permit");
  if (t->last_size && n > t->last_size)
    return hd_sim_fault(m, "tmem", w, 0, in,
                        "allocates %u columns after an allocation of %u: sizes must not increase",
                        n, t->last_size);
  return SIM_NEXT;
}

/* First of n columns that are free in all of `n_ctas` CTAs, chosen at random, so that no kernel
 * relies on column 0. 512: none. */
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
  hd_sim_tensor_forget(t, first, n);
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
  return store_address(w, in, (uint32_t)__builtin_ctz(mask), first);
}

/* dealloc is synchronous and needs no fence::after_thread_sync. Other threads publish what they
 * have waited for by fence::before_thread_sync. */
static bool is_over(const sim_thread *t, sim_agent agent, uint32_t at) {
  return agent == SIM_NO_AGENT || hd_sim_clock_has(&t->issuer->view.full, agent, at) ||
         hd_sim_clock_has(&t->vc.full, agent, at);
}

static sim_step check_cell_over(sim_warp *w, const sim_insn *in, const sim_thread *t,
                                const sim_cell *c, uint32_t column) {
  sim_machine *m = w->machine;
  sim_agent agent = SIM_NO_AGENT;
  uint32_t site = 0;
  if (!is_over(t, c->writer, c->write_clock)) {
    agent = c->writer;
    site = c->write_site;
  } else if (!is_over(t, c->reader, c->read_clock)) {
    agent = c->reader;
    site = c->read_site;
  }
  for (uint32_t i = c->more; i && agent == SIM_NO_AGENT; i = m->readers[i - 1].next) {
    if (!is_over(t, m->readers[i - 1].agent, m->readers[i - 1].clock)) {
      agent = m->readers[i - 1].agent;
      site = m->readers[i - 1].site;
    }
  }
  if (agent == SIM_NO_AGENT)
    return SIM_NEXT;
  char name[96];
  const sim_insn *other = &m->program->insn[site];
  return hd_sim_find(m, "R9", w, 0, in, other,
                     "frees column %u, not ordered after its use by %s at line %u (`%s`)", column,
                     hd_sim_agent_name(m, agent, name), other->line, other->text);
}

static sim_step exec_dealloc(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_tensor *t = w->cta->tensor;
  const sim_thread *thread = hd_sim_thread(w, (uint32_t)__builtin_ctz(mask));
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
    if (check_cell_over(w, in, thread, c, column) == SIM_STOP)
      return SIM_STOP;
  }
  memset(t->column + address, 0, sizeof t->column[0] * n);
  hd_sim_tensor_forget(t, address, n);
  hd_sim_progress(m);
  return SIM_NEXT;
}

static sim_step exec_relinquish(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  (void)mask;
  w->cta->tensor->relinquished = true;
  return SIM_NEXT;
}

/* Whether the CTA is ordered after it, by a wait of any kind. */
static bool is_ordered_in(const sim_cta *cta, const sim_vc *all, sim_agent agent, uint32_t n) {
  bool after = hd_sim_clock_has(&all->full, agent, n);
  for (uint32_t i = 0; i < cta->n_threads && !after; i++)
    after = hd_sim_clock_has(&cta->thread[i].issuer->heard.full, agent, n);
  return after;
}

static sim_step check_issued(sim_warp *w, const sim_insn *in, const sim_vc *all) {
  sim_machine *m = w->machine;
  for (uint32_t i = 0; i < w->cta->n_threads; i++) {
    uint32_t n = w->cta->thread[i].issuer->n_issued;
    if (n && !is_ordered_in(w->cta, all, hd_sim_agent(w->cta, m->agent_tensor + i), n))
      return hd_sim_find(m, "R9", w, 0, in, w->cta->thread[i].issuer->issued[n - 1].insn,
                         "cta %u leaves while nobody has waited for tcgen05 operations of thread "
                         "%u: tcgen05.commit, and a wait on its mbarrier", w->cta->index, i);
  }
  return SIM_NEXT;
}

/* A commit that arrives after the CTA has exited would write to memory that another may own. */
static sim_step check_commits(sim_warp *w, const sim_insn *in, const sim_vc *all) {
  sim_machine *m = w->machine;
  for (uint32_t i = 0; i < w->cta->n_mbarriers; i++) {
    const sim_mbarrier *b = &w->cta->mbarrier[i];
    bool over = !b->committed ||
                is_ordered_in(w->cta, all, hd_sim_mbarrier_agent(m, w->cta, b), b->committed);
    if (b->commits || !over)
      return hd_sim_find(m, "R9", w, 0, in, &m->program->insn[b->site],
                         "cta %u leaves while nobody has waited for tcgen05.commit at the mbarrier "
                         "at shared byte %u",
                         w->cta->index, b->offset);
  }
  return SIM_NEXT;
}

sim_step hd_sim_tensor_exit(sim_warp *w, const sim_insn *in, const sim_vc *all) {
  const sim_tensor *t = w->cta->tensor;
  uint32_t n = 0;
  for (uint32_t c = 0; t && c < SIM_TENSOR_COLUMNS; c++)
    n += t->column[c] != 0;
  if (n && hd_sim_find(w->machine, "tmem", w, 0, in, NULL,
                       "cta %u leaves with %u columns of tensor memory allocated", w->cta->index,
                       n) == SIM_STOP)
    return SIM_STOP;
  if (t && check_issued(w, in, all) == SIM_STOP)
    return SIM_STOP;
  return t ? check_commits(w, in, all) : SIM_NEXT;
}

/* ---- decoding ---- */

static heddle_status decode_manage(sim_decode *d, sim_insn *in, sim_exec *exec, uint32_t n_opnds) {
  in->exec = exec;
  in->aligned = in->meets = true;
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

heddle_status hd_sim_decode_tensor_alloc(sim_decode *d, sim_insn *in) {
  if (hd_sim_take(d, "alloc"))
    return decode_manage(d, in, exec_alloc, 2);
  if (hd_sim_take(d, "dealloc"))
    return decode_manage(d, in, exec_dealloc, 2);
  return hd_sim_take(d, "relinquish_alloc_permit") ? decode_manage(d, in, exec_relinquish, 0)
                                                   : HEDDLE_UNSUPPORTED;
}
