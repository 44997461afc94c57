/* Sim/sim_run.c: setting up a launch, its CTAs, and taking all of it down. */
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_product.h"
#include "Sim/sim_tmem.h"
#include "Support/diag.h"

/* ---- CTAs ---- */

static sim_cell *new_cells(uint64_t n_bytes, uint8_t shift) {
  uint64_t n = (n_bytes >> shift) + 1;
  sim_cell *cell = hd_xmalloc(sizeof *cell * n);
  for (uint64_t i = 0; i < n; i++)
    cell[i] = (sim_cell){.writer = SIM_NO_AGENT, .reader = SIM_NO_AGENT};
  return cell;
}

static void new_warp(sim_machine *m, sim_cta *cta, uint32_t index) {
  sim_warp *w = &cta->warp[index];
  uint32_t n = m->program->n_regs, left = cta->n_threads - index * 32;
  *w = (sim_warp){.machine = m, .cta = cta, .index = index, .fence_epoch = 1};
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

static void new_threads(sim_machine *m, sim_cta *cta) {
  cta->thread = hd_xzalloc(sizeof(sim_thread) * m->n_warps * 32);
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    hd_sim_clock_init(m, &cta->thread[i].know);
    cta->thread[i].clock = 1;
  }
}

sim_cta *hd_sim_cta_new(sim_machine *m, uint32_t index) {
  sim_cta *cta = hd_xzalloc(sizeof *cta);
  uint64_t n_shared = m->program->dynamic_shared_at + (uint64_t)m->plan->variant->shared_bytes;
  cta->machine = m;
  cta->index = index;
  cta->rank = index % m->cluster_size;
  cta->cluster_first = index - cta->rank;
  cta->n_threads = cta->n_live = m->n_threads;
  cta->n_warps = m->n_warps;
  cta->shared = (sim_memory){.data = hd_xzalloc(n_shared), .n_bytes = n_shared, .cta = cta,
                             .shift = m->program->shared_shift};
  cta->shared.cell = new_cells(n_shared, cta->shared.shift);
  cta->local = hd_xzalloc((size_t)m->program->local_bytes * m->n_warps * 32);
  new_threads(m, cta);
  cta->warp = hd_xzalloc(sizeof(sim_warp) * m->n_warps);
  for (uint32_t i = 0; i < m->n_warps; i++)
    new_warp(m, cta, i);
  for (uint32_t i = 0; i < SIM_N_BARRIERS; i++)
    hd_sim_clock_init(m, &cta->barrier[i].arriving);
  cta->mbarrier = hd_xzalloc(sizeof(sim_mbarrier) * SIM_MAX_MBARRIERS);
  cta->wgmma = hd_xzalloc(sizeof(sim_wgmma) * m->n_warpgroups);
  for (uint32_t i = 0; i < m->n_warpgroups; i++)
    cta->wgmma[i] = (sim_wgmma){.cta = cta, .index = i};
  hd_sim_tensor_start(m, cta);
  if (m->cluster_size > 1)
    cta->remote = hd_xzalloc(sizeof(uint32_t) * m->cluster_size * m->agents_per_cta);
  m->cta[index] = cta;
  return cta;
}

static void free_know(const sim_machine *m, sim_know *know) {
  if (know) {
    hd_sim_clock_free(m, know);
    free(know);
  }
}

/* Its fences stay: later CTAs may ask for them. */
void hd_sim_cta_retire(sim_machine *m, sim_cta *cta) {
  hd_sim_tensor_stop(m, cta, false);
  for (uint32_t i = 0; i < cta->n_warps; i++) {
    sim_warp *w = &cta->warp[i];
    free(w->reg);
    free(w->undefined);
    free(w->busy);
    free(w->touched);
    free(w->busy_as);
    hd_sim_free_taken(m, w);
    w->reg = NULL;
    w->undefined = w->busy = w->touched = NULL;
    w->busy_as = NULL;
  }
  for (uint32_t i = 0; i < m->n_warps * 32; i++) {
    sim_thread *t = &cta->thread[i];
    hd_sim_clock_free(m, &t->know);
    free_know(m, t->released);
    free_know(m, t->pending);
    free(t->cp_group);
    t->released = t->pending = NULL;
    t->cp_group = NULL;
  }
  for (uint32_t i = 0; i < SIM_N_BARRIERS; i++)
    hd_sim_clock_free(m, &cta->barrier[i].arriving);
  for (uint32_t i = 0; i < cta->n_mbarriers; i++) {
    sim_mbarrier *b = &cta->mbarrier[i];
    hd_sim_clock_free(m, &b->arriving);
    hd_sim_clock_free(m, &b->done);
    hd_sim_clock_free(m, &b->arriving_cluster);
    hd_sim_clock_free(m, &b->done_cluster);
    hd_sim_clock_free(m, &b->arriving_order);
    hd_sim_clock_free(m, &b->done_order);
    free(b->waited);
  }
  cta->n_mbarriers = 0;
  for (uint32_t i = 0; i < m->n_warpgroups; i++) {
    for (uint32_t j = cta->wgmma[i].n_done; j < cta->wgmma[i].n_ops; j++)
      hd_sim_clock_free(m, &cta->wgmma[i].op[j].know);
    free(cta->wgmma[i].op);
    cta->wgmma[i] = (sim_wgmma){.cta = cta, .index = i};
  }
  free(cta->shared.data);
  free(cta->shared.cell);
  free(cta->local);
  free(cta->remote);
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
    free(cta->thread[i].fence);
  free(cta->thread);
  free(cta->warp);
  free(cta->mbarrier);
  free(cta->wgmma);
  free(cta);
}

