/* Sim/sim_schedule.c: which warp runs, which lanes of it, and when asynchronous work completes. */
#include "Sim/sim_product.h"
#include "Support/strbuf.h"

enum {
  MAX_ROUNDS = 4
}; /* rounds of try_wait returning false without any progress before it is a deadlock */

/* ---- one instruction ---- */

static uint32_t active_lanes(sim_warp *w, const sim_insn *in, uint32_t mask) {
  if (in->pred == SIM_NO_REG)
    return mask;
  uint32_t on = 0;
  const uint64_t *p = &w->reg[(size_t)in->pred * 32];
  SIM_LANES(l, mask) on |= (uint32_t)((p[l] & 1) != in->pred_neg) << l;
  return on;
}

static uint32_t undefined_sources(sim_warp *w, const sim_insn *in) {
  uint32_t lanes = 0;
  if (in->selects) {
    uint64_t buf[32];
    const uint64_t *p = hd_sim_read(w, &in->opnd[3], buf);
    uint32_t first = 0;
    for (uint32_t l = 0; l < 32; l++)
      first |= (uint32_t)(p[l] & 1) << l;
    return hd_sim_undefined(w, &in->opnd[3]) | (hd_sim_undefined(w, &in->opnd[1]) & first) |
           (hd_sim_undefined(w, &in->opnd[2]) & ~first);
  }
  for (uint32_t i = in->n_dst; i < in->n_opnds; i++) {
    uint32_t none = hd_sim_undefined(w, &in->opnd[i]);
    if (none && in->sparse && i == 4)
      none &= hd_sim_meta_lanes(in->mma, (uint32_t)in->opnd[5].imm);
    lanes |= none;
  }
  return lanes;
}

static sim_step complain_undefined(sim_warp *w, const sim_insn *in, uint32_t lanes,
                                   const char *what) {
  if (!lanes || (w->machine->options.off & HD_SIM_NO_UNDEFINED))
    return SIM_NEXT;
  return hd_sim_find(w->machine, "undefined", w, (uint32_t)__builtin_ctz(lanes), in, NULL,
                     "%s has no value", what);
}

/* Executes an instruction and checks its registers: poison, undefined values. */
static sim_step execute(sim_warp *w, const sim_insn *in, uint32_t mask) {
  if (in->meets)
    hd_sim_meet(w, mask);
  if (in->owns_registers)
    return in->exec(w, in, mask);
  for (uint32_t i = 0; i < in->n_opnds; i++)
    if (hd_sim_touch(w, in, &in->opnd[i]) == SIM_STOP)
      return SIM_STOP;
  if (in->dst2.kind == SIM_REG && hd_sim_touch(w, in, &in->dst2) == SIM_STOP)
    return SIM_STOP;
  uint32_t undefined = undefined_sources(w, in) & mask;
  if (!in->pure && complain_undefined(w, in, undefined, "a source register") == SIM_STOP)
    return SIM_STOP;
  sim_step step = in->exec(w, in, mask);
  if (step != SIM_NEXT || w->reg == NULL)
    return step;
  for (uint32_t i = 0; i < in->n_dst; i++)
    hd_sim_define(w, &in->opnd[i], mask, in->pure ? undefined : 0);
  hd_sim_define(w, &in->dst2, mask, in->pure ? undefined : 0);
  return step;
}

/* Aligned instructions need the whole warp: true if it is present. */
static bool is_whole(sim_warp *w, const sim_insn *in, uint32_t mask, sim_step *step) {
  uint32_t live = w->lanes & ~w->exited;
  sim_group *g = &w->group[w->current];
  if (mask == live)
    return true;
  if (g->mask != live) {
    hd_sim_block(w, SIM_WAIT_LANES, 0, live & ~g->mask);
    *step = SIM_WAIT;
  } else {
    *step = hd_sim_fault(w->machine, "aligned", w, (uint32_t)__builtin_ctz(live & ~mask), in,
                         "executed by lanes 0x%08x of 0x%08x only", mask, live);
  }
  return false;
}

