/* tcgen05: allocation of tensor memory columns, their address, and deallocation. */
#include "Check/check_machine.h"
#include "Spec/spec.h"

static void broken(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                   const char *remedy, const char *what) {
  hd_check_access here = hd_ck_here(m, w, step->op, -1);
  hd_ck_find(m, "R9", (hd_check_access){0}, here, remedy, "%s %s", here.text, what);
}

static void take(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_tensor *t = &m->tensors[w->cta];
  if (t->alloc)
    return broken(m, w, step, "one tcgen05.alloc",
                  "allocates columns after relinquishing the permission");
  *t = (hd_ck_tensor){.alloc = step->op, .warp = w->id, .time = w->now};
}

/* No operation may still use the columns: deallocation counts as a write to all of them. */
static void give_back(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  hd_ck_tensor *t = &m->tensors[w->cta];
  if (!t->alloc || t->dealloc)
    return broken(m, w, step, "one tcgen05.dealloc of the allocated columns",
                  "deallocates columns that are not allocated");
  if (hd_op_int(t->alloc, HD_ATTR_COLUMNS, 0) != hd_op_int(step->op, HD_ATTR_COLUMNS, 0))
    return broken(m, w, step, "as many columns as were allocated",
                  "deallocates another number of columns");
  t->dealloc = step->op;
  for (int32_t i = 0; i < m->program->n_buffers; i++) {
    const hd_ck_ring *ring = &m->program->buffers[i];
    hd_ck_region region = {.buffer = ring, .cta = w->cta, .range = {.hi = ring->bytes, .n = 1}};
    if (!hd_op_is(ring->op, HD_ATTR_SPACE, "tmem"))
      continue;
    for (region.slot = 0; region.slot < ring->stages && !m->stop; region.slot++) {
      hd_ck_access x = {.op = step->op,
                        .kind = HD_CK_TENSOR_FREE,
                        .slot = region.slot,
                        .component = hd_ck_component(m, w->id, HD_CK_TIME),
                        .value = w->now};
      hd_ck_access_write(m, w, hd_ck_access_add(m, w, x), region, 0);
    }
  }
}

/* The CTA's first warp allocates and deallocates; every warp reads the address. */
void hd_ck_tensor_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  if (step->op->kind != HD_OP_TCGEN05_ADDRESS) {
    if (w->index == 0)
      (step->op->kind == HD_OP_TCGEN05_ALLOC ? take : give_back)(m, w, step);
    return;
  }
  const hd_ck_tensor *t = &m->tensors[w->cta];
  if (!t->alloc || w->clock[hd_ck_component(m, t->warp, HD_CK_LANES)] < t->time)
    return broken(m, w, step, "tcgen05.alloc, then cta.sync",
                  "may read the address before it is written");
  w->has_address = true;
}

void hd_ck_tensor_finish(hd_ck_machine *m) {
  for (int32_t cta = 0; cta < m->program->cluster && !m->stop; cta++)
    if (m->tensors[cta].alloc && !m->tensors[cta].dealloc)
      hd_ck_find(m, "R9", (hd_check_access){0},
                 hd_ck_here(m, &m->warps[m->tensors[cta].warp], m->tensors[cta].alloc, -1),
                 "cta.sync and tcgen05.dealloc at the end",
                 "the kernel ends with allocated columns of tensor memory");
}

bool hd_ck_tensor_region(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                         int32_t buffer, int32_t cursor, hd_ck_region *region) {
  if (!hd_ck_region_of(m, w, step, buffer, cursor, region))
    return false;
  region->cta = cta;
  if (w->has_address && m->tensors[cta].alloc && !m->tensors[cta].dealloc)
    return true;
  broken(m, w, step, "tcgen05.address before all of them, tcgen05.dealloc after all of them",
         "accesses tensor memory that the CTA has not allocated");
  return false;
}

int32_t hd_ck_tensor_group(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                           int32_t *first) {
  int32_t n = step->row->cta_group;
  *first = w->cta / n * n;
  if (n <= HD_CK_PAIR && *first + n <= m->program->cluster)
    return n;
  hd_ck_undecided(m, step->op, "a pair of CTAs without a cluster");
  return 0;
}
