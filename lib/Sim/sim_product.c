/* Sim/sim_product.c: see sim_product.h for the order of the arithmetic. */
#include "Sim/sim_product.h"

#include <stdio.h>
#include <string.h>

#include "Sim/sim_maps.h"

static bool is_integer(uint8_t type) { return hd_sim_type(type)->cls != 'f'; }

static uint32_t container_bits(const sim_mma *s, uint8_t type) {
  bool packed = type == SIM_T_E2M1 && s->kind >= SIM_KIND_MXF4;
  return packed ? 4 : hd_sim_type(type)->bits;
}

bool hd_sim_mma_finish(sim_mma *s) {
  s->a_bits = (uint8_t)container_bits(s, s->a);
  s->b_bits = (uint8_t)container_bits(s, s->b);
  if (s->a_bits != s->b_bits || is_integer(s->a) != is_integer(s->b) || s->a_bits < 4)
    return false;
  s->group = s->a_bits == 32 ? 2 : s->a_bits == 4 ? 8 : 4;
  s->kept = s->group / 2;
  return s->m <= SIM_TILE_M && s->n <= SIM_TILE_N && s->k <= SIM_TILE_K && s->k % s->group == 0;
}

double hd_sim_element(const sim_mma *s, uint8_t type, uint32_t container, uint64_t bits) {
  bits &= container == 64 ? ~0ull : (1ull << container) - 1;
  if (type == SIM_T_F16 && (bits & 0x7c00) != 0x7c00 && (bits & 0x7c00))
    return (double)hd_sim_f32(
        ((uint32_t)bits & 0x8000) << 16 | ((((uint32_t)bits & 0x7fff) << 13) + (112u << 23)));
  if (type == SIM_T_E2M1 && container == 8)
    bits = bits >> 2 & 15; /* the middle of its byte */
  if (type == SIM_T_E3M2 || type == SIM_T_E2M3)
    bits &= 63;
  (void)s;
  return hd_sim_decode_bits(type, bits);
}

sim_step hd_sim_apply_metadata(sim_warp *w, const sim_insn *in, const sim_mma *s, sim_tile *tile,
                               uint32_t row, const uint64_t meta[32], uint32_t selector) {
  uint32_t n_groups = s->k / s->group;
  for (uint32_t i = 0; i < 16; i++) {
    for (uint32_t j = 0; j < n_groups; j++) {
      hd_sim_meta_coord p = hd_sim_coord_meta(s->a_bits, n_groups, selector, i, j);
      uint32_t nibble = (uint32_t)(meta[p.lane] >> p.bit) & 15, kept[4] = {0};
      if (!hd_sim_meta_decode(s->group, nibble, s->ordered, kept) &&
          hd_sim_find(
              w->machine, "metadata", w, p.lane, in, NULL,
              "bits %u to %u of the metadata are 0x%x (row %u, group %u): not a legal index", p.bit,
              p.bit + 3, nibble, row + i, j) == SIM_STOP)
        return SIM_STOP;
      for (uint32_t t = 0; t < s->kept; t++)
        tile->at[row + i][j * s->kept + t] = (uint8_t)(j * s->group + kept[t]);
    }
  }
  return SIM_NEXT;
}

uint32_t hd_sim_meta_lanes(const sim_mma *s, uint32_t selector) {
  uint32_t n_groups = s->k / s->group, lanes = 0;
  for (uint32_t i = 0; i < 16; i++)
    for (uint32_t j = 0; j < n_groups; j++)
      lanes |= 1u << (hd_sim_coord_meta(s->a_bits, n_groups, selector, i, j).lane & 31);
  return lanes;
}

sim_step hd_sim_idle_metadata(sim_warp *w, const sim_insn *in, uint32_t lanes) {
  if (!lanes || (w->machine->options.off & HD_SIM_NO_UNDEFINED))
    return SIM_NEXT;
  return hd_sim_find(w->machine, "undefined:heddle", w, (uint32_t)__builtin_ctz(lanes), in, NULL,
                     "the metadata has no value in a lane whose word the selector leaves out");
}

void hd_sim_dense_columns(const sim_mma *s, sim_tile *tile) {
  for (uint32_t i = 0; i < s->m; i++)
    for (uint32_t k = 0; k < s->k; k++)
      tile->at[i][k] = (uint8_t)k;
}

void hd_sim_multiply(const sim_mma *s, sim_tile *tile) {
  uint32_t n = s->n, columns = hd_sim_a_columns(s);
  double sum[SIM_TILE_N];
  for (uint32_t i = 0; i < s->m; i++) {
    memset(sum, 0, sizeof *sum * n);
    for (uint32_t t = 0; t < columns; t++) {
      double a = tile->a[i][t];
      const double *b = tile->b[tile->at[i][t]];
      for (uint32_t j = 0; j < n; j++)
        sum[j] += a * b[j];
    }
    for (uint32_t j = 0; j < n; j++)
      tile->d[i][j] += sum[j];
  }
}

uint64_t hd_sim_round_d(const sim_mma *s, double value) {
  if (s->d != SIM_T_S32)
    return hd_sim_encode_bits(s->d, value, SIM_RN, false);
  if (s->satfinite)
    return (uint32_t)(int32_t)(value > INT32_MAX   ? INT32_MAX
                               : value < INT32_MIN ? INT32_MIN : value);
  return (uint32_t)(int64_t)value;
}

double hd_sim_read_c(const sim_mma *s, uint64_t bits) {
  return hd_sim_element(s, s->d, hd_sim_type(s->d)->bits, bits);
}

bool hd_sim_parse_shape(sim_decode *d, sim_mma *s) {
  for (uint32_t i = 1; i < d->n_mods; i++) {
    char rest;
    if (!d->taken[i] && sscanf(d->mod[i], "m%un%uk%u%c", &s->m, &s->n, &s->k, &rest) == 3) {
      d->taken[i] = true;
      return true;
    }
  }
  return false;
}
