/* Sim/sim_scope.c: release and acquire through a word of memory, by scope (PTX ISA, "Release and
 * Acquire Patterns", "Causality Order").
 *
 * A release pattern is an operation with .release, or a fence and then a strong write; an acquire
 * pattern is an operation with .acquire, or a strong read and then a fence. They synchronise if the
 * read sees the write, or an atomic operation that followed it, and if the scopes of both patterns
 * include the other thread. A pattern's scope is the narrower one of its fence and its access. A
 * store begins a new value: only the storing thread's own earlier releases remain. */
#include "Sim/sim_scope.h"
#include "Support/memory.h"

static uint8_t lesser(uint8_t a, uint8_t b) { return a < b ? a : b; }

/* Without a scope: GPU; .sys is equivalent here. */
static uint8_t scope_of(const sim_insn *in) {
  return in->scope == SIM_SCOPE_CTA || in->scope == SIM_SCOPE_CLUSTER ? in->scope : SIM_SCOPE_GPU;
}

/* The narrowest scope that includes both CTAs. */
static uint8_t between(const sim_machine *m, uint32_t a, uint32_t b) {
  return a == b                                     ? SIM_SCOPE_CTA
         : a / m->cluster_size == b / m->cluster_size ? SIM_SCOPE_CLUSTER : SIM_SCOPE_GPU;
}

static void add(const sim_machine *m, sim_releases *to, sim_agent agent, uint8_t scope,
                const sim_vc *vc) {
  for (uint32_t i = 0; i < to->n; i++)
    if (to->at[i].agent == agent && to->at[i].scope == scope) {
      hd_sim_vc_join(m, &to->at[i].vc, vc);
      return;
    }
  sim_release r = {.agent = agent, .scope = scope};
  hd_sim_vc_init(m, &r.vc);
  hd_sim_vc_join(m, &r.vc, vc);
  HD_PUSH(to->at, to->n, to->cap, r);
}

/* Drops all releases except those of agent `but`; SIM_NO_AGENT: drops all. */
static void drop(const sim_machine *m, sim_releases *from, sim_agent but) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < from->n; i++)
    if (from->at[i].agent == but)
      from->at[n++] = from->at[i];
    else
      hd_sim_vc_free(m, &from->at[i].vc);
  from->n = n;
}

void hd_sim_releases_free(const sim_machine *m, sim_releases *releases) {
  drop(m, releases, SIM_NO_AGENT);
  hd_free(releases->at);
  *releases = (sim_releases){0};
}

void hd_sim_releases_copy(const sim_machine *m, sim_releases *to, const sim_releases *from) {
  drop(m, to, SIM_NO_AGENT);
  for (uint32_t i = 0; i < from->n; i++)
    add(m, to, from->at[i].agent, from->at[i].scope, &from->at[i].vc);
}

static void acquire(sim_warp *w, uint32_t lane, const sim_releases *from, uint8_t scope) {
  sim_machine *m = w->machine;
  for (uint32_t i = 0; i < from->n; i++) {
    const sim_release *r = &from->at[i];
    if (between(m, r->agent >> SIM_AGENT_SHIFT, w->cta->index) <= lesser(r->scope, scope))
      hd_sim_acquire(m, w, 1u << lane, &r->vc);
  }
}

/* ---- accesses to a word ---- */

void hd_sim_word_store(sim_warp *w, uint32_t lane, sim_sync_word *word) {
  drop(w->machine, &word->releases, hd_sim_thread_agent(w, lane));
}

void hd_sim_word_release(sim_warp *w, const sim_insn *in, uint32_t lane, sim_sync_word *word) {
  sim_machine *m = w->machine;
  const sim_thread *t = hd_sim_thread(w, lane);
  sim_agent self = hd_sim_thread_agent(w, lane);
  for (uint32_t i = 0; i < t->fenced.n; i++)
    add(m, &word->releases, self, lesser(t->fenced.at[i].scope, scope_of(in)), &t->fenced.at[i].vc);
  if (in->sem != SIM_SEM_RELEASE && in->sem != SIM_SEM_ACQ_REL)
    return;
  sim_vc now;
  hd_sim_vc_init(m, &now);
  hd_sim_publish(m, &now, w, 1u << lane);
  add(m, &word->releases, self, scope_of(in), &now);
  hd_sim_vc_free(m, &now);
}

void hd_sim_word_acquire(sim_warp *w, const sim_insn *in, uint32_t lane,
                         const sim_releases *seen) {
  sim_thread *t = hd_sim_thread(w, lane);
  if (in->sem == SIM_SEM_ACQUIRE || in->sem == SIM_SEM_ACQ_REL) {
    acquire(w, lane, seen, scope_of(in));
    return;
  }
  for (uint32_t i = 0; i < seen->n; i++)
    add(w->machine, &t->seen, seen->at[i].agent, lesser(seen->at[i].scope, scope_of(in)),
        &seen->at[i].vc);
}

/* ---- fences ---- */

sim_step hd_sim_exec_fence(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  SIM_LANES(l, mask) {
    sim_thread *t = hd_sim_thread(w, l);
    if (in->sem != SIM_SEM_RELEASE)
      acquire(w, l, &t->seen, scope_of(in));
    if (in->sem == SIM_SEM_ACQUIRE)
      continue;
    sim_vc now;
    hd_sim_vc_init(m, &now);
    hd_sim_publish(m, &now, w, 1u << l);
    add(m, &t->fenced, hd_sim_thread_agent(w, l), scope_of(in), &now);
    hd_sim_vc_free(m, &now);
  }
  return SIM_NEXT;
}
