/* Sim/sim_cta.c: a CTA's beginning and end, and what must be complete when its threads exit. */
#include <string.h>

#include "Sim/sim_product.h"
#include "Sim/sim_tmem.h"
#include "Support/memory.h"

sim_cell *hd_sim_cells(heddle_context *ctx, uint64_t n_bytes, uint8_t shift) {
  uint64_t n = (n_bytes >> shift) + 1;
  sim_cell *cell = hd_try_malloc(ctx, sizeof *cell * n, "the shadow of a buffer");
  for (uint64_t i = 0; cell && i < n; i++)
    cell[i] = (sim_cell){.writer = SIM_NO_AGENT, .reader = SIM_NO_AGENT};
  return cell;
}

static void new_warp(sim_machine *m, sim_cta *cta, uint32_t index) {
  sim_warp *w = &cta->warp[index];
  uint32_t n = m->program->n_regs, left = cta->n_threads - index * 32;
  *w = (sim_warp){.machine = m, .cta = cta, .index = index, .fence_epoch = 1,
                  .registers = m->program->max_registers};
  w->lanes = left >= 32 ? 0xffffffffu : (1u << left) - 1;
  w->reg = hd_xzalloc(sizeof(uint64_t) * 32 * n);
  w->undefined = hd_xzalloc(sizeof(uint32_t) * n);
  memset(w->undefined, 0xff, sizeof(uint32_t) * n);
  w->busy = hd_xzalloc(sizeof(uint32_t) * n);
  w->touched = hd_xzalloc(sizeof(uint32_t) * n);
  w->busy_as = hd_xzalloc(n);
  w->group[0] = (sim_group){.mask = w->lanes};
  w->n_groups = 1;
}

/* The PTX determines the memory of a CTA: fails before the CTA starts if it is not available. */
static bool has_memory(const sim_machine *m, uint64_t n_shared) {
  uint64_t n_threads = 32u * m->n_warps, cells = n_shared >> m->program->shared_shift;
  uint64_t registers = (sizeof(uint64_t) + 1) * n_threads * m->program->n_regs;
  void *all = hd_try_malloc(m->ctx, n_shared + cells * sizeof(sim_cell) + registers +
                                        n_threads * m->program->local_bytes,
                            "the memory and the registers of a CTA");
  hd_free(all);
  return all;
}

bool hd_sim_cta_new(sim_machine *m, uint32_t index) {
  uint64_t n_shared = m->program->dynamic_shared_at + (uint64_t)m->plan->variant->shared_bytes;
  if (!has_memory(m, n_shared))
    return false;
  sim_cta *cta = hd_xzalloc(sizeof *cta);
  cta->machine = m;
  cta->index = index;
  cta->rank = index % m->cluster_size;
  cta->cluster_first = index - cta->rank;
  cta->n_threads = cta->n_live = m->n_threads;
  cta->n_warps = m->n_warps;
  cta->shared = (sim_memory){.data = hd_xzalloc(n_shared), .n_bytes = n_shared, .cta = cta,
                             .shift = m->program->shared_shift};
  cta->shared.cell = hd_sim_cells(m->ctx, n_shared, cta->shared.shift);
  cta->local = hd_xzalloc((size_t)m->program->local_bytes * m->n_warps * 32);
  cta->thread = hd_xzalloc(sizeof(sim_thread) * m->n_warps * 32);
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    hd_sim_vc_init(m, &cta->thread[i].vc);
    cta->thread[i].clock = 1;
  }
  cta->warp = hd_xzalloc(sizeof(sim_warp) * m->n_warps);
  for (uint32_t i = 0; i < m->n_warps; i++)
    new_warp(m, cta, i);
  for (uint32_t i = 0; i < SIM_N_BARRIERS; i++)
    hd_sim_vc_init(m, &cta->barrier[i].arriving);
  cta->mbarrier = hd_xzalloc(sizeof(sim_mbarrier) * SIM_MAX_MBARRIERS);
  cta->wgmma = hd_xzalloc(sizeof(sim_wgmma) * m->n_warpgroups);
  for (uint32_t i = 0; i < m->n_warpgroups; i++)
    cta->wgmma[i] = (sim_wgmma){.cta = cta, .index = i};
  hd_sim_tensor_start(m, cta);
  if (m->cluster_size > 1)
    cta->remote = hd_xzalloc(sizeof(uint32_t) * m->cluster_size * m->agents_per_cta);
  m->cta[index] = cta;
  return cta->shared.cell != NULL;
}

