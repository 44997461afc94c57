/* Sim/sim_run.c: set-up and tear-down of a launch. */
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_product.h"
#include "Sim/sim_scope.h"
#include "Sim/sim_tmem.h"
#include "Support/diag.h"
#include "Support/memory.h"

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
  if (g->has_named_barrier) {
    m->agent_barrier = next;
    next += SIM_N_BARRIERS;
  }
  m->agent_grid = next;
  m->agents_per_cta = (m->agent_grid + SIM_CLOCK_STEP) / SIM_CLOCK_STEP * SIM_CLOCK_STEP;
}

enum { MAX_CTAS = 65535 };

static heddle_status check_launch(const sim_machine *m) {
  const hd_variant *v = m->plan->variant;
  hd_loc loc = {m->program->file, 0, 0};
  uint64_t n_shared = m->program->dynamic_shared_at + (uint64_t)v->shared_bytes;
  if (v->n_threads < 1 || v->n_threads > 1024 || v->cluster < 1 || v->cluster > 16)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.shape",
                    "%d threads in clusters of %d; legal: 1 to 1024 and 1 to 16", v->n_threads,
                    v->cluster);
  uint64_t n_ctas = (uint64_t)m->grid[0] * m->grid[1];
  if (m->grid[0] % (uint32_t)v->cluster || n_ctas > MAX_CTAS || n_ctas * m->grid[2] > MAX_CTAS)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.grid",
                    "a grid of %u x %u x %u; legal: x a multiple of the cluster (%d), 1 to %d CTAs",
                    m->grid[0], m->grid[1], m->grid[2], v->cluster, MAX_CTAS);
  if (m->program->cta_groups == 3)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.cta_group",
                    "tcgen05 instructions of .cta_group::1 and ::2; legal: the same in all");
  if (m->program->cta_groups == 2 && v->cluster % 2)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.cta_group",
                    ".cta_group::2 in clusters of %d; legal: an even number of CTAs", v->cluster);
  if (v->shared_bytes < 0 || n_shared > SIM_SHARED_LIMIT)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.shared",
                    "%llu bytes of shared memory; legal: at most %d", (unsigned long long)n_shared,
                    SIM_SHARED_LIMIT);
  if (m->program->n_params != (uint32_t)v->n_params)
    return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.params",
                    "the entry has %u parameters, the manifest %d", m->program->n_params,
                    v->n_params);
  for (uint32_t i = 0; i < m->program->n_params; i++)
    if (v->param[i].arg != HD_ARG_NONE && m->program->param[i].n_bytes > sizeof(uint64_t))
      return hd_error(m->ctx, HEDDLE_UNSUPPORTED, loc, "launch.params",
                      "parameter %s has %u bytes; legal: at most 8, or a tensor map of 128",
                      m->program->param[i].name, m->program->param[i].n_bytes);
  for (uint32_t i = 0; i < m->n_buffers; i++)
    if (m->buffer[i].buffer->address % 256)
      return hd_error(m->ctx, HEDDLE_INVALID, loc, "launch.buffer",
                      "buffer %s is at 0x%llx; legal: a multiple of 256", m->buffer[i].buffer->name,
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

static heddle_status start(sim_machine *m) {
  m->cta = hd_xzalloc(sizeof *m->cta * m->n_ctas);
  m->cluster = hd_xzalloc(sizeof *m->cluster * (m->n_ctas / m->cluster_size));
  for (uint32_t i = 0; i < m->n_ctas / m->cluster_size; i++) {
    m->cluster[i].barrier.expected = m->cluster_size * m->n_threads;
    hd_sim_vc_init(m, &m->cluster[i].barrier.arriving);
    hd_sim_vc_init(m, &m->cluster[i].barrier.done);
  }
  for (uint32_t i = 0; i < m->n_buffers; i++) {
    sim_memory *memory = &m->buffer[i];
    if (memory->buffer->writable) {
      memory->cell = hd_sim_cells(m->ctx, memory->n_bytes, memory->shift);
      if (!memory->cell)
        return HEDDLE_NO_MEMORY;
    }
  }
  m->tile = hd_xzalloc(sizeof *m->tile);
  m->waited = hd_xzalloc(m->program->n_insns + 1u);
  m->param = hd_xzalloc(m->program->param_bytes);
  for (uint32_t i = 0; i < m->program->n_params; i++) {
    const sim_param *p = &m->program->param[i];
    hd_arg_kind arg = m->plan->variant->param[i].arg;
    if (arg != HD_ARG_NONE)
      memcpy(m->param + p->offset, &m->values->v[arg], p->n_bytes < 8 ? p->n_bytes : 8);
  }
  return HEDDLE_OK;
}

static void tear_down(sim_machine *m) {
  for (uint32_t i = 0; i < m->n_pending; i++)
    hd_sim_async_free(m, m->pending[i]);
  for (uint32_t i = 0; m->cta && i < m->n_ctas; i++)
    hd_sim_cta_free(m, m->cta[i]);
  for (uint32_t i = 0; m->cluster && i < m->n_ctas / m->cluster_size; i++) {
    hd_sim_vc_free(m, &m->cluster[i].barrier.arriving);
    hd_sim_vc_free(m, &m->cluster[i].barrier.done);
  }
  for (uint32_t i = 0; i < m->n_words; i++)
    hd_sim_word_free(m, &m->word[i]);
  for (uint32_t i = 0; i < m->n_buffers; i++)
    hd_free(m->buffer[i].cell);
  hd_free(m->pending);
  hd_free(m->cta);
  hd_free(m->cluster);
  hd_free(m->buffer);
  hd_free(m->param);
  hd_free(m->readers);
  hd_free(m->word);
  hd_free(m->tile);
  hd_free(m->waited);
  hd_free(m->finding);
}

static void finish_report(sim_machine *m) {
  for (uint32_t i = 0; i < m->n_buffers; i++) {
    const sim_memory *memory = &m->buffer[i];
    const hd_sim_buffer *b = memory->buffer;
    for (uint64_t at = 0; b->written && at < b->n_bytes; at++)
      b->written[at] = memory->cell && (memory->cell[at >> memory->shift].flags & SIM_CELL_WRITTEN);
  }
  hd_sim_wait *waits = HD_NEW_ARRAY(m->arena, hd_sim_wait, m->program->n_insns);
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->program->n_insns; i++)
    if (m->waited[i])
      waits[n++] = (hd_sim_wait){m->program->insn[i].line, m->waited[i] == 2};
  m->report->wait = waits;
  m->report->n_waits = n;
  m->report->finding = hd_arena_copy(m->arena, m->finding, sizeof *m->finding * m->n_findings);
  m->report->n_findings = m->n_findings;
}

