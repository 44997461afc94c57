/* Sim/sim_shadow.c: compares every access with the history of its memory: order (R1, R3, R7),
 * proxies (R2), initialisation, and the dependence on the previous grid (R8). */
#include <stdio.h>
#include <string.h>

#include "Sim/sim_tmem.h"

static bool view_has(const sim_access *a, const sim_clock *clock, sim_agent agent, uint32_t at) {
  return agent == SIM_NO_AGENT || (agent == a->view.self && at <= a->view.self_clock) ||
         hd_sim_clock_has(clock, agent, at) || (a->tensor && hd_sim_tensor_pipelined(a, agent, at));
}

/* Whether the writer fenced its write for the async proxy, and the fence happens before the access.
 * A cp.async must have been waited for before the fence. */
static bool is_fenced(const sim_access *a, const sim_memory *memory, const sim_cell *cell) {
  const sim_machine *m = a->m;
  const sim_cta *cta = m->cta[cell->writer >> SIM_AGENT_SHIFT];
  uint32_t local = hd_sim_local(cell->writer);
  bool copied = m->agent_cp && local >= m->agent_cp && local < m->agent_cp + m->n_threads;
  uint32_t thread = copied ? local - m->agent_cp : local;
  uint8_t want = memory->buffer       ? SIM_FENCE_GLOBAL
                 : memory->cta == cta ? SIM_FENCE_SHARED : SIM_FENCE_REMOTE;
  if (local >= m->agent_mbarrier && local < m->agent_grid)
    return false; /* st.async: no thread can fence it */
  if (!cta || thread >= m->n_threads)
    return true;
  const sim_thread *t = &cta->thread[thread];
  for (uint32_t i = t->n_fences; i-- > 0;) {
    const sim_fence *f = &t->fence[i];
    if (copied ? f->cp_known < cell->write_clock : f->clock < cell->write_clock)
      return false;
    if ((f->what & want) && view_has(a, &a->view.vc->full, hd_sim_agent(cta, thread), f->clock + 1))
      return true;
  }
  return false;
}

static const sim_insn *site(const sim_machine *m, uint32_t index) {
  return &m->program->insn[index];
}

static const char *what(uint8_t kind) { return kind == SIM_READ ? "read" : "write"; }

/* "NAME byte 16", "shared byte 16", "tensor memory lane 3 column 7". */
static const char *locate(const sim_memory *memory, uint64_t index, char out[96]) {
  unsigned long long at = index << memory->shift;
  if (memory->column)
    snprintf(out, 96, "tensor memory lane %u column %u", (uint32_t)index / SIM_TENSOR_COLUMNS,
             (uint32_t)index % SIM_TENSOR_COLUMNS);
  else
    snprintf(out, 96, "%.64s byte %llu", memory->buffer ? memory->buffer->name : "shared", at);
  return out;
}

/* The position of an allocation of tensor memory is random: columns count from its start. */
static uint64_t lasting_index(const sim_memory *memory, uint64_t index) {
  return memory->column ? index + 1 - memory->column[index % SIM_TENSOR_COLUMNS] : index;
}

static bool is_bulk_store(const sim_machine *m, sim_agent agent) {
  uint32_t local = hd_sim_local(agent);
  return m->agent_bulk_read && local >= m->agent_bulk_read && local < m->agent_wgmma;
}

static bool same_cluster(const sim_access *a, sim_agent agent) {
  uint32_t mine = a->agent >> SIM_AGENT_SHIFT, other = agent >> SIM_AGENT_SHIFT;
  return mine == other || mine / a->m->cluster_size == other / a->m->cluster_size;
}

/* Names the rule that two unordered accesses break. */
static const char *broken_rule(const sim_access *a, const sim_memory *memory, uint8_t before,
                               sim_agent agent, bool before_async) {
  if (memory->column)
    return "R9";
  if (memory->buffer && !same_cluster(a, agent))
    return "R7";
  if (before == SIM_READ)
    return is_bulk_store(a->m, agent) ? "R6" : a->async || before_async ? "R3" : "race";
  if (before_async)
    return a->kind == SIM_READ ? "R1" : "R3";
  return a->async ? "R2" : "race";
}

