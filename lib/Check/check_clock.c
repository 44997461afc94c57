#include "Check/check_machine.h"

void hd_ck_join(uint32_t *into, const uint32_t *from, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void raise(uint32_t *into, int32_t warp, int32_t part, uint32_t value) {
  uint32_t *at = &into[hd_ck_component(warp, part)];
  *at = value > *at ? value : *at;
}

/* A copy lands after it was issued, hence after the phases that its issuer had seen; it says
 * nothing of the issuer's own accesses, of what landed in them, nor of the kernel ahead. */
void hd_ck_join_phases(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  int32_t warps = m->n_warps * HD_CK_N_PARTS;
  hd_ck_join(into + warps, from + warps, m->program->cluster * m->program->n_barrier_slots);
}

/* Writes of any warp stay behind on a remote arrive of default scope (R3), which orders reads only;
 * and on a commit, which comes after what its thread has seen (that the kernel ahead has ended is
 * of that) and publishes nothing. */
static void join_reads(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  for (int32_t w = 0; w < m->n_warps; w++) {
    raise(into, w, HD_CK_TIME, from[hd_ck_component(w, HD_CK_TIME)]);
    raise(into, w, HD_CK_READS, from[hd_ck_component(w, HD_CK_READS)]);
    raise(into, w, HD_CK_WGMMA, from[hd_ck_component(w, HD_CK_WGMMA)]);
    raise(into, w, HD_CK_MMA, from[hd_ck_component(w, HD_CK_MMA)]);
  }
  hd_ck_join_phases(m, from, into);
}

static void join_inits(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  for (int32_t w = 0; w < m->n_warps; w++)
    raise(into, w, HD_CK_INITS, from[hd_ck_component(w, HD_CK_INITS)]);
}

void hd_ck_release_to(const hd_ck_machine *m, const hd_ck_warp *w, hd_ck_release how,
                      uint32_t *into) {
  raise(into, w->id, HD_CK_INITS, w->inits_fenced);
  if (how == HD_CK_FENCED_INITS)
    return join_inits(m, w->clock, into);
  if (how == HD_CK_REMOTE || how == HD_CK_COMMIT)
    join_reads(m, w->clock, into);
  else
    hd_ck_join(into, w->clock, m->n_components);
  raise(into, w->id, HD_CK_TIME, w->now);
  raise(into, w->id, HD_CK_LOADS, w->told[0]);
  raise(into, w->id, HD_CK_STORES, w->told[1]);
  if (how == HD_CK_COMMIT) {
    uint32_t grid = hd_ck_grid_component(m);
    raise(into, w->id, HD_CK_MMA, w->multiplied);
    into[grid] = w->clock[grid] > into[grid] ? w->clock[grid] : into[grid];
  }
  if (how != HD_CK_PUBLISH)
    return;
  raise(into, w->id, HD_CK_READS, w->now);
  raise(into, w->id, HD_CK_LANES, w->now);
  raise(into, w->id, HD_CK_FENCED, w->fenced);
  raise(into, w->id, HD_CK_COPIED, w->copies_done);
  raise(into, w->id, HD_CK_FENCED_COPIES, w->copies_fenced);
  raise(into, w->id, HD_CK_OUT, w->out_done);
}
