/* Sim/sim_product.h: the arithmetic of a tensor-core instruction (private to the folder).
 *
 * Order: the products are exact; they are summed in double precision in ascending k, the
 * accumulator is added, and the result is rounded once (nearest even) to the type of D. Integers
 * are exact, then wrapped or clamped to s32. */
#ifndef HD_SIM_PRODUCT_H
#define HD_SIM_PRODUCT_H

#include "Sim/sim_machine.h"

enum { SIM_TILE_M = 128, SIM_TILE_N = 256, SIM_TILE_K = 128 };

enum { SIM_KIND_NONE, SIM_KIND_F16, SIM_KIND_TF32, SIM_KIND_I8, SIM_KIND_F8F6F4, SIM_KIND_MXF8F6F4,
       SIM_KIND_MXF4, SIM_KIND_MXF4NVF4 };

/* Shape and types of an mma, a wgmma, or a CTA's part of a tcgen05.mma. */
typedef struct sim_mma {
  uint32_t m, n, k;
  uint8_t a, b, c, d; /* element types */
  uint8_t a_bits, b_bits; /* containers in the registers or in shared memory */
  bool sparse, ordered, satfinite;
  uint8_t kind, scale_type;
  uint32_t n_scales;                     /* along k: scale_vec::1X, 2X, 4X; 0: none */
  uint32_t group, kept;                  /* of the sparse pattern */
} sim_mma;

struct sim_tile {
  double a[SIM_TILE_M][SIM_TILE_K];      /* [m][k], or compressed */
  uint8_t at[SIM_TILE_M][SIM_TILE_K];    /* [m][compressed k]: logical k */
  double b[SIM_TILE_K][SIM_TILE_N];      /* [k][n] */
  double d[SIM_TILE_M][SIM_TILE_N];      /* in: accumulator; out: sum, not yet rounded */
};
typedef struct sim_tile sim_tile;

static inline uint32_t hd_sim_a_columns(const sim_mma *s) {
  return s->sparse ? s->k / s->group * s->kept : s->k;
}

/* Completes shape s: containers, groups. false: types that no instruction has. */
bool hd_sim_mma_finish(sim_mma *s);
/* The value in a container. */
double hd_sim_element(const sim_mma *s, uint8_t type, uint32_t container, uint64_t bits);
/* Fills in tile->at of rows [row, row + 16) from the metadata words of a warp. */
sim_step hd_sim_apply_metadata(sim_warp *w, const sim_insn *in, const sim_mma *s, sim_tile *tile,
                               uint32_t row, const uint64_t meta[32], uint32_t selector);
/* Lanes whose metadata words a sparse instruction with this selector reads. */
uint32_t hd_sim_meta_lanes(const sim_mma *s, uint32_t selector);
/* Reports undefined metadata in lanes that are not read, by a rule of Heddle's own. */
sim_step hd_sim_idle_metadata(sim_warp *w, const sim_insn *in, uint32_t lanes);
void hd_sim_dense_columns(const sim_mma *s, sim_tile *tile);
void hd_sim_multiply(const sim_mma *s, sim_tile *tile);
/* Bits of an element of D. */
uint64_t hd_sim_round_d(const sim_mma *s, double value);
double hd_sim_read_c(const sim_mma *s, uint64_t bits);
bool hd_sim_parse_shape(sim_decode *d, sim_mma *s);

#endif