static sim_step race(const sim_access *a, const sim_memory *memory, uint64_t index, uint8_t before,
                     sim_agent agent, uint32_t before_site, const char *rule) {
  char name[96], mine[96], where[96];
  const sim_insn *other = site(a->m, before_site);
  return hd_sim_find(
      a->m, rule, a->warp, a->lane, a->insn, other,
      "%s of %s by %s is not ordered after its %s by %s at line %u (`%s`)", what(a->kind),
      locate(memory, index, where), hd_sim_agent_name(a->m, a->agent, mine), what(before),
      hd_sim_agent_name(a->m, agent, name), other->line, other->text);
}

/* The pair is ordered only by a remote arrive at default scope: R3 assumes that this is sufficient
 * for reads (measured; the ISA guarantees it at cluster scope). */
static sim_step assume(const sim_access *a, const sim_memory *memory, uint64_t index,
                       uint8_t before, sim_agent agent, uint32_t before_site) {
  a->m->report->n_assumed++;
  return a->m->options.strict ? race(a, memory, index, before, agent, before_site, "R3:measured")
                              : SIM_NEXT;
}

/* The number of an mbarrier is random, too, since unused ones may not be initialised. Agents that
 * signal an mbarrier are identified by its address. */
static uint64_t lasting_agent(const sim_machine *m, sim_agent agent) {
  uint32_t local = hd_sim_local(agent);
  bool sent = m->agent_sent && local >= m->agent_sent;
  uint32_t number = local - (sent ? m->agent_sent : m->agent_mbarrier);
  const sim_cta *cta = m->cta[agent >> SIM_AGENT_SHIFT];
  if (local < m->agent_mbarrier || number >= SIM_MAX_MBARRIERS || !cta)
    return agent;
  return (uint64_t)(1 + sent) << 32 | cta->mbarrier[number].offset | (uint64_t)cta->index << 34;
}

/* Adds a pair with its hash so far, at an index. */
static void note_index(sim_machine *m, uint64_t h, uint64_t index) {
  h ^= index << 4;
  h = (h ^ h >> 31) * 0x9e3779b97f4a7c15ull;
  m->report->order_hash += h ^ h >> 32;
  m->report->n_conflicts++;
}

/* Ignores pairs of different clusters: their order (R7) is not a property of the kernel. */
static void note_pair(const sim_access *a, uint64_t index, sim_agent agent, uint32_t before_site,
                      uint8_t before) {
  if (!same_cluster(a, agent))
    return;
  uint64_t h = lasting_agent(a->m, agent);
  h = (h ^ h >> 30) * 0xff51afd7ed558ccdull ^ lasting_agent(a->m, a->agent);
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
  h ^= (uint64_t)site(a->m, before_site)->order << 32 | a->insn->order;
  h = (h ^ h >> 32) * 0x94d049bb133111ebull;
  h ^= (uint64_t)before << 2 | a->kind;
  if (a->m->n_noted < SIM_MAX_NOTED)
    a->m->noted[a->m->n_noted++] = h;
  note_index(a->m, h, index);
}

/* ---- strong accesses ---- */

/* The scope of an access that is relaxed or stronger; none: it is weak. A bulk reduction writes at
 * gpu scope. */
static uint8_t strength(const sim_insn *in, bool writes) {
  if (writes && (in->flags & SIM_F_REDUCE))
    return SIM_SCOPE_GPU;
  return in->sem == SIM_SEM_NONE ? SIM_SCOPE_NONE : in->scope ? in->scope : SIM_SCOPE_GPU;
}

