/* Sim/sim_maps.c: descriptors (PTX ISA, "Matrix Descriptor Format", "Canonical Layouts") and what a
 * metadata nibble means ("Sparse matrix storage"). */
#include "Sim/sim_maps.h"

/*   63 62 61  52 51 49 48 46 45      32 31 30 29      16 15 14 13       0
 *  +-----+------+-----+-----+----------+-----+----------+-----+----------+
 *  | swz |  0   | base|  0  |  SBO>>4  |  0  |  LBO>>4  |  0  | addr>>4  |
 *  +-----+------+-----+-----+----------+-----+----------+-----+----------+  */
hd_sim_descriptor hd_sim_descriptor_read(uint64_t bits) {
  static const hd_swizzle modes[4] = {HD_SWIZZLE_NONE, HD_SWIZZLE_128, HD_SWIZZLE_64,
                                      HD_SWIZZLE_32};
  return (hd_sim_descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                             .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                             .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                             .base_offset = (uint32_t)(bits >> 49 & 7),
                             .swizzle = modes[bits >> 62]};
}

static uint32_t k_major(const hd_sim_descriptor *d, uint32_t mn, uint32_t c) {
  uint32_t base = d->start + mn / 8 * d->stride;
  if (d->swizzle == HD_SWIZZLE_NONE)
    return base + c / 16 * d->leading + mn % 8 * 16 + c % 16;
  return base + mn % 8 * (16u << d->swizzle) + c;
}

static uint32_t mn_major_at(const hd_sim_descriptor *d, uint32_t mn, uint32_t k, uint32_t bytes) {
  uint32_t atom = 16 / bytes; /* elements in 16 bytes */
  if (d->swizzle == HD_SWIZZLE_NONE)
    return d->start + mn / atom * d->stride + k % 8 * 16 + k / 8 * d->leading + mn % atom * bytes;
  uint32_t span = 16u << d->swizzle, wide = span / bytes;
  return d->start + mn / wide * d->leading + mn % wide * bytes + k % 8 * span + k / 8 * d->stride;
}

uint32_t hd_sim_descriptor_address(const hd_sim_descriptor *d, bool is_mn_major, uint32_t mn,
                                   uint32_t k, uint32_t bytes) {
  uint32_t at = is_mn_major ? mn_major_at(d, mn, k, bytes) : k_major(d, mn, k * bytes);
  return hd_sim_swizzle_address(at, d->swizzle) & 0x3ffff;
}

bool hd_sim_meta_decode(uint32_t group_elems, uint32_t nibble, bool ordered, uint32_t kept[4]) {
  uint32_t first = nibble & 3, second = nibble >> 2 & 3;
  if (group_elems == 2) {
    kept[0] = nibble == 0xe;
    return nibble == 0xe || nibble == 0x4;
  }
  if (group_elems == 4) {
    kept[0] = first;
    kept[1] = second;
  } else {
    kept[0] = 2 * first;
    kept[1] = 2 * first + 1;
    kept[2] = 2 * second;
    kept[3] = 2 * second + 1;
  }
  return ordered ? first < second : first != second;
}