static sim_step step_group(sim_warp *w) {
  sim_machine *m = w->machine;
  sim_group *g = &w->group[w->current];
  if (g->pc >= m->program->n_insns)
    return hd_sim_exit(w, &m->program->insn[m->program->n_insns - 1], g->mask);
  const sim_insn *in = &m->program->insn[g->pc];
  sim_step step = SIM_NEXT;
  if (in->pred != SIM_NO_REG) {
    w->touched[in->pred] = w->fence_epoch;
    if (complain_undefined(w, in, w->undefined[in->pred] & g->mask, "the predicate") == SIM_STOP)
      return SIM_STOP;
  }
  uint32_t mask = active_lanes(w, in, g->mask);
  if (mask && (!in->aligned || is_whole(w, in, mask, &step))) {
    hd_sim_trace(w, HD_SIM_EXECUTES, in, mask, 0);
    step = execute(w, in, mask);
    m->report->n_instructions++;
    w->steps++;
  }
  g = &w->group[w->current];
  if (step == SIM_NEXT)
    g->pc++;
  if (step == SIM_WAIT) {
    g->stamp = hd_sim_moved(w, g);
  } else {
    g->wait = SIM_WAIT_NONE;
    g->entered = false;
  }
  return step;
}

/* ---- groups of a warp ---- */

static bool can_run(const sim_warp *w, const sim_group *g) {
  return g->mask && (g->wait == SIM_WAIT_NONE || g->stamp != hd_sim_moved(w, g) || g->give_up);
}

static bool counted(const sim_group *g) { return g->entered && g->wait == SIM_WAIT_BARRIER; }

/* Merges groups that have reached the same pc. */
static void merge_groups(sim_warp *w) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n_groups; i++) {
    sim_group *g = &w->group[i];
    bool merged = g->mask == 0;
    for (uint32_t j = 0; j < n && !merged; j++) {
      sim_group *into = &w->group[j];
      if (into->pc == g->pc && !counted(g) && !counted(into)) {
        into->mask |= g->mask;
        into->wait = SIM_WAIT_NONE;
        into->entered = false;
        into->give_up = false;
        merged = true;
      }
    }
    if (!merged)
      w->group[n++] = *g;
  }
  w->n_groups = n;
}

/* The lanes that are furthest behind run first, so that the warp becomes whole again. */
static bool choose_group(sim_warp *w) {
  bool found = false;
  for (uint32_t i = 0; i < w->n_groups; i++) {
    const sim_group *g = &w->group[i];
    if (can_run(w, g) && (!found || g->pc < w->group[w->current].pc)) {
      w->current = i;
      found = true;
    }
  }
  return found;
}

static void run_warp(sim_warp *w, uint32_t quantum) {
  sim_machine *m = w->machine;
  while (quantum-- && !m->stop && choose_group(w)) {
    if (step_group(w) == SIM_STOP && !m->stop)
      m->stop = true;
    if (w->n_groups > 1 || w->group[0].mask == 0)
      merge_groups(w);
  }
}

/* ---- asynchronous work ---- */

static uint32_t ready_queues(sim_machine *m, sim_wgmma **queue, uint32_t max) {
  uint32_t n = 0;
  for (uint32_t i = m->live_from; i < m->live_to; i++) {
    sim_cta *cta = m->cta[i];
    for (uint32_t j = 0; cta && !cta->done && j < m->n_warpgroups && n < max; j++)
      if (hd_sim_wgmma_ready(&cta->wgmma[j]))
        queue[n++] = &cta->wgmma[j];
  }
  return n;
}

/* Completes one operation; false: none can complete. */
static bool complete_one(sim_machine *m) {
  sim_wgmma *queue[64];
  uint32_t n = ready_queues(m, queue, 64), all = n + m->n_pending;
  if (all == 0)
    return false;
  uint32_t first = (uint32_t)(hd_sim_random(m) % all);
  for (uint32_t i = 0; i < all; i++) {
    uint32_t pick = (first + i) % all;
    sim_step step = SIM_NEXT;
    if (pick < n) {
      hd_sim_wgmma_step(m, queue[pick], &step);
    } else {
      step = hd_sim_async_run(m, pick - n);
      if (step == SIM_WAIT)
        continue;
    }
    m->stop |= step == SIM_STOP;
    return true;
  }
  return false;
}