/* Both are strong, each at a scope that includes the other's thread: they do not race. */
static bool is_strong_pair(const sim_access *a, const sim_readers *before) {
  uint8_t scope = strength(a->insn, a->kind != SIM_READ);
  if (scope == SIM_SCOPE_NONE)
    return false;
  bool own = a->agent >> SIM_AGENT_SHIFT == before->agent >> SIM_AGENT_SHIFT;
  uint8_t least = own                              ? SIM_SCOPE_CTA
                  : same_cluster(a, before->agent) ? SIM_SCOPE_CLUSTER : SIM_SCOPE_GPU;
  return scope >= least && strength(site(a->m, before->site), before->wrote) >= least;
}

/* ---- readers ---- */

static sim_readers first_reader(const sim_cell *c) {
  return (sim_readers){.agent = c->reader, .clock = c->read_clock, .site = c->read_site};
}

static sim_readers last_writer(const sim_cell *c) {
  return (sim_readers){
      .agent = c->writer, .clock = c->write_clock, .site = c->write_site, .wrote = true};
}

static void push_reader(sim_machine *m, sim_cell *c, sim_readers r) {
  uint32_t i = m->free_readers;
  if (i) {
    m->free_readers = m->readers[i - 1].next;
  } else {
    HD_PUSH(m->readers, m->n_readers, m->reader_cap, (sim_readers){0});
    i = m->n_readers;
  }
  r.next = c->more;
  m->readers[i - 1] = r;
  c->more = i;
}

typedef bool is_past(const sim_access *a, const sim_readers *r);

static void forget_readers(const sim_access *a, sim_cell *c, is_past *past) {
  sim_machine *m = a->m;
  for (uint32_t *link = &c->more; *link;) {
    sim_readers *r = &m->readers[*link - 1];
    if (past(a, r)) {
      uint32_t gone = *link;
      *link = r->next;
      r->next = m->free_readers;
      m->free_readers = gone;
    } else {
      link = &r->next;
    }
  }
}

/* r precedes this read: what is ordered after this read is ordered after r, too. */
static bool is_followed(const sim_access *a, const sim_readers *r) {
  return !r->wrote && view_has(a, &a->view.vc->full, r->agent, r->clock);
}

/* Whether later accesses need not be compared with r: those after this write follow r, too. */
static bool is_over(const sim_access *a, const sim_readers *r) {
  return r->agent == SIM_NO_AGENT || !is_strong_pair(a, r) ||
         view_has(a, &a->view.vc->full, r->agent, r->clock);
}

static bool same_reader(const sim_access *a, const sim_readers *r) {
  return r->agent == a->agent && !r->wrote &&
         strength(site(a->m, r->site), false) == strength(a->insn, false);
}

static void add_reader(const sim_access *a, sim_cell *c) {
  sim_readers first = first_reader(c);
  if (c->reader != SIM_NO_AGENT && same_reader(a, &first)) {
    c->read_clock = a->clock;
    c->read_site = a->insn->site;
    return;
  }
  for (uint32_t i = c->more; i; i = a->m->readers[i - 1].next) {
    sim_readers *r = &a->m->readers[i - 1];
    if (same_reader(a, r)) {
      r->clock = a->clock;
      r->site = a->insn->site;
      return;
    }
  }
  if (c->more)
    forget_readers(a, c, is_followed);
  if (c->reader != SIM_NO_AGENT && !view_has(a, &a->view.vc->full, c->reader, c->read_clock))
    push_reader(a->m, c, first);
  c->reader = a->agent;
  c->read_clock = a->clock;
  c->read_site = a->insn->site;
}

/* Keeps the accesses that this write is not ordered after, for comparison with later accesses. */
static void leave_behind(const sim_access *a, sim_cell *c) {
  const sim_readers before[] = {first_reader(c), last_writer(c)};
  if (c->more)
    forget_readers(a, c, is_over);
  for (size_t i = 0; i < HD_COUNT(before); i++)
    if (!is_over(a, &before[i]))
      push_reader(a->m, c, before[i]);
  c->reader = SIM_NO_AGENT;
}

