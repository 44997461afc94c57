#include "Check/check_machine.h"

static void join(const uint32_t *from, uint32_t *into, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++)
    into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void join_part(const hd_ck_machine *m, const uint32_t *from, uint32_t *into, int32_t part) {
  join(from, into, hd_ck_component(m, 0, part), hd_ck_component(m, 0, part + 1));
}

void hd_ck_join(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  join(from, into, 0, hd_ck_component(m, 0, m->n_parts));
  join(from, into, hd_ck_component(m, 0, HD_CK_N_PARTS), (uint32_t)m->n_components);
}

static void raise(const hd_ck_machine *m, uint32_t *into, int32_t warp, int32_t part,
                  uint32_t value) {
  uint32_t *at = &into[hd_ck_component(m, warp, part)];
  *at = value > *at ? value : *at;
}

static void join_phases(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  uint32_t first = hd_ck_barrier_component(m, 0, 0);
  join(from, into, first, hd_ck_barrier_component(m, m->program->cluster, 0));
}

/* A remote arrive of default scope (R3) and a commit publish no writes of any warp. The arrive only
 * orders reads. The commit comes after everything that its thread has seen (including the end of
 * the predecessor kernel). */
static void join_reads(const hd_ck_machine *m, const uint32_t *from, uint32_t *into) {
  join_part(m, from, into, HD_CK_TIME);
  join_part(m, from, into, HD_CK_ORDER);
  join_part(m, from, into, HD_CK_READS);
  join_part(m, from, into, HD_CK_WGMMA);
  join_part(m, from, into, HD_CK_MMA);
  join_phases(m, from, into);
}

/* A copy completes after it was issued, hence after its issuer's earlier operations and the phases
 * that the issuer had seen. It publishes neither the issuer's accesses, nor the data of those
 * phases, nor the end of the predecessor kernel. */
void hd_ck_release_order(const hd_ck_machine *m, const hd_ck_warp *w, uint32_t *into) {
  join_part(m, w->clock, into, HD_CK_ORDER);
  join_phases(m, w->clock, into);
}

void hd_ck_release_to(const hd_ck_machine *m, const hd_ck_warp *w, hd_ck_release how,
                      uint32_t *into) {
  raise(m, into, w->id, HD_CK_INITS, w->inits_fenced);
  if (how == HD_CK_FENCED_INITS)
    return join_part(m, w->clock, into, HD_CK_INITS);
  if (how == HD_CK_REMOTE || how == HD_CK_COMMIT)
    join_reads(m, w->clock, into);
  else
    hd_ck_join(m, w->clock, into);
  raise(m, into, w->id, HD_CK_LOADS, w->told[0]);
  raise(m, into, w->id, HD_CK_STORES, w->told[1]);
  if (how == HD_CK_COMMIT) {
    uint32_t grid = hd_ck_grid_component(m);
    raise(m, into, w->id, HD_CK_MMA, w->multiplied);
    into[grid] = w->clock[grid] > into[grid] ? w->clock[grid] : into[grid];
  }
  if (how != HD_CK_PUBLISH)
    return;
  raise(m, into, w->id, HD_CK_READS, w->now);
  raise(m, into, w->id, HD_CK_LANES, w->now);
  raise(m, into, w->id, HD_CK_FENCED, w->fenced);
  raise(m, into, w->id, HD_CK_COPIED, w->copies_done);
  raise(m, into, w->id, HD_CK_FENCED_COPIES, w->copies_fenced);
  raise(m, into, w->id, HD_CK_OUT, w->out_done);
}

uint32_t hd_ck_barrier_component(const hd_ck_machine *m, int32_t cta, int32_t slot) {
  uint32_t first = hd_ck_component(m, 0, HD_CK_N_PARTS);
  return first + (uint32_t)(cta * m->program->n_barrier_slots + slot);
}

void hd_ck_meet_lanes(hd_ck_machine *m, hd_ck_warp *w) {
  w->met = w->now;
  hd_ck_release_to(m, w, HD_CK_PUBLISH, w->clock);
}
