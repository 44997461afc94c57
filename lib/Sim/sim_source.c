/* Sim/sim_source.c: see sim_source.h. */
#include "Sim/sim_source.h"

#include <string.h>

uint32_t hd_sim_source_width(uint8_t type) {
  return type == SIM_T_E2M1                         ? 4
         : type == SIM_T_E3M2 || type == SIM_T_E2M3 ? 6
                                                    : hd_sim_type(type)->bits;
}

static double element_at(const sim_mma *s, const sim_source *from, const uint8_t *at, uint32_t e) {
  uint32_t width = hd_sim_source_width(from->type), low = e * width;
  uint64_t bits = 0;
  if (width >= 8) {
    memcpy(&bits, at + low / 8, width / 8);
    return hd_sim_element(s, from->type, from->container, bits);
  }
  bits = at[low / 8] | (low % 8 + width > 8 ? (uint64_t)at[low / 8 + 1] << 8 : 0);
  return hd_sim_decode_bits(from->type, bits >> low % 8 & ((1u << width) - 1));
}

static void put(sim_tile *tile, const sim_source *from, uint32_t mn, uint32_t k, double value) {
  double *at = from->is_a ? &tile->a[from->first_mn + mn][k] : &tile->b[k][from->first_mn + mn];
  *at = from->negate ? -value : value;
}

sim_step hd_sim_source_read(sim_access *a, sim_cta *cta, const sim_mma *s, const sim_source *from,
                            sim_source_address *address) {
  uint32_t run = 128 / from->container;
  uint32_t n_outer = from->mn_major ? from->n_k : from->n_mn;
  uint32_t n_inner = from->mn_major ? from->n_mn : from->n_k;
  for (uint32_t o = 0; o < n_outer; o++) {
    for (uint32_t i = 0; i < n_inner; i += run) {
      uint32_t mn = from->mn_major ? i : o, k = from->mn_major ? o : i;
      const uint8_t *at;
      if (hd_sim_chunk(a, cta, address(from, mn, k), 16, &at) == SIM_STOP)
        return SIM_STOP;
      for (uint32_t e = 0; e < run && i + e < n_inner; e++)
        put(a->m->tile, from, mn + (from->mn_major ? e : 0), k + (from->mn_major ? 0 : e),
            element_at(s, from, at, e));
    }
  }
  return SIM_NEXT;
}
