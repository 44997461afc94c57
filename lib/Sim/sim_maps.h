/* Sim/sim_maps.h: the position of every element of an operand: fragments, metadata, descriptors,
 * swizzles. Index arithmetic from the PTX ISA's formulas, written without lib/Spec: a test compares
 * the two. g = lane / 4, q = lane % 4 throughout; for wgmma add 16 rows per warp. */
#ifndef HD_SIM_MAPS_H
#define HD_SIM_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "Kernel/manifest.h"

/* A and B are k-wide rows of bytes, `bits` per element; A in compressed columns if sparse. D of mma
 * is the n = 8 case of wgmma's. */
typedef struct hd_sim_coord {
  uint32_t row, col;
} hd_sim_coord;

/* Element `index` (0 = lowest bits) of 32-bit register `reg` of A:  (lane, reg, index) -> (m,
 * k). */
static inline hd_sim_coord hd_sim_coord_a(uint32_t bits, uint32_t lane, uint32_t reg,
                                          uint32_t index) {
  return (hd_sim_coord){lane / 4 + 8 * (reg & 1),
                        (16 * (reg >> 1) + 4 * (lane % 4)) * 8 / bits + index};
}

/* Element of B of mma:  (lane, reg, index) -> (k, n). */
static inline hd_sim_coord hd_sim_coord_b(uint32_t bits, uint32_t lane, uint32_t reg,
                                          uint32_t index) {
  return (hd_sim_coord){(16 * reg + 4 * (lane % 4)) * 8 / bits + index, lane / 4};
}

/* Element of C and D, 32-bit (bits 32, index 0) or pairs of 16-bit (bits 16, index 0, 1). */
static inline hd_sim_coord hd_sim_coord_d(uint32_t bits, uint32_t lane, uint32_t reg,
                                          uint32_t index) {
  uint32_t i = bits == 32 ? reg : 2 * reg + index; /* running number of the element */
  return (hd_sim_coord){lane / 4 + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * (lane % 4) + (i & 1)};
}

/* The lane and first bit of the metadata nibble of a row (0-15) and a group of the row. bits: of an
 * element of A; n_groups: in a row of the instruction. 16-bit and tf32 keep rows g and g + 8 in one
 * word; 8- and 4-bit types keep one row per word. */
typedef struct hd_sim_meta_coord {
  uint32_t lane, bit;
} hd_sim_meta_coord;

static inline hd_sim_meta_coord hd_sim_coord_meta(uint32_t bits, uint32_t n_groups,
                                                  uint32_t selector, uint32_t row, uint32_t group) {
  uint32_t high = row / 8;
  if (bits >= 16)
    return (hd_sim_meta_coord){4 * (row % 8) + selector * (n_groups / 4) + group / 4,
                               4 * (group % 4) + 16 * high};
  return (hd_sim_meta_coord){4 * (row % 8) + 2 * selector + high + 2 * (group / 8),
                             4 * (group % 8)};
}

/* Block scales of mma: the lane of the word, and the first bit, that scale row i of A or column i
 * of B in block j of k. A's rows g and g + 8 come from a pair of lanes, B's column g from one of
 * four lanes. */
static inline hd_sim_meta_coord hd_sim_coord_scale(bool of_a, uint32_t byte_id, uint32_t thread_id,
                                                   uint32_t i, uint32_t j) {
  uint32_t lane = of_a ? 4 * (i % 8) + 2 * thread_id + i / 8 : 4 * i + thread_id;
  return (hd_sim_meta_coord){lane, 8 * (byte_id + j)};
}

/* ldmatrix and stmatrix: the byte of memory, (row, byte of its 16), that is byte `index` of a
 * register. Row i is at the address of lane i. */
typedef enum hd_sim_matrix { HD_SIM_M8N8, HD_SIM_M8N16, HD_SIM_M16N16, HD_SIM_M16N8 } hd_sim_matrix;

static inline hd_sim_coord hd_sim_coord_matrix(hd_sim_matrix shape, bool trans, uint32_t lane,
                                               uint32_t reg, uint32_t index) {
  uint32_t g = lane / 4, q = lane % 4, half = index / 2, low = index % 2;
  switch (shape) {
  case HD_SIM_M8N16: /* four neighbours of row g */
    return (hd_sim_coord){8 * reg + g, 4 * q + index};
  case HD_SIM_M16N16: /* transposed: column g of four neighbouring rows, then column g + 8 */
    return (hd_sim_coord){16 * (reg / 2) + 4 * q + index, g + 8 * (reg % 2)};
  case HD_SIM_M16N8: /* transposed: an accumulator's (g, 2q), (g, 2q + 1), (g + 8, 2q), (g + 8, 2q +
                        1) */
    return (hd_sim_coord){8 * reg + 2 * q + low, g + 8 * half};
  default: /* two 16-bit elements: columns 2q and 2q + 1 of row g, or the transpose of it */
    return trans ? (hd_sim_coord){8 * reg + 2 * q + half, 2 * g + low}
                 : (hd_sim_coord){8 * reg + g, 4 * q + index};
  }
}

/* Swizzles of shared memory: bits 4.. of the address change with bits 7...
 *
 *    9  7 6  4 3  0
 *   +----+----+----+
 *   | y  | x  |    |   x ^= y, in the lowest 1 (32 B), 2 (64 B) or 3 (128 B) bits
 *   +----+----+----+
 */
static inline uint32_t hd_sim_swizzle_address(uint32_t address, hd_swizzle swizzle) {
  return address ^ (address >> 7 & ((1u << swizzle) - 1)) << 4;
}

/* Fields of a wgmma shared-memory descriptor, in bytes. */
typedef struct hd_sim_descriptor {
  uint32_t start, leading, stride, base_offset;
  hd_swizzle swizzle;
} hd_sim_descriptor;

#define HD_SIM_DESCRIPTOR_RESERVED 0x3ff1c000c000c000ull
hd_sim_descriptor hd_sim_descriptor_read(uint64_t bits);
/* Shared byte address (18 bits) of element (mn, k) of `bytes` bytes. */
uint32_t hd_sim_descriptor_address(const hd_sim_descriptor *d, bool mn_major, uint32_t mn,
                                   uint32_t k, uint32_t bytes);

/* Decodes a metadata nibble: the positions that it keeps in its group of 2, 4 or 8 elements. false:
 * an illegal nibble. Entries of kept: 1 (tf32), 2, or 4 (pairs). */
bool hd_sim_meta_decode(uint32_t group_elems, uint32_t nibble, bool ordered, uint32_t kept[4]);

#endif