/* ---- the end of a CTA ---- */

void hd_sim_cta_retire(sim_machine *m, sim_cta *cta) {
  hd_sim_tensor_stop(m, cta, false);
  for (uint32_t i = 0; i < cta->n_warps; i++) {
    sim_warp *w = &cta->warp[i];
    hd_free(w->reg);
    hd_free(w->undefined);
    hd_free(w->busy);
    hd_free(w->touched);
    hd_free(w->busy_as);
    w->reg = NULL;
    w->undefined = w->busy = w->touched = NULL;
    w->busy_as = NULL;
  }
  for (uint32_t i = 0; i < m->n_warps * 32; i++) { /* later CTAs may look up its fences */
    sim_thread *t = &cta->thread[i];
    hd_sim_vc_free(m, &t->vc);
    hd_sim_releases_free(m, &t->fenced);
    hd_sim_releases_free(m, &t->seen);
    hd_free(t->cp_group);
    t->cp_group = NULL;
  }
  for (uint32_t i = 0; i < SIM_N_BARRIERS; i++)
    hd_sim_vc_free(m, &cta->barrier[i].arriving);
  for (uint32_t i = 0; i < cta->n_mbarriers; i++)
    hd_sim_mbarrier_free(m, &cta->mbarrier[i]);
  cta->n_mbarriers = 0;
  for (uint32_t i = 0; i < m->n_warpgroups; i++) {
    sim_wgmma *q = &cta->wgmma[i];
    for (uint32_t j = q->n_done; j < q->n_ops; j++)
      hd_sim_vc_free(m, &q->op[j].vc);
    hd_free(q->op);
    *q = (sim_wgmma){.cta = cta, .index = i};
  }
  hd_free(cta->shared.data);
  hd_free(cta->shared.cell);
  hd_free(cta->local);
  hd_free(cta->remote);
  cta->shared = (sim_memory){0};
  cta->local = NULL;
  cta->remote = NULL;
}

void hd_sim_cta_free(sim_machine *m, sim_cta *cta) {
  if (!cta)
    return;
  if (cta->shared.data)
    hd_sim_cta_retire(m, cta);
  hd_sim_tensor_stop(m, cta, true);
  for (uint32_t i = 0; i < m->n_warps * 32; i++)
    hd_free(cta->thread[i].fence);
  hd_free(cta->thread);
  hd_free(cta->warp);
  hd_free(cta->mbarrier);
  hd_free(cta->wgmma);
  hd_free(cta);
}

/* ---- leaving ---- */

/* What a thread has started must be complete before it exits, by happens-before and not only in
 * this schedule. */
static sim_step check_unfinished(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  const sim_wgmma *q = &w->cta->wgmma[w->index / 4];
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    sim_agent agent = hd_sim_agent(w->cta, m->agent_bulk_read + w->index * 32 + l);
    bool over = t->bulk_committed == 0 || hd_sim_clock_has(&t->vc.full, agent, t->bulk_committed);
    if ((!over || t->bulk_issued) &&
        hd_sim_find(m, "R6", w, l, in, NULL,
                    "leaves without cp.async.bulk.wait_group for its stores from shared memory") ==
            SIM_STOP)
      return SIM_STOP;
  }
  if (w->wgmma_issued > 0 && w->wgmma_waited < q->op[w->wgmma_issued - 1].group)
    return hd_sim_find(m, "R5", w, 0, in, NULL, "leaves without waiting for its wgmma");
  return SIM_NEXT;
}