/* ---- leaving ---- */

/* What a thread has started must be known to be over when it leaves: by knowledge, not by what the
 * schedule happened to do. */
static sim_step check_unfinished(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  const sim_wgmma *q = &w->cta->wgmma[w->index / 4];
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    sim_agent agent = hd_sim_agent(w->cta, m->agent_bulk_read + w->index * 32 + l);
    bool over = t->bulk_committed == 0 || hd_sim_knows(&t->know.full, agent, t->bulk_committed);
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

/* Copies into this CTA's memory that none of its threads has waited for. */
static sim_step check_landed(sim_warp *w, const sim_insn *in, const sim_know *all) {
  sim_machine *m = w->machine;
  sim_cta *cta = w->cta;
  for (uint32_t i = 0; i < cta->n_mbarriers; i++) {
    const sim_mbarrier *b = &cta->mbarrier[i];
    bool over = !b->landed ||
                hd_sim_knows(&all->full, hd_sim_mbarrier_agent(m, cta, b), b->landed);
    if ((b->in_flight || !over) &&
        hd_sim_find(m, "R1", w, 0, in, &m->program->insn[b->site],
                    "cta %u leaves while nobody has waited for copies that signal the mbarrier at "
                    "shared byte %u", cta->index, b->offset) == SIM_STOP)
      return SIM_STOP;
  }
  for (uint32_t i = 0; m->agent_cp && i < cta->n_threads; i++)
    if (cta->thread[i].cp_issued &&
        !hd_sim_knows(&all->full, hd_sim_agent(cta, m->agent_cp + i), cta->thread[i].cp_issued))
      return hd_sim_find(m, "R1", w, 0, in, NULL,
                         "cta %u leaves while nobody has waited for a cp.async of thread %u",
                         cta->index, i);
  return SIM_NEXT;
}

static sim_step check_remote(sim_warp *w, const sim_insn *in, const sim_know *all) {
  sim_machine *m = w->machine;
  sim_cta *cta = w->cta;
  for (uint32_t i = 0; cta->remote && i < m->cluster_size * m->agents_per_cta; i++) {
    sim_agent agent = (cta->cluster_first + i / m->agents_per_cta) << SIM_AGENT_SHIFT |
                      i % m->agents_per_cta;
    char name[96];
    if (!cta->remote[i] || hd_sim_knows(&all->reads, agent, cta->remote[i]))
      continue;
    return hd_sim_find(m, "R4", w, 0, in, NULL,
                       "cta %u leaves, not ordered after an access to its shared memory by %s: a "
                       "cluster leaves together (barrier.cluster before exit)", cta->index,
                       hd_sim_agent_name(m, agent, name));
  }
  return SIM_NEXT;
}

/* The last thread leaves: nobody else may still use this CTA's memory. */
static sim_step check_cta_exit(sim_warp *w, const sim_insn *in) {
  sim_machine *m = w->machine;
  sim_know all;
  if (m->options.off & HD_SIM_NO_RACES)
    return SIM_NEXT;
  hd_sim_clock_init(m, &all);
  for (uint32_t i = 0; i < w->cta->n_threads; i++)
    hd_sim_join_know(m, &all, &w->cta->thread[i].know);
  sim_step step = check_landed(w, in, &all);
  if (step == SIM_NEXT)
    step = check_remote(w, in, &all);
  if (step == SIM_NEXT)
    step = hd_sim_tensor_exit(w, in, &all);
  hd_sim_clock_free(m, &all);
  return step;
}

static sim_step check_grid_exit(sim_warp *w, const sim_insn *in) {
  sim_machine *m = w->machine;
  if (!m->plan->variant->dependent_launch)
    return SIM_NEXT;
  for (uint32_t i = 0; i < w->cta->n_threads; i++)
    if (hd_sim_knows(&w->cta->thread[i].know.full, m->agent_grid, 1))
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
  w->exited |= mask;
  cta->n_live -= (uint32_t)__builtin_popcount(mask);
  m->cluster[cluster].barrier.expected -= (uint32_t)__builtin_popcount(mask);
  if (cta->n_live == 0) {
    if (check_cta_exit(w, in) == SIM_STOP || check_grid_exit(w, in) == SIM_STOP)
      return SIM_STOP;
    cta->done = true;
  }
  hd_sim_cluster_advance(m, cluster);
  hd_sim_progress(m);
  g->mask &= ~mask;
  g->pc++;
  return SIM_JUMP;
}

/* ---- the launch ---- */

static void number_agents(sim_machine *m) {
  const sim_program *g = m->program;
  uint32_t n = m->n_warps * 32, next = n;
  if (g->has_cp_async) {
    m->agent_cp = next;
    next += n;
  }
  if (g->has_bulk_store) {
    m->agent_bulk_read = next;
    m->agent_bulk_write = next + n;
    next += 2 * n;
  }
  m->agent_wgmma = next;
  m->agent_mbarrier = next + m->n_warpgroups;
  next = m->agent_mbarrier + SIM_MAX_MBARRIERS;
  if (g->has_st_async) {
    m->agent_sent = next;
    next += SIM_MAX_MBARRIERS;
  }
  if (g->has_tensor) {
    m->agent_tensor = next;
    m->agent_mover = next + n;
    next = m->agent_mover + 2 * m->n_warps;
  }
  m->agent_grid = next;
  m->agents_per_cta = (m->agent_grid + SIM_CLOCK_STEP) / SIM_CLOCK_STEP * SIM_CLOCK_STEP;
}

static void fill_params(sim_machine *m) {
  const hd_variant *v = m->plan->variant;
  m->param = hd_xzalloc(m->program->param_bytes);
  for (uint32_t i = 0; i < m->program->n_params; i++) {
    const sim_param *p = &m->program->param[i];
    if (v->param[i].arg != HD_ARG_NONE)
      memcpy(m->param + p->offset, &m->values->v[v->param[i].arg], p->n_bytes < 8 ? p->n_bytes : 8);
  }
}

enum { MAX_CTAS = 65535 };

static heddle_status check_launch(const sim_machine *m) {
  const hd_variant *v = m->plan->variant;
  hd_loc loc = {m->program->file, 0, 0};
  uint64_t n_shared = m->program->dynamic_shared_at + (uint64_t)v->shared_bytes;
  if (v->n_threads < 1 || v->n_threads > 1024 || v->cluster < 1 || v->cluster > 16)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.shape",
                    "%d threads in clusters of %d: expected 1 to 1024 and 1 to 16", v->n_threads,
                    v->cluster);
  uint64_t n_ctas = (uint64_t)m->grid[0] * m->grid[1];
  if (m->grid[0] % (uint32_t)v->cluster || n_ctas > MAX_CTAS || n_ctas * m->grid[2] > MAX_CTAS)
    return hd_error(
        m->ctx, HEDDLE_INVALID, loc, "launch.grid",
        "a grid of %u x %u x %u: expected x a multiple of the cluster (%d), 1 to %d CTAs",
        m->grid[0], m->grid[1], m->grid[2], v->cluster, MAX_CTAS);
  if (m->program->cta_groups == 3)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.cta_group",
                    "tcgen05 instructions of .cta_group::1 and ::2: expected the same in all");
  if (m->program->cta_groups == 2 && v->cluster % 2)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.cta_group",
                    ".cta_group::2 in clusters of %d: expected an even number of CTAs", v->cluster);
  if (v->shared_bytes < 0 || n_shared > SIM_SHARED_LIMIT)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.shared",
                    "%llu bytes of shared memory: expected at most %d",
                    (unsigned long long)n_shared, SIM_SHARED_LIMIT);
  if (m->program->n_params != (uint32_t)v->n_params)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.params",
                    "the entry has %u parameters, the manifest %d", m->program->n_params,
                    v->n_params);
  for (uint32_t i = 0; i < m->n_buffers; i++)
    if (m->buffer[i].buffer->address % 256)
      return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.buffer",
                      "buffer %s is at 0x%llx: expected a multiple of 256",
                      m->buffer[i].buffer->name,
                      (unsigned long long)m->buffer[i].buffer->address);
  return HEDDLE_OK;
}

