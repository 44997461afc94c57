/* Sim/sim_barrier.c: CTA, cluster and warp barriers; fences; the dependence on the previous
 * grid. */
#include <string.h>

#include "Sim/sim_machine.h"

/* ---- bar.sync, barrier.sync, bar.arrive ---- */

/* Ends a round: every waiting lane acquires what the others did, and that the round is complete. */
static void release_barrier(sim_machine *m, sim_cta *cta, uint32_t id) {
  sim_barrier *b = &cta->barrier[id];
  if (m->agent_barrier)
    hd_sim_vc_raise(m, &b->arriving, hd_sim_agent(cta, m->agent_barrier + id), b->generation + 1);
  for (uint32_t i = 0; i < cta->n_threads; i++)
    cta->thread[i].came &= (uint16_t)~(1u << id);
  for (uint32_t i = 0; i < cta->n_warps; i++) {
    sim_warp *w = &cta->warp[i];
    for (uint32_t j = 0; j < w->n_groups; j++) {
      sim_group *g = &w->group[j];
      if (g->wait != SIM_WAIT_BARRIER || g->address != id || !g->entered)
        continue;
      hd_sim_acquire(m, w, g->mask, &b->arriving);
      w->dirty = g->mask != (w->lanes & ~w->exited);
    }
  }
  hd_sim_vc_free(m, &b->arriving);
  hd_sim_vc_init(m, &b->arriving);
  b->arrived = 0;
  b->expected = 0;
  b->generation++;
  hd_sim_progress(m);
}

/* The arrival must belong to this round in every schedule: the end of the previous round must
 * happen before. A thread that only arrived in that round did not wait for its end. */
static sim_step check_round(sim_warp *w, const sim_insn *in, uint32_t mask, uint32_t id) {
  sim_machine *m = w->machine;
  uint32_t round = w->cta->barrier[id].generation;
  sim_agent agent = hd_sim_agent(w->cta, m->agent_barrier + id);
  if (!m->agent_barrier || round == 0 || (m->options.off & HD_SIM_NO_RACES))
    return SIM_NEXT;
  SIM_LANES(l, mask)
  if (!hd_sim_clock_has(&hd_sim_thread(w, l)->vc.order, agent, round))
    return hd_sim_find(m, "phase", w, l, in, NULL,
                       "comes to barrier %u for round %u here, and could come for an earlier one: "
                       "nothing tells it that round %u is over", id, round, round - 1);
  return SIM_NEXT;
}

/* The lanes must name the same barrier and the same number of threads. */
static sim_step check_same(sim_warp *w, const sim_insn *in, uint32_t mask) {
  static const char *const what[] = {"barriers", "numbers of threads"};
  for (uint32_t i = 0; i < in->n_opnds; i++) {
    uint64_t first = hd_sim_read_lane(w, &in->opnd[i], (uint32_t)__builtin_ctz(mask));
    SIM_LANES(l, mask) {
      uint64_t own = hd_sim_read_lane(w, &in->opnd[i], l);
      if (own != first)
        return hd_sim_fault(w->machine, "barrier", w, l, in,
                            "%s %u and %u; legal: one for all lanes of a warp", what[i],
                            (uint32_t)first, (uint32_t)own);
    }
  }
  return SIM_NEXT;
}

static sim_step arrive_barrier(sim_warp *w, const sim_insn *in, uint32_t mask, uint32_t id) {
  sim_machine *m = w->machine;
  sim_barrier *b = &w->cta->barrier[id];
  uint32_t first = (uint32_t)__builtin_ctz(mask), expected = m->n_threads;
  if (in->n_opnds > 1)
    expected = (uint32_t)hd_sim_read_lane(w, &in->opnd[1], first);
  if (expected == 0 || expected % 32 || expected > m->n_threads)
    return hd_sim_fault(m, "barrier", w, first, in,
                        "barrier %u for %u threads; legal: a multiple of 32, at most %u", id,
                        expected, m->n_threads);
  if (b->arrived && b->expected != expected)
    return hd_sim_fault(m, "barrier", w, first, in,
                        "barrier %u for %u threads, but others came for %u", id, expected,
                        b->expected);
  SIM_LANES(l, mask) { /* a round ends after enough arrivals, so a thread may arrive only once */
    sim_thread *t = hd_sim_thread(w, l);
    if (t->came >> id & 1)
      return hd_sim_fault(m, "barrier", w, l, in, "comes to barrier %u twice in a round", id);
    t->came |= (uint16_t)(1u << id);
  }
  if (check_round(w, in, mask, id) == SIM_STOP)
    return SIM_STOP;
  b->expected = expected;
  b->arrived += (uint32_t)__builtin_popcount(mask);
  hd_sim_publish(m, &b->arriving, w, mask);
  if (b->arrived > expected)
    return hd_sim_fault(m, "barrier", w, first, in, "%u threads came to barrier %u for %u",
                        b->arrived, id, expected);
  return SIM_NEXT;
}

