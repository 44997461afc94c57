/* Sim/sim_source.h: an operand that a tensor-core instruction reads through a descriptor (private
 * to the folder). */
#ifndef HD_SIM_SOURCE_H
#define HD_SIM_SOURCE_H

#include "Sim/sim_product.h"

typedef struct sim_source {
  uint64_t bits; /* the descriptor */
  bool is_a, mn_major, negate;
  uint32_t n_mn, n_k, first_mn; /* extent in elements; position in the tile */
  uint8_t type, container;
} sim_source;

/* Bits of an element in its 16 bytes: 4- and 6-bit types are packed at the start. */
uint32_t hd_sim_source_width(uint8_t type);
/* The shared-memory address of the 16 bytes that begin with element (mn, k), for a format of
 * descriptor. */
typedef uint32_t sim_source_address(const sim_source *from, uint32_t mn, uint32_t k);
/* Reads the values into the tile, 16 bytes at a time. */
sim_step hd_sim_source_read(sim_access *a, sim_cta *cta, const sim_mma *s, const sim_source *from,
                            sim_source_address *address);

#endif