static void set_up(sim_machine *m, const hd_sim_buffer *buffers, uint32_t n_buffers) {
  const hd_variant *v = m->plan->variant;
  m->grid[0] = m->plan->grid_x;
  m->grid[1] = m->options.grid_y ? m->options.grid_y : 1;
  m->grid[2] = m->options.grid_z ? m->options.grid_z : 1;
  m->n_ctas = m->grid[0] * m->grid[1] * m->grid[2];
  m->cluster_size = (uint32_t)v->cluster;
  m->n_threads = (uint32_t)v->n_threads;
  m->n_warps = (m->n_threads + 31) / 32;
  m->n_warpgroups = (m->n_warps + 3) / 4;
  number_agents(m);
  m->n_buffers = n_buffers + m->program->n_variables;
  m->buffer = hd_xzalloc(sizeof *m->buffer * m->n_buffers);
  for (uint32_t i = 0; i < m->n_buffers; i++) {
    const hd_sim_buffer *b = i < n_buffers ? &buffers[i] : &m->program->variable[i - n_buffers];
    m->buffer[i] = (sim_memory){.data = b->data, .n_bytes = b->n_bytes, .buffer = b,
                                .shift = m->program->global_shift};
  }
}

static void start(sim_machine *m) {
  m->cta = hd_xzalloc(sizeof *m->cta * m->n_ctas);
  m->cluster = hd_xzalloc(sizeof *m->cluster * (m->n_ctas / m->cluster_size));
  for (uint32_t i = 0; i < m->n_ctas / m->cluster_size; i++) {
    m->cluster[i].barrier.expected = m->cluster_size * m->n_threads;
    hd_sim_clock_init(m, &m->cluster[i].barrier.arriving);
    hd_sim_clock_init(m, &m->cluster[i].barrier.done);
  }
  for (uint32_t i = 0; i < m->n_buffers; i++)
    if (m->buffer[i].buffer->writable)
      m->buffer[i].cell = new_cells(m->buffer[i].n_bytes, m->buffer[i].shift);
  m->tile = hd_xzalloc(sizeof *m->tile);
  fill_params(m);
}