/* ---- cells ---- */

static sim_step check_writer(const sim_access *a, const sim_memory *memory, const sim_cell *c,
                             uint64_t index) {
  bool was_async = c->flags & SIM_CELL_ASYNC;
  const sim_readers last = last_writer(c);
  if (c->writer == SIM_NO_AGENT || is_strong_pair(a, &last))
    return SIM_NEXT;
  /* A copy over a copy: the reads between the two imply that the first is complete (R3). */
  bool after = (a->async || a->late) && was_async && a->kind != SIM_READ;
  if (!view_has(a, after ? &a->view.vc->reads : &a->view.vc->full, c->writer, c->write_clock))
    return race(a, memory, index, SIM_WRITE, c->writer, c->write_site,
                broken_rule(a, memory, SIM_WRITE, c->writer, was_async));
  if (after && !view_has(a, &a->view.vc->full, c->writer, c->write_clock) &&
      assume(a, memory, index, SIM_WRITE, c->writer, c->write_site) == SIM_STOP)
    return SIM_STOP;
  note_pair(a, lasting_index(memory, index), c->writer, c->write_site, SIM_WRITE);
  if (!a->async || was_async || (a->m->options.off & HD_SIM_NO_PROXIES) ||
      is_fenced(a, memory, c))
    return SIM_NEXT;
  char name[96], where[96];
  const sim_insn *other = site(a->m, c->write_site);
  return hd_sim_find(a->m, "R2", a->warp, a->lane, a->insn, other,
                     "%s of %s through the async proxy after a generic write by %s at "
                     "line %u (`%s`): fence.proxy.async is missing in the writing thread, between "
                     "its write and the barrier",
                     what(a->kind), locate(memory, index, where),
                     hd_sim_agent_name(a->m, c->writer, name), other->line, other->text);
}

static sim_step check_reader(const sim_access *a, const sim_memory *memory, uint64_t index,
                             const sim_readers *r) {
  bool after = !r->wrote && (a->async || a->late);
  bool was_async = hd_sim_local(r->agent) >= (a->m->agent_bulk_read ? a->m->agent_bulk_read
                                                                    : a->m->agent_wgmma);
  uint8_t before = r->wrote ? SIM_WRITE : SIM_READ;
  if (is_strong_pair(a, r))
    return SIM_NEXT;
  if (!view_has(a, after ? &a->view.vc->reads : &a->view.vc->full, r->agent, r->clock))
    return race(a, memory, index, before, r->agent, r->site,
                broken_rule(a, memory, before, r->agent, was_async));
  if (after && !view_has(a, &a->view.vc->full, r->agent, r->clock) &&
      assume(a, memory, index, before, r->agent, r->site) == SIM_STOP)
    return SIM_STOP;
  note_pair(a, lasting_index(memory, index), r->agent, r->site, before);
  return SIM_NEXT;
}

/* A read is compared only with strong writes. */
static sim_step check_readers(const sim_access *a, const sim_memory *memory, const sim_cell *c,
                              uint64_t index) {
  bool reads = a->kind == SIM_READ;
  const sim_readers first = first_reader(c);
  if (reads && !(c->flags & SIM_CELL_WROTE))
    return SIM_NEXT;
  if (!reads && c->reader != SIM_NO_AGENT && check_reader(a, memory, index, &first) == SIM_STOP)
    return SIM_STOP;
  for (uint32_t i = c->more; i; i = a->m->readers[i - 1].next) {
    const sim_readers *r = &a->m->readers[i - 1];
    if ((!reads || r->wrote) && check_reader(a, memory, index, r) == SIM_STOP)
      return SIM_STOP;
  }
  return SIM_NEXT;
}