static sim_step exec_bar(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_group *g = &w->group[w->current];
  uint32_t id = (uint32_t)hd_sim_read_lane(w, &in->opnd[0], (uint32_t)__builtin_ctz(mask));
  if (!g->entered && check_same(w, in, mask) == SIM_STOP)
    return SIM_STOP;
  if (id >= SIM_N_BARRIERS)
    return hd_sim_fault(m, "barrier", w, 0, in, "barrier %u; legal: 0 to 15", id);
  sim_barrier *b = &w->cta->barrier[id];
  bool waits = in->op != 0;
  if (!g->entered) {
    if (arrive_barrier(w, in, mask, id) == SIM_STOP)
      return SIM_STOP;
    g->entered = waits;
    g->generation = b->generation;
    hd_sim_block(w, SIM_WAIT_BARRIER, id, b->expected);
    if (b->arrived == b->expected)
      release_barrier(m, w->cta, id);
  }
  if (waits && g->generation == b->generation) {
    g->stamp =
        m->progress; /* nothing has changed: not retried until something has */
    return SIM_WAIT;
  }
  g->entered = false;
  g->wait = SIM_WAIT_NONE;
  return SIM_NEXT;
}

static sim_step exec_bar_warp(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_step step = hd_sim_members(w, in, &in->opnd[0], &mask);
  if (step == SIM_NEXT)
    hd_sim_lanesync(w, mask);
  return step;
}

/* ---- barrier.cluster ---- */

void hd_sim_cluster_advance(sim_machine *m, uint32_t cluster) {
  sim_barrier *b = &m->cluster[cluster].barrier;
  if (b->expected == 0 || b->arrived < b->expected)
    return;
  b->arrived = 0;
  b->generation++;
  hd_sim_vc_join(m, &b->done, &b->arriving);
  hd_sim_progress(m);
}

static sim_step exec_cluster_arrive(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  uint32_t cluster = w->cta->index / m->cluster_size;
  sim_barrier *b = &m->cluster[cluster].barrier;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    if (t->cluster_arrived)
      return hd_sim_fault(m, "barrier", w, l, in, "arrives twice without barrier.cluster.wait");
    t->cluster_arrived = true;
    t->cluster_generation = b->generation;
    b->arrived++;
  }
  if (in->sem != SIM_SEM_RELAXED) {
    hd_sim_publish(m, &b->arriving, w, mask);
  } else {
    SIM_LANES(l, mask) {
      sim_thread *t = hd_sim_thread(w, l);
      hd_sim_clock_join(m, &b->arriving.order, &t->vc.order);
      hd_sim_clock_raise(m, &b->arriving.order, hd_sim_thread_agent(w, l), t->clock++);
    }
  }
  hd_sim_cluster_advance(m, cluster);
  return SIM_NEXT;
}

static sim_step exec_cluster_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_barrier *b = &m->cluster[w->cta->index / m->cluster_size].barrier;
  SIM_LANES(l, mask) {
    const sim_thread *t = hd_sim_thread(w, l);
    if (!t->cluster_arrived)
      return hd_sim_fault(m, "barrier", w, l, in, "waits without barrier.cluster.arrive");
    if (t->cluster_generation == b->generation) {
      hd_sim_block(w, SIM_WAIT_CLUSTER, 0, b->expected - b->arrived);
      return SIM_WAIT;
    }
  }
  SIM_LANES(l, mask) hd_sim_thread(w, l)->cluster_arrived = false;
  hd_sim_acquire(m, w, mask, &b->done);
  return SIM_NEXT;
}