static void tear_down(sim_machine *m) {
  for (uint32_t i = 0; i < m->n_pending; i++)
    hd_sim_async_free(m, m->pending[i]);
  for (uint32_t i = 0; m->cta && i < m->n_ctas; i++)
    hd_sim_cta_free(m, m->cta[i]);
  for (uint32_t i = 0; m->cluster && i < m->n_ctas / m->cluster_size; i++) {
    hd_sim_clock_free(m, &m->cluster[i].barrier.arriving);
    hd_sim_clock_free(m, &m->cluster[i].barrier.done);
  }
  for (uint32_t i = 0; i < m->n_words; i++) {
    hd_sim_clock_free(m, &m->word[i].gpu);
    hd_sim_clock_free(m, &m->word[i].local);
  }
  for (uint32_t i = 0; i < m->n_buffers; i++)
    free(m->buffer[i].cell);
  free(m->pending);
  free(m->cta);
  free(m->cluster);
  free(m->buffer);
  free(m->param);
  free(m->readers);
  free(m->word);
  free(m->tile);
  free(m->finding);
}

static void finish_report(sim_machine *m) {
  m->report->finding = hd_arena_copy(m->arena, m->finding, sizeof *m->finding * m->n_findings);
  m->report->n_findings = m->n_findings;
}

static uint64_t or_default(uint64_t given, uint64_t otherwise) { return given ? given : otherwise; }

heddle_status hd_sim_run(heddle_context *ctx, const hd_sim_launch *launch,
                         const hd_sim_options *options, hd_arena *arena, hd_sim_report *report) {
  enum { MAX_STEPS = 20000000, MAX_FINDINGS = 8, MAX_RESIDENT = 8 }; /* where options have 0 */
  const hd_launch_plan *plan = launch->plan;
  sim_program program;
  *report = (hd_sim_report){0};
  if (plan->grid_x == 0) /* an empty problem: nothing is launched */
    return HEDDLE_OK;
  HD_TRY(hd_sim_parse(ctx, launch, arena, &program));
  sim_machine m = {.ctx = ctx, .program = &program, .plan = plan, .values = launch->values,
                   .options = *options, .arena = arena, .report = report,
                   .random = options->seed};
  m.options.max_steps = or_default(options->max_steps, MAX_STEPS);
  m.options.max_findings = (uint32_t)or_default(options->max_findings, MAX_FINDINGS);
  m.options.max_resident = (uint32_t)or_default(options->max_resident, MAX_RESIDENT);
  set_up(&m, launch->buffers, launch->n_buffers);
  heddle_status status = check_launch(&m);
  if (status == HEDDLE_OK) {
    start(&m);
    hd_sim_schedule(&m);
    finish_report(&m);
    status = report->n_findings ? HEDDLE_MISMATCH : HEDDLE_OK;
  }
  tear_down(&m);
  return status;
}