/* Reports copies into this CTA's memory that none of its threads has waited for. */
static sim_step check_landed(sim_warp *w, const sim_insn *in, const sim_vc *all) {
  sim_machine *m = w->machine;
  sim_cta *cta = w->cta;
  for (uint32_t i = 0; i < cta->n_mbarriers; i++) {
    const sim_mbarrier *b = &cta->mbarrier[i];
    bool over =
        !b->landed || hd_sim_clock_has(&all->full, hd_sim_mbarrier_agent(m, cta, b), b->landed);
    if ((b->in_flight || !over) &&
        hd_sim_find(m, "R1", w, 0, in, &m->program->insn[b->site],
                    "cta %u leaves while nobody has waited for copies that signal the mbarrier at "
                    "shared byte %u", cta->index, b->offset) == SIM_STOP)
      return SIM_STOP;
  }
  for (uint32_t i = 0; m->agent_cp && i < cta->n_threads; i++)
    if (cta->thread[i].cp_issued &&
        !hd_sim_clock_has(&all->full, hd_sim_agent(cta, m->agent_cp + i), cta->thread[i].cp_issued))
      return hd_sim_find(m, "R1", w, 0, in, NULL,
                         "cta %u leaves while nobody has waited for a cp.async of thread %u",
                         cta->index, i);
  return SIM_NEXT;
}

static sim_step check_remote(sim_warp *w, const sim_insn *in, const sim_vc *all) {
  sim_machine *m = w->machine;
  sim_cta *cta = w->cta;
  for (uint32_t i = 0; cta->remote && i < m->cluster_size * m->agents_per_cta; i++) {
    sim_agent agent = (cta->cluster_first + i / m->agents_per_cta) << SIM_AGENT_SHIFT |
                      i % m->agents_per_cta;
    char name[96];
    if (!cta->remote[i] || hd_sim_clock_has(&all->reads, agent, cta->remote[i]))
      continue;
    return hd_sim_find(m, "R4", w, 0, in, NULL,
                       "cta %u leaves, not ordered after an access to its shared memory by %s: a "
                       "cluster leaves together (barrier.cluster before exit)", cta->index,
                       hd_sim_agent_name(m, agent, name));
  }
  return SIM_NEXT;
}

/* The last thread exits: no other agent may still use this CTA's memory. */
static sim_step check_cta_exit(sim_warp *w, const sim_insn *in) {
  sim_machine *m = w->machine;
  sim_vc all;
  if (m->options.off & HD_SIM_NO_RACES)
    return SIM_NEXT;
  hd_sim_vc_init(m, &all);
  for (uint32_t i = 0; i < w->cta->n_threads; i++)
    hd_sim_vc_join(m, &all, &w->cta->thread[i].vc);
  sim_step step = check_landed(w, in, &all);
  if (step == SIM_NEXT)
    step = check_remote(w, in, &all);
  if (step == SIM_NEXT)
    step = hd_sim_tensor_exit(w, in, &all);
  hd_sim_vc_free(m, &all);
  return step;
}

static sim_step check_grid_exit(sim_warp *w, const sim_insn *in) {
  sim_machine *m = w->machine;
  if (!m->plan->variant->dependent_launch)
    return SIM_NEXT;
  for (uint32_t i = 0; i < w->cta->n_threads; i++)
    if (hd_sim_clock_has(&w->cta->thread[i].vc.full, m->agent_grid, 1))
      return SIM_NEXT;
  return hd_sim_find(m, "R8", w, 0, in, NULL, "cta %u leaves without griddepcontrol.wait",
                     w->cta->index);
}

sim_step hd_sim_exit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_cta *cta = w->cta;
  sim_group *g = &w->group[w->current];
  uint32_t cluster = cta->index / m->cluster_size;
  if (check_unfinished(w, in, mask) == SIM_STOP)
    return SIM_STOP;
  sim_barrier *barrier = &m->cluster[cluster].barrier;
  SIM_LANES(l, mask) { /* exited threads are neither expected nor counted */
    const sim_thread *t = hd_sim_thread(w, l);
    barrier->arrived -= t->cluster_arrived && t->cluster_generation == barrier->generation;
  }
  w->exited |= mask;
  cta->n_live -= (uint32_t)__builtin_popcount(mask);
  barrier->expected -= (uint32_t)__builtin_popcount(mask);
  if (cta->n_live == 0) {
    if (hd_sim_resized_alike(w, in) == SIM_STOP || check_cta_exit(w, in) == SIM_STOP ||
        check_grid_exit(w, in) == SIM_STOP)
      return SIM_STOP;
    cta->done = true;
  }
  hd_sim_cluster_advance(m, cluster);
  hd_sim_progress(m);
  g->mask &= ~mask;
  g->pc++;
  return SIM_JUMP;
}