/* ---- fences ---- */

static sim_step exec_proxy_fence(sim_warp *w, const sim_insn *in, uint32_t mask) {
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    sim_fence f = {t->clock++, t->cp_waited, in->op};
    HD_PUSH(t->fence, t->n_fences, t->fence_cap, f);
  }
  w->dirty = true;
  return SIM_NEXT;
}

static sim_step exec_griddep_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  (void)in;
  SIM_LANES(l, mask) hd_sim_vc_raise(m, &hd_sim_thread(w, l)->vc, m->agent_grid, 1);
  w->dirty = true;
  return SIM_NEXT;
}

/* R8: the next grid waits only for this one, not for the grid before. */
static sim_step exec_griddep_launch(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  SIM_LANES(l, mask)
  if (m->plan->variant->dependent_launch &&
      !hd_sim_clock_has(&hd_sim_thread(w, l)->vc.full, m->agent_grid, 1))
    return hd_sim_find(m, "R8", w, l, in, NULL,
                       "lets the next grid start before griddepcontrol.wait");
  return SIM_NEXT;
}

/* ---- decoding ---- */

static heddle_status decode_bar(sim_decode *d, sim_insn *in) {
  bool old = strcmp(d->mod[0], "bar") == 0;
  if (hd_sim_take(d, "cluster")) {
    bool arrive = hd_sim_take(d, "arrive");
    in->exec = arrive ? exec_cluster_arrive : exec_cluster_wait;
    in->aligned = hd_sim_take(d, "aligned");
    hd_sim_take_order(d, in);
    return arrive || hd_sim_take(d, "wait") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  if (hd_sim_take(d, "warp")) {
    in->exec = exec_bar_warp;
    return hd_sim_take(d, "sync") && in->n_opnds == 1 ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  hd_sim_take(d, "cta");
  in->op = hd_sim_take(d, "sync");
  if (!in->op && !hd_sim_take(d, "arrive"))
    return HEDDLE_UNSUPPORTED;
  in->exec = exec_bar;
  in->aligned = hd_sim_take(d, "aligned") || old;
  bool fits = in->n_opnds == 2 || (in->op && in->n_opnds == 1);
  if (in->n_opnds == 2)
    ((sim_program *)d->program)->has_named_barrier = true;
  return fits ? HEDDLE_OK : HEDDLE_INVALID;
}

static heddle_status decode_fence(sim_decode *d, sim_insn *in) {
  in->exec = hd_sim_exec_fence;
  if (hd_sim_take(d, "proxy")) {
    in->exec = exec_proxy_fence;
    uint8_t cluster = SIM_FENCE_SHARED | SIM_FENCE_REMOTE;
    in->op = hd_sim_take(d, "global")            ? SIM_FENCE_GLOBAL
             : hd_sim_take(d, "shared::cta")     ? SIM_FENCE_SHARED
             : hd_sim_take(d, "shared::cluster") ? cluster : cluster | SIM_FENCE_GLOBAL;
    return hd_sim_take(d, "async") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  if (hd_sim_take(d, "mbarrier_init")) {
    in->exec = exec_proxy_fence;
    in->op = SIM_FENCE_INIT;
    hd_sim_take_order(d, in);
    return HEDDLE_OK;
  }
  hd_sim_take(d, "sc");
  hd_sim_take_order(d, in);
  return in->scope ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
}

heddle_status hd_sim_decode_sync(sim_decode *d, sim_insn *in) {
  const char *name = d->mod[0];
  if (strcmp(name, "fence") == 0)
    return decode_fence(d, in);
  if (strcmp(name, "membar") == 0) {
    in->exec = hd_sim_exec_fence;
    in->scope = hd_sim_take(d, "gl") || hd_sim_take(d, "sys") ? SIM_SCOPE_GPU : SIM_SCOPE_CTA;
    hd_sim_take(d, "cta");
    return HEDDLE_OK;
  }
  if (strcmp(name, "griddepcontrol") == 0) {
    bool wait = hd_sim_take(d, "wait");
    in->exec = wait ? exec_griddep_wait : exec_griddep_launch;
    return wait || hd_sim_take(d, "launch_dependents") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  return decode_bar(d, in);
}
