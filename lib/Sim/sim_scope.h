/* Sim/sim_scope.h: words that strong accesses use: what was released there (sim_scope.c), and which
 * value a load sees (sim_stale.c). */
#ifndef HD_SIM_SCOPE_H
#define HD_SIM_SCOPE_H

#include "Sim/sim_machine.h"

/* A word that strong accesses use, and what was released there (sim_scope.c). */
typedef struct sim_sync_word {
  uint64_t address;
  sim_releases releases;
  /* The value before the last strong write, and what was released there; the writer and its clock;
   * the readers since then (sim_stale.c). older_bytes 0: none. */
  uint64_t older;
  uint32_t older_bytes, written;
  sim_agent writer;
  sim_releases before;
  sim_agent *reader; /* owned */
  uint32_t n_readers, reader_cap;
} sim_sync_word;

/* The word of strong accesses at the address; created when needed. */
sim_sync_word *hd_sim_word(sim_machine *m, uint64_t address);
/* sim_scope.c. A strong store, before its release; any strong write; a strong read. */
void hd_sim_word_store(sim_warp *w, uint32_t lane, sim_sync_word *word);
void hd_sim_word_release(sim_warp *w, const sim_insn *in, uint32_t lane, sim_sync_word *word);
void hd_sim_word_acquire(sim_warp *w, const sim_insn *in, uint32_t lane,
                         const sim_releases *seen);
/* sim_stale.c. keep: before a strong write of n_bytes at `at`. is_stale: whether a strong load of
 * n_bytes sees the value before the last write, as it may once. */
void hd_sim_word_keep(sim_warp *w, uint32_t lane, sim_sync_word *word, const uint8_t *at,
                      uint32_t n_bytes);
bool hd_sim_word_is_stale(sim_warp *w, uint32_t lane, sim_sync_word *word, uint32_t n_bytes);
void hd_sim_word_free(const sim_machine *m, sim_sync_word *word);
/* Copies *from to *to. */
void hd_sim_releases_copy(const sim_machine *m, sim_releases *to, const sim_releases *from);

#endif
