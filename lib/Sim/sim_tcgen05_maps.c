/* Sim/sim_tcgen05_maps.c: see sim_tcgen05_maps.h. The formulas are equivalent to the figures of the
 * ISA. */
#include "Sim/sim_tcgen05_maps.h"

#include "Sim/sim_maps.h"

/* ---- ld, st ---- */

uint32_t hd_sim_ldst_registers(hd_sim_ldst shape) {
  return shape == HD_SIM_16X128B ? 2 : shape == HD_SIM_16X256B ? 4 : 1;
}

hd_sim_tensor_coord hd_sim_coord_ldst(hd_sim_ldst shape, uint32_t thread, uint32_t reg,
                                      uint32_t split) {
  uint32_t g = thread / 4, q = thread % 4;
  switch (shape) {
  case HD_SIM_32X32B:
    return (hd_sim_tensor_coord){thread, reg, 0};
  case HD_SIM_16X32BX2:
    return (hd_sim_tensor_coord){thread % 16, reg + thread / 16 * split, 0};
  case HD_SIM_16X64B:
    return (hd_sim_tensor_coord){g + 8 * (q & 1), 2 * reg + (q >> 1), 0};
  case HD_SIM_16X128B:
    return (hd_sim_tensor_coord){g + 8 * (reg & 1), 4 * (reg >> 1) + q, 0};
  default:
    return (hd_sim_tensor_coord){g + 8 * (reg >> 1 & 1), 8 * (reg >> 2) + 2 * q + (reg & 1), 0};
  }
}

/* ---- mma ---- */

bool hd_sim_paths_find(uint32_t m, uint32_t cta_group, bool sparse, hd_sim_paths *paths) {
  uint32_t rows = m / cta_group;
  if (m % cta_group || (rows != 64 && rows != 128))
    return false;
  bool split = cta_group == 2 && !sparse;
  *paths = rows == 128 ? HD_SIM_PATHS_FULL : split ? HD_SIM_PATHS_SPLIT : HD_SIM_PATHS_HALF;
  return true;
}

static uint32_t lane_of(hd_sim_paths paths, uint32_t row) {
  return paths == HD_SIM_PATHS_HALF ? row % 16 + 32 * (row / 16) : row;
}

hd_sim_tensor_coord hd_sim_coord_d5(hd_sim_paths paths, uint32_t n_total, uint32_t row,
                                    uint32_t n) {
  if (paths != HD_SIM_PATHS_SPLIT)
    return (hd_sim_tensor_coord){lane_of(paths, row), n, 0};
  uint32_t half = n_total / 2;
  return (hd_sim_tensor_coord){row + 64 * (n / half), n % half, 0};
}

hd_sim_tensor_coord hd_sim_coord_a5(hd_sim_paths paths, uint32_t bits, uint32_t row, uint32_t k) {
  return (hd_sim_tensor_coord){lane_of(paths, row), k * bits / 32, k * bits % 32};
}

hd_sim_tensor_coord hd_sim_coord_meta5(hd_sim_paths paths, uint32_t bits, uint32_t selector,
                                       uint32_t row, uint32_t group) {
  if (bits < 16)
    return (hd_sim_tensor_coord){lane_of(paths, row), group / 8, 4 * (group % 8)};
  /* Of 16 lanes, the lower eight hold the first half of k, the upper eight the second. */
  uint32_t stored = row / 16 * 16 + 8 * (group / 4) + row % 8;
  return (hd_sim_tensor_coord){lane_of(paths, stored), selector,
                               16 * (row / 8 % 2) + 4 * (group % 4)};
}

hd_sim_tensor_coord hd_sim_coord_scale_a5(uint32_t row, uint32_t id, uint32_t index) {
  return (hd_sim_tensor_coord){row % 32, row / 32, 8 * (id + index)};
}

hd_sim_tensor_coord hd_sim_coord_scale_b5(hd_sim_paths paths, uint32_t n_total, uint32_t n,
                                          uint32_t id, uint32_t index) {
  uint32_t span = paths == HD_SIM_PATHS_SPLIT ? n_total / 2 : n_total;
  return (hd_sim_tensor_coord){n % span % 32 + 64 * (n / span), n % span / 32, 8 * (id + index)};
}

/* ---- cp ---- */

hd_sim_cp_shape hd_sim_cp_shape_of(hd_sim_cp cp) {
  static const hd_sim_cp_shape shapes[] = {[HD_SIM_CP_128X256B] = {128, 32, 1},
                                           [HD_SIM_CP_4X256B] = {4, 32, 1},
                                           [HD_SIM_CP_128X128B] = {128, 16, 1},
                                           [HD_SIM_CP_64X128B_02_13] = {64, 16, 2},
                                           [HD_SIM_CP_64X128B_01_23] = {64, 16, 2},
                                           [HD_SIM_CP_32X128B_X4] = {32, 16, 4}};
  return shapes[cp];
}

uint32_t hd_sim_cp_lane(hd_sim_cp cp, uint32_t row, uint32_t copy) {
  switch (cp) {
  case HD_SIM_CP_4X256B: return 32 * row; /* one lane of each warp's 32 */
  case HD_SIM_CP_64X128B_02_13: return row + 64 * copy;
  case HD_SIM_CP_64X128B_01_23: return row % 32 + 64 * (row / 32) + 32 * copy;
  case HD_SIM_CP_32X128B_X4: return row + 32 * copy;
  default: return row;
  }
}