/* ---- deadlock ---- */

static void describe_mbarrier(hd_strbuf *out, const sim_cta *cta, const sim_group *g) {
  const sim_mbarrier *b = hd_sim_mbarrier_at((sim_cta *)cta, (uint32_t)g->address);
  hd_strbuf_printf(out, "the mbarrier at shared byte %u", (uint32_t)g->address);
  if (b)
    hd_strbuf_printf(out, " (phase %u: %u of %u arrivals and %lld bytes missing)", b->phase,
                     b->pending, b->count, (long long)b->tx);
}

static void describe_wait(hd_strbuf *out, const sim_warp *w, const sim_group *g) {
  switch (g->wait) {
  case SIM_WAIT_MBARRIER: describe_mbarrier(out, w->cta, g); break;
  case SIM_WAIT_BARRIER:
    hd_strbuf_printf(out, "barrier %u (%u of %u threads came)", (uint32_t)g->address,
                     w->cta->barrier[g->address].arrived, w->cta->barrier[g->address].expected);
    break;
  case SIM_WAIT_CLUSTER: hd_strbuf_add(out, "the cluster barrier"); break;
  case SIM_WAIT_WGMMA: hd_strbuf_printf(out, "wgmma group %u", g->detail); break;
  case SIM_WAIT_CP_ASYNC: hd_strbuf_add(out, "its cp.async"); break;
  case SIM_WAIT_BULK: hd_strbuf_add(out, "its bulk stores"); break;
  case SIM_WAIT_TENSOR: hd_strbuf_add(out, "tensor memory"); break;
  case SIM_WAIT_REGISTERS: hd_strbuf_printf(out, "%u registers per thread", g->detail); break;
  case SIM_WAIT_LANES: hd_strbuf_printf(out, "lanes 0x%08x of its warp", g->detail); break;
  default: hd_strbuf_add(out, "a value in memory"); break;
  }
}

static void report_deadlock(sim_machine *m, const char *rule, const char *what) {
  hd_strbuf text = {0};
  const sim_warp *first = NULL;
  const sim_insn *at = NULL;
  uint32_t n = 0;
  hd_strbuf_add(&text, what);
  for (uint32_t i = m->live_from; i < m->live_to; i++) {
    const sim_cta *cta = m->cta[i];
    for (uint32_t j = 0; cta && !cta->done && j < cta->n_warps; j++) {
      const sim_warp *w = &cta->warp[j];
      for (uint32_t k = 0; k < w->n_groups; k++) {
        const sim_group *g = &w->group[k];
        if (!g->mask || n++ > 12)
          continue;
        const sim_insn *in = &m->program->insn[g->pc];
        if (!first) {
          first = w;
          at = in;
        }
        hd_strbuf_printf(&text, "\n    cta %u warp %u lanes 0x%08x at line %u waits for ", i, j,
                         g->mask, in->line);
        describe_wait(&text, w, g);
      }
    }
  }
  hd_sim_fault(m, rule, first, 0, at, "%s", hd_strbuf_text(&text));
  hd_strbuf_free(&text);
}

/* ---- the main loop ---- */

typedef struct schedule {
  uint32_t next, resident, limit; /* next CTA to start */
  uint64_t round_at;
  uint32_t rounds;
} schedule;

static void admit(sim_machine *m, schedule *s) {
  while (s->next < m->n_ctas && s->resident + m->cluster_size <= s->limit) {
    for (uint32_t i = 0; i < m->cluster_size; i++)
      if (!hd_sim_cta_new(m, s->next++))
        return;
    s->resident += m->cluster_size;
    m->live_to = s->next;
    hd_sim_progress(m);
  }
}