static uint64_t or_default(uint64_t given, uint64_t otherwise) { return given ? given : otherwise; }

static heddle_status run_one(heddle_context *ctx, const hd_sim_launch *launch,
                             const hd_sim_options *options, hd_arena *arena,
                             hd_sim_report *report) {
  enum { MAX_STEPS = 20000000, MAX_FINDINGS = 8, MAX_RESIDENT = 8 }; /* for options that are 0 */
  const hd_launch_plan *plan = launch->plan;
  sim_program program;
  uint64_t before = hd_memory_shortages();
  *report = (hd_sim_report){0};
  if (plan->grid_x == 0) /* an empty problem: nothing is launched */
    return HEDDLE_OK;
  HD_TRY(hd_memory_status(ctx, before, hd_sim_parse(ctx, launch, arena, &program)));
  sim_machine m = {.ctx = ctx, .program = &program, .plan = plan, .values = launch->values,
                   .options = *options, .arena = arena, .report = report,
                   .random = options->seed, .shortages = before};
  m.options.max_steps = or_default(options->max_steps, MAX_STEPS);
  m.options.max_findings = (uint32_t)or_default(options->max_findings, MAX_FINDINGS);
  m.options.max_resident = (uint32_t)or_default(options->max_resident, MAX_RESIDENT);
  set_up(&m, launch->buffers, launch->n_buffers);
  heddle_status status = check_launch(&m);
  if (status == HEDDLE_OK)
    status = start(&m);
  if (status == HEDDLE_OK) {
    hd_sim_schedule(&m);
    finish_report(&m);
    status = report->n_findings ? HEDDLE_MISMATCH : HEDDLE_OK;
  }
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_NO_MEMORY)
    *report = (hd_sim_report){0};
  tear_down(&m);
  return status;
}

heddle_status hd_sim_run(heddle_context *ctx, const hd_sim_launch *launch,
                         const hd_sim_options *options, hd_arena *arena, hd_sim_report *report) {
  const hd_launch_plan *plan = launch->plan;
  if (plan->grid_x && plan->ahead) {
    hd_launch_plan first = {.variant = plan->ahead, .grid_x = plan->ahead_grid};
    hd_sim_launch ahead = *launch;
    ahead.plan = &first;
    HD_TRY(run_one(ctx, &ahead, options, arena, report));
  }
  HD_TRY(run_one(ctx, launch, options, arena, report));
  if (!plan->grid_x || !plan->behind)
    return HEDDLE_OK;
  uint64_t of_product = report->n_instructions;
  hd_launch_plan last = {.variant = plan->behind, .grid_x = plan->behind_grid};
  hd_sim_launch behind = *launch;
  behind.plan = &last;
  heddle_status status = run_one(ctx, &behind, options, arena, report);
  report->n_instructions += of_product;
  return status;
}
