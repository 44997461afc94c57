/* Sim/sim_stale.c: weak values (PTX ISA, "Memory Consistency Model"). A strong load need not see
 * the last store to its word: if it is not ordered after that store by causality, it may see the
 * previous value, with what was released with it. It does so once per thread and store, always in
 * late runs, by seed in random ones: by coherence no thread returns to an older value, and a thread
 * that polls finally sees the new one. Atoms always see the last value. */
#include <string.h>

#include "Sim/sim_scope.h"
#include "Support/hash.h"
#include "Support/memory.h"

void hd_sim_word_keep(sim_warp *w, uint32_t lane, sim_sync_word *word, const uint8_t *at,
                      uint32_t n_bytes) {
  word->older = 0;
  word->older_bytes = n_bytes <= sizeof word->older ? n_bytes : 0;
  memcpy(&word->older, at, word->older_bytes);
  word->writer = hd_sim_thread_agent(w, lane);
  word->written = hd_sim_thread(w, lane)->clock;
  word->n_readers = 0;
  hd_sim_releases_copy(w->machine, &word->before, &word->releases);
}

/* The same for all lanes: a warp need not diverge. */
static bool is_late(const sim_machine *m, const sim_sync_word *word) {
  uint64_t h = m->options.seed ^ word->address ^ (uint64_t)word->written << 32;
  return m->options.mode == HD_SIM_LATE ||
         (m->options.mode == HD_SIM_RANDOM && hd_hash_mix(h) % 2);
}

bool hd_sim_word_is_stale(sim_warp *w, uint32_t lane, sim_sync_word *word, uint32_t n_bytes) {
  sim_agent self = hd_sim_thread_agent(w, lane);
  if (!word->older_bytes || word->writer == self)
    return false;
  for (uint32_t i = 0; i < word->n_readers; i++)
    if (word->reader[i] == self)
      return false;
  HD_PUSH(word->reader, word->n_readers, word->reader_cap, self);
  return word->older_bytes == n_bytes && is_late(w->machine, word) &&
         !hd_sim_clock_has(&hd_sim_thread(w, lane)->vc.full, word->writer, word->written);
}

void hd_sim_word_free(const sim_machine *m, sim_sync_word *word) {
  hd_sim_releases_free(m, &word->releases);
  hd_sim_releases_free(m, &word->before);
  hd_free(word->reader);
}
