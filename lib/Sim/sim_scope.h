/* Sim/sim_scope.h: words that strong accesses meet: what was released there (sim_scope.c), and
 * which value a load sees (sim_stale.c). */
#ifndef HD_SIM_SCOPE_H
#define HD_SIM_SCOPE_H

#include "Sim/sim_machine.h"

/* A word that strong accesses met, and what was released there (sim_scope.c). */
typedef struct sim_sync_word {
  uint64_t address;
  sim_releases releases;
  /* The value before the last strong write, what was released there, who wrote over it when, and
   * who has read since (sim_stale.c). older_bytes 0: there is none. */
  uint64_t older;
  uint32_t older_bytes, written;
  sim_agent writer;
  sim_releases before;
  sim_agent *reader; /* owned */
  uint32_t n_readers, reader_cap;
} sim_sync_word;

/* The word that strong accesses at the address meet. */
sim_sync_word *hd_sim_word(sim_machine *m, uint64_t address);
/* sim_scope.c. A strong store, before its release; then that of any strong write; a strong read. */
void hd_sim_word_store(sim_warp *w, uint32_t lane, sim_sync_word *word);
void hd_sim_word_release(sim_warp *w, const sim_insn *in, uint32_t lane, sim_sync_word *word);
void hd_sim_word_acquire(sim_warp *w, const sim_insn *in, uint32_t lane,
                         const sim_releases *seen);
/* sim_stale.c. Before a strong write of n_bytes at `at`; whether a strong load of as many sees the
 * value before the last one, as it may once. */
void hd_sim_word_keep(sim_warp *w, uint32_t lane, sim_sync_word *word, const uint8_t *at,
                      uint32_t n_bytes);
bool hd_sim_word_is_stale(sim_warp *w, uint32_t lane, sim_sync_word *word, uint32_t n_bytes);
void hd_sim_word_free(const sim_machine *m, sim_sync_word *word);
/* *to becomes what `from` is. */
void hd_sim_releases_copy(const sim_machine *m, sim_releases *to, const sim_releases *from);

#endif