static sim_step check_cell(const sim_access *a, sim_memory *memory, sim_cell *c, uint64_t index) {
  if (c->flags & SIM_CELL_MBARRIER)
    return hd_sim_find(a->m, "mbarrier", a->warp, a->lane, a->insn, NULL,
                       "%s shared byte %llu, which is part of a live mbarrier",
                       a->kind == SIM_READ ? "reads" : "overwrites",
                       (unsigned long long)(index << memory->shift));
  bool undefined = a->kind != SIM_WRITE && !(c->flags & SIM_CELL_WRITTEN) &&
                   (!memory->buffer || memory->buffer->undefined);
  char where[96];
  if (undefined && !a->quiet && !(a->m->options.off & HD_SIM_NO_UNDEFINED) &&
      hd_sim_find(a->m, "uninitialised", a->warp, a->lane, a->insn, NULL,
                  "reads %s, which was never written", locate(memory, index, where)) == SIM_STOP)
    return SIM_STOP;
  bool races = !(a->m->options.off & HD_SIM_NO_RACES);
  if (races && check_writer(a, memory, c, index) == SIM_STOP)
    return SIM_STOP;
  if (races && check_readers(a, memory, c, index) == SIM_STOP)
    return SIM_STOP;
  if (a->kind == SIM_READ) {
    add_reader(a, c);
    return SIM_NEXT;
  }
  leave_behind(a, c);
  c->writer = a->agent;
  c->write_clock = a->clock;
  c->write_site = a->insn->site;
  c->flags = SIM_CELL_WRITTEN | (a->async ? SIM_CELL_ASYNC : 0) | (c->more ? SIM_CELL_WROTE : 0);
  return SIM_NEXT;
}

/* Checks a cell. Following cells with the same history have the same pairs and the same result. */
static sim_step check_alike(const sim_access *a, sim_memory *memory, uint64_t *index,
                            uint64_t last) {
  sim_machine *m = a->m;
  sim_cell *cell = memory->cell, *made = &cell[*index], before = *made;
  uint32_t n_findings = m->n_findings;
  m->n_noted = 0;
  if (check_cell(a, memory, made, (*index)++) == SIM_STOP)
    return SIM_STOP;
  if (before.more || made->more || m->n_findings > n_findings)
    return SIM_NEXT;
  for (; *index <= last && !memcmp(&cell[*index], &before, sizeof before); ++*index) {
    for (uint32_t i = 0; i < m->n_noted; i++)
      note_index(m, m->noted[i], lasting_index(memory, *index));
    cell[*index] = *made;
  }
  return SIM_NEXT;
}

/* R8: before griddepcontrol.wait, nothing may be read that the previous grid may still write, and
 * nothing may be written. */
static sim_step check_grid(const sim_access *a, const sim_memory *memory) {
  const hd_variant *variant = a->m->plan->variant;
  bool early = a->kind == SIM_READ && memory->buffer->weights && variant->weights_ready;
  if (!variant->dependent_launch || early || view_has(a, &a->view.vc->full, a->m->agent_grid, 1))
    return SIM_NEXT;
  return hd_sim_find(a->m, "R8", a->warp, a->lane, a->insn, NULL,
                     "%ss %s before griddepcontrol.wait", what(a->kind), memory->buffer->name);
}

sim_step hd_sim_check(const sim_access *a, sim_memory *memory, uint64_t offset, uint64_t n_bytes) {
  if (memory->buffer) {
    if (a->kind != SIM_READ && !memory->buffer->writable)
      return hd_sim_fault(a->m, "bounds", a->warp, a->lane, a->insn,
                          "writes %s, which is read-only", memory->buffer->name);
    if (check_grid(a, memory) == SIM_STOP)
      return SIM_STOP;
  }
  if (!memory->cell || n_bytes == 0)
    return SIM_NEXT;
  uint64_t first = offset >> memory->shift, last = (offset + n_bytes - 1) >> memory->shift;
  for (uint64_t i = first; i <= last;)
    if (check_alike(a, memory, &i, last) == SIM_STOP)
      return SIM_STOP;
  a->m->report->n_checked += last - first + 1;
  return SIM_NEXT;
}