/* ---- shared memory ---- */

/*   63  61 60    53  52 51 49 48 46 45      32 31 30 29      16 15 14 13       0
 *  +------+--------+---+-----+-----+----------+-----+----------+-----+----------+
 *  | swz  |   0    |abs| base| 001 |  SBO>>4  |  0  |  LBO>>4  |  0  | addr>>4  |
 *  +------+--------+---+-----+-----+----------+-----+----------+-----+----------+  */
hd_sim_descriptor5 hd_sim_descriptor5_read(uint64_t bits) {
  static const struct {
    hd_swizzle swizzle;
    bool wide, legal;
  } modes[8] = {{HD_SWIZZLE_NONE, false, true}, {HD_SWIZZLE_128, true, true},
                {HD_SWIZZLE_128, false, true},  {HD_SWIZZLE_NONE, false, false},
                {HD_SWIZZLE_64, false, true},   {HD_SWIZZLE_NONE, false, false},
                {HD_SWIZZLE_32, false, true},   {HD_SWIZZLE_NONE, false, false}};
  uint32_t mode = (uint32_t)(bits >> 61);
  return (hd_sim_descriptor5){.start = (uint32_t)(bits & 0x3fff) << 4,
                              .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                              .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                              .base_offset = (uint32_t)(bits >> 49 & 7),
                              .swizzle = modes[mode].swizzle,
                              .wide = modes[mode].wide,
                              .absolute = bits >> 52 & 1,
                              .valid = modes[mode].legal && (bits >> 46 & 7) == 1 &&
                                       (bits >> 53 & 0xff) == 0 && (bits >> 14 & 3) == 0 &&
                                       (bits >> 30 & 3) == 0};
}

/* Atoms of 32 bytes in rows of 128, four rows of k per pattern: bits 5 and 6 ^= bits 7 and 8. */
static uint32_t wide_address(const hd_sim_descriptor5 *d, uint32_t mn, uint32_t k, uint32_t bytes) {
  uint32_t per_row = 128 / bytes;
  uint32_t at = d->start + mn / per_row * d->leading + mn % per_row * bytes + k % 4 * 128 +
                k / 4 * d->stride;
  return (at ^ (at >> 7 & 3) << 5) & 0x3ffff;
}

uint32_t hd_sim_descriptor5_address(const hd_sim_descriptor5 *d, bool mn_major, uint32_t mn,
                                    uint32_t k, uint32_t bytes) {
  if (d->wide)
    return wide_address(d, mn, k, bytes);
  hd_sim_descriptor same = {d->start, d->leading, d->stride, d->base_offset, d->swizzle};
  return hd_sim_descriptor_address(&same, mn_major, mn, k, bytes);
}

/* ---- the instruction descriptor ---- */

static uint32_t field(uint32_t bits, uint32_t low, uint32_t n) {
  return bits >> low & ((1u << n) - 1);
}

/*        31 30 29 28   24 23 22   17 16 15 14 13 12  10 9    7 6 5  4 3   2  1    0
 *  plain|shift| 0|  M>>4 | 0|  N>>3 |tB|tA|nB|nA|  b   |  a   |0|  d |sat|sp|selector|
 *  mx8  | 0|sfa  |M>>7|0 |st|  N>>3 |tB|tA|nB|nA|  b   |  a   |0|sfb | 0 |sp|   0    |
 *  mx4  |k |sfa  |M>>7|0 |st|  N>>3 | 0| 0|nB|nA| 0|b  |  a   |0|sfb | 0 |sp|   0    |  */
hd_sim_idesc hd_sim_idesc_read(hd_sim_idesc_form form, uint32_t bits) {
  static const uint32_t zero[] = {[HD_SIM_IDESC_PLAIN] = 1u << 6 | 1u << 23 | 7u << 29,
                                  [HD_SIM_IDESC_MX8] = 3u | 1u << 3 | 1u << 6 | 7u << 24 | 1u << 31,
                                  [HD_SIM_IDESC_MX4] = 3u | 1u << 3 | 1u << 6 | 1u << 12 |
                                                       3u << 15 | 7u << 24};
  hd_sim_idesc i = {.m = field(bits, 24, 5) << 4,
                    .n = field(bits, 17, 6) << 3,
                    .a = field(bits, 7, 3),
                    .b = field(bits, 10, 3),
                    .sparse = field(bits, 2, 1),
                    .negate_a = field(bits, 13, 1),
                    .negate_b = field(bits, 14, 1),
                    .transpose_a = field(bits, 15, 1),
                    .transpose_b = field(bits, 16, 1),
                    .reserved = bits & zero[form]};
  if (form == HD_SIM_IDESC_PLAIN) {
    i.selector = field(bits, 0, 2);
    i.saturate = field(bits, 3, 1);
    i.d = field(bits, 4, 2);
    return i;
  }
  i.d = 1; /* f32 */
  i.scale_b = field(bits, 4, 2);
  i.scale_type = field(bits, 23, 1);
  i.scale_a = field(bits, 29, 2);
  i.long_k = form == HD_SIM_IDESC_MX4 && field(bits, 31, 1);
  return i;
}
