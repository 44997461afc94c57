#include "Choice/spilled.h"

/* These keys determine the registers of a thread. Cluster, stages, raster and the number of splits
 * only change addresses. */
static bool hold_alike(const hd_schedule *x, const hd_schedule *y) {
  return x->family == y->family && x->tile_m == y->tile_m && x->tile_n == y->tile_n &&
         x->warps_m == y->warps_m && x->warps_n == y->warps_n &&
         x->ctas_per_sm == y->ctas_per_sm && x->a_path == y->a_path && x->b_path == y->b_path &&
         x->store == y->store && x->reduce == y->reduce && x->stream_k == y->stream_k &&
         (x->split_k > 1) == (y->split_k > 1);
}

void hd_spilled_add(hd_spilled *spilled, const hd_schedule *s) {
  if (!hd_spilled_has(spilled, s) && spilled->n < HD_MOST_SPILLED)
    spilled->list[spilled->n++] = *s;
}

bool hd_spilled_has(const hd_spilled *spilled, const hd_schedule *s) {
  for (int32_t i = 0; spilled && i < spilled->n; i++)
    if (hold_alike(&spilled->list[i], s))
      return true;
  return false;
}
