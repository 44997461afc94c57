/* Sim/sim_memory.c: resolves addresses to memory; checks bounds and alignment. */
#include "Sim/sim_scope.h"

sim_access hd_sim_access(sim_warp *w, uint32_t lane, const sim_insn *insn, uint8_t kind) {
  const sim_thread *t = hd_sim_thread(w, lane);
  w->dirty = true;
  return (sim_access){.m = w->machine, .warp = w, .lane = lane, .insn = insn,
                      .view = hd_sim_view(w, lane), .agent = hd_sim_thread_agent(w, lane),
                      .clock = t->clock, .kind = kind};
}

sim_step hd_sim_shared(const sim_access *a, uint64_t address, sim_cta **cta, uint32_t *offset) {
  sim_machine *m = a->m;
  uint64_t rank = address >> SIM_RANK_SHIFT;
  *offset = hd_sim_offset(address);
  if (rank >= m->cluster_size)
    return hd_sim_fault(m, "bounds", a->warp, a->lane, a->insn,
                        "shared address 0x%llx is of CTA rank %llu; the cluster has %u",
                        (unsigned long long)address, (unsigned long long)rank, m->cluster_size);
  uint32_t index = a->warp->cta->cluster_first + (uint32_t)rank;
  *cta = m->cta[index];
  if (!*cta || (*cta)->done)
    return hd_sim_fault(m, "R4", a->warp, a->lane, a->insn,
                        "accesses shared memory of cta %u, which has left: a cluster leaves "
                        "together (barrier.cluster before exit)", index);
  return SIM_NEXT;
}

/* Whether any thread of the CTA is known to have executed something. */
static bool has_begun(const sim_access *a, const sim_cta *cta) {
  for (uint32_t i = 0; i < cta->n_threads; i++)
    if (hd_sim_clock_has(&a->view.vc->order, hd_sim_agent(cta, i), 1))
      return true;
  return false;
}

sim_step hd_sim_reach(const sim_access *a, sim_cta *cta) {
  uint32_t from = a->agent >> SIM_AGENT_SHIFT;
  if (from == cta->index || !cta->remote)
    return SIM_NEXT;
  uint32_t slot = (from - cta->cluster_first) * a->m->agents_per_cta + hd_sim_local(a->agent);
  if (cta->remote[slot] < a->clock)
    cta->remote[slot] = a->clock;
  if ((a->m->options.off & HD_SIM_NO_RACES) || has_begun(a, cta))
    return SIM_NEXT;
  return hd_sim_find(a->m, "R4", a->warp, a->lane, a->insn, NULL,
                     "reaches into cta %u, which may not have begun: a cluster barrier is missing",
                     cta->index);
}

static sim_step misaligned(const sim_access *a, uint64_t address, uint32_t align) {
  return hd_sim_fault(a->m, "alignment", a->warp, a->lane, a->insn,
                      "address 0x%llx is not a multiple of %u", (unsigned long long)address,
                      align);
}

static sim_step resolve_shared(const sim_access *a, uint64_t address, uint32_t n_bytes,
                               uint32_t align, sim_memory **memory, uint64_t *offset) {
  sim_cta *cta = NULL;
  uint32_t at;
  if (hd_sim_shared(a, address, &cta, &at) == SIM_STOP)
    return SIM_STOP;
  if (at % align)
    return misaligned(a, address, align);
  if (at < SIM_SHARED_BASE || at + (uint64_t)n_bytes > cta->shared.n_bytes)
    return hd_sim_fault(a->m, "bounds", a->warp, a->lane, a->insn,
                        "shared bytes [%u, %u) are outside [%u, %llu)", at, at + n_bytes,
                        SIM_SHARED_BASE, (unsigned long long)cta->shared.n_bytes);
  *memory = &cta->shared;
  *offset = at;
  return hd_sim_reach(a, cta);
}

sim_step hd_sim_resolve_global(const sim_access *a, uint64_t address, uint64_t n_bytes,
                               uint32_t align, sim_memory **memory, uint64_t *offset) {
  sim_machine *m = a->m;
  if (address % align)
    return misaligned(a, address, align);
  const char *near = "no buffer";
  int64_t past = 0;
  for (uint32_t i = 0; i < m->n_buffers; i++) {
    const hd_sim_buffer *b = m->buffer[i].buffer;
    if (address >= b->address && address < b->address + b->n_bytes) {
      if (n_bytes <= b->n_bytes - (address - b->address)) {
        *memory = &m->buffer[i];
        *offset = address - b->address;
        return SIM_NEXT;
      }
      near = b->name;
      past = (int64_t)(address + n_bytes - b->address - b->n_bytes);
    } else if (address >= b->address && address - b->address - b->n_bytes < 4096) {
      near = b->name;
      past = (int64_t)(address + n_bytes - b->address - b->n_bytes);
    }
  }
  return hd_sim_fault(m, "bounds", a->warp, a->lane, a->insn,
                      "global bytes [0x%llx, +%llu) are outside every buffer (nearest before: %s, "
                      "%lld bytes past its end)", (unsigned long long)address,
                      (unsigned long long)n_bytes, near, (long long)past);
}

sim_step hd_sim_resolve(const sim_access *a, uint8_t space, uint64_t address, uint32_t n_bytes,
                        uint32_t align, sim_memory **memory, uint64_t *offset) {
  if (space == SIM_SHARED_CTA || space == SIM_SHARED_CLUSTER)
    return resolve_shared(a, address, n_bytes, align, memory, offset);
  if (space == SIM_GENERIC && address >= SIM_SHARED_WINDOW &&
      address < SIM_SHARED_WINDOW + (1ull << 32))
    return resolve_shared(a, address - SIM_SHARED_WINDOW, n_bytes, align, memory, offset);
  return hd_sim_resolve_global(a, address, n_bytes, align, memory, offset);
}

sim_step hd_sim_chunk(sim_access *a, sim_cta *cta, uint32_t address, uint32_t n,
                      const uint8_t **at) {
  sim_memory *memory;
  uint64_t offset;
  if (hd_sim_resolve(a, SIM_SHARED_CTA, address | (uint64_t)cta->rank << SIM_RANK_SHIFT, n, n,
                     &memory, &offset) == SIM_STOP ||
      hd_sim_check(a, memory, offset, n) == SIM_STOP)
    return SIM_STOP;
  *at = memory->data + offset;
  return SIM_NEXT;
}

sim_sync_word *hd_sim_word(sim_machine *m, uint64_t address) {
  for (uint32_t i = 0; i < m->n_words; i++)
    if (m->word[i].address == address)
      return &m->word[i];
  sim_sync_word w = {.address = address};
  HD_PUSH(m->word, m->n_words, m->word_cap, w);
  return &m->word[m->n_words - 1];
}