static void retire(sim_machine *m, schedule *s, sim_cta *cta) {
  if (!cta->done || !cta->shared.data)
    return;
  /* Operations that a CTA leaves in flight are a finding, but the run may continue: they complete
   * while the CTA's memory exists. */
  for (uint32_t i = 0; i < m->n_pending && !m->stop;) {
    const sim_async *op = m->pending[i];
    bool of_cta = op->target == cta || op->warp->cta == cta;
    i = of_cta && hd_sim_async_run(m, i) != SIM_WAIT ? 0 : i + 1;
  }
  hd_sim_cta_retire(m, cta);
  s->resident--;
  while (m->live_from < m->live_to && m->cta[m->live_from]->done)
    m->live_from++;
}

/* With odd seeds warps have priorities (a hash of seed and position), so that one runs ahead as far
 * as it can. With even seeds, and now and then with odd ones, any warp is chosen. */
static uint64_t priority(const sim_machine *m, const sim_warp *w) {
  uint64_t h = (m->options.seed << 20 | w->cta->index << 6 | w->index) + 1;
  h *= 0x9e3779b97f4a7c15ull;
  return (h ^ h >> 31) * 0xbf58476d1ce4e5b9ull;
}

static sim_warp *choose_warp(sim_machine *m, bool held) {
  sim_warp *chosen = NULL;
  uint32_t n = 0;
  bool ranked = (m->options.seed & 1) && hd_sim_random(m) % 16;
  for (uint32_t i = m->live_from; i < m->live_to; i++) {
    sim_cta *cta = m->cta[i];
    for (uint32_t j = 0; cta && !cta->done && j < cta->n_warps; j++) {
      const sim_warp *w = &cta->warp[j];
      bool runs = false;
      if (m->options.hold && (j + 1 == m->options.hold) != held)
        continue;
      for (uint32_t k = 0; k < w->n_groups && !runs; k++)
        runs = can_run(w, &w->group[k]);
      if (!runs)
        continue;
      if (ranked ? !chosen || priority(m, w) > priority(m, chosen) : hd_sim_random(m) % ++n == 0)
        chosen = &cta->warp[j];
    }
  }
  return chosen;
}

/* Nothing runs and nothing is in flight: lets waits that have a time limit return false. */
static bool give_up_waits(sim_machine *m, schedule *s) {
  bool any = false;
  s->rounds = s->round_at == m->progress ? s->rounds + 1 : 1;
  s->round_at = m->progress;
  if (s->rounds > MAX_ROUNDS)
    return false;
  for (uint32_t i = m->live_from; i < m->live_to; i++) {
    sim_cta *cta = m->cta[i];
    for (uint32_t j = 0; cta && !cta->done && j < cta->n_warps; j++) {
      for (uint32_t k = 0; k < cta->warp[j].n_groups; k++) {
        sim_group *g = &cta->warp[j].group[k];
        if (g->mask && g->wait == SIM_WAIT_MBARRIER)
          g->give_up = any = true;
      }
    }
  }
  return any;
}

void hd_sim_schedule(sim_machine *m) {
  schedule s = {.limit = m->plan->variant->persistent ? m->n_ctas : m->options.max_resident};
  if (m->options.sequential || s.limit < m->cluster_size)
    s.limit = m->cluster_size;
  while (!m->stop) {
    admit(m, &s);
    if (s.resident == 0 || hd_memory_shortages() != m->shortages)
      return;
    if (m->options.mode == HD_SIM_RANDOM && hd_sim_random(m) % 4 == 0)
      complete_one(m);
    sim_warp *w = choose_warp(m, false);
    if (!w && m->options.hold) {
      if (complete_one(m))
        continue;
      w = choose_warp(m, true);
    }
    if (w) {
      run_warp(w, 1 + (uint32_t)(hd_sim_random(m) % 64));
      retire(m, &s, w->cta);
    } else if (!complete_one(m) && !give_up_waits(m, &s)) {
      report_deadlock(m, "deadlock", "nothing can go on:");
    }
    if (m->report->n_instructions > m->options.max_steps)
      report_deadlock(m, "steps", "the limit of instructions is reached:");
  }
}
