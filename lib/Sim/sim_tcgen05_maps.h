/* Sim/sim_tcgen05_maps.h: tensor memory, and the descriptors of tcgen05: where every element lies.
 *
 * Index arithmetic from the PTX ISA ("Tensor Memory", "Data Path Layout Organization", "Matrix
 * Descriptors", "Block Scaling", "Sparse Matrices"), written without lib/Spec: a test compares the
 * two. Tensor memory is 128 lanes of 512 columns of 32 bits; positions are relative to the
 * operand's address. */
#ifndef HD_SIM_TCGEN05_MAPS_H
#define HD_SIM_TCGEN05_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "Kernel/manifest.h"

enum { SIM_TENSOR_LANES = 128, SIM_TENSOR_COLUMNS = 512 };

typedef struct hd_sim_tensor_coord {
  uint32_t lane, column, bit; /* bit: the lowest, in the column's 32 */
} hd_sim_tensor_coord;

/* ---- tcgen05.ld and tcgen05.st ---- */

typedef enum hd_sim_ldst {
  HD_SIM_32X32B,
  HD_SIM_16X32BX2,
  HD_SIM_16X64B,
  HD_SIM_16X128B,
  HD_SIM_16X256B
} hd_sim_ldst;

/* Registers per thread for .x1: 1, 1, 1, 2, 4. */
uint32_t hd_sim_ldst_registers(hd_sim_ldst shape);
/* The 32 bits of a register of a thread; split: the columns between the halves of 16x32bx2. With
 * .pack::16b and .unpack::16b, a register is the columns 2c and 2c + 1 for every column c here. */
hd_sim_tensor_coord hd_sim_coord_ldst(hd_sim_ldst shape, uint32_t thread, uint32_t reg,
                                      uint32_t split);

/* ---- mma: one CTA's rows of A, D and metadata ---- */

/* How the rows of a CTA lie on the lanes:
 *   FULL   128 rows, one per lane                                      (layouts A and D)
 *   HALF   64 rows, 16 at the lower or upper half of each 32 lanes     (C and F)
 *   SPLIT  64 rows twice: lanes 64.. hold the second half of N         (B) */
typedef enum hd_sim_paths { HD_SIM_PATHS_FULL, HD_SIM_PATHS_HALF, HD_SIM_PATHS_SPLIT } hd_sim_paths;

/* false: no instruction without .ws has this M. */
bool hd_sim_paths_find(uint32_t m, uint32_t cta_group, bool sparse, hd_sim_paths *paths);

/* (row, n) of D, 32 bits each:  n_total is N. */
hd_sim_tensor_coord hd_sim_coord_d5(hd_sim_paths paths, uint32_t n_total, uint32_t row, uint32_t n);
/* (row, element of the stored row) of A in tensor memory, containers of `bits`. SPLIT: the same row
 * is repeated 64 lanes later. */
hd_sim_tensor_coord hd_sim_coord_a5(hd_sim_paths paths, uint32_t bits, uint32_t row, uint32_t k);
/* The metadata nibble of a row and a group of the row; bits: of A's container. 16-bit and tf32:
 * column `selector`; rows r and r + 8 share a word for half of k. Narrower: two columns per row. */
hd_sim_tensor_coord hd_sim_coord_meta5(hd_sim_paths paths, uint32_t bits, uint32_t selector,
                                       uint32_t row, uint32_t group);
/* Byte of scale `index` of a row of A, or column of B, in the first 32 lanes that hold it. All four
 * groups of 32 hold the same; for B with SPLIT, the two of each half of N. id: byte offset. */
hd_sim_tensor_coord hd_sim_coord_scale_a5(uint32_t row, uint32_t id, uint32_t index);
hd_sim_tensor_coord hd_sim_coord_scale_b5(hd_sim_paths paths, uint32_t n_total, uint32_t n,
                                          uint32_t id, uint32_t index);

/* ---- tcgen05.cp ---- */

typedef enum hd_sim_cp {
  HD_SIM_CP_128X256B,
  HD_SIM_CP_4X256B,
  HD_SIM_CP_128X128B,
  HD_SIM_CP_64X128B_02_13,
  HD_SIM_CP_64X128B_01_23,
  HD_SIM_CP_32X128B_X4
} hd_sim_cp;

/* Rows read, bytes per row, and how often each row is written. */
typedef struct hd_sim_cp_shape {
  uint32_t rows, bytes, copies;
} hd_sim_cp_shape;
hd_sim_cp_shape hd_sim_cp_shape_of(hd_sim_cp cp);
/* The lane that copy `copy` of a row goes to. */
uint32_t hd_sim_cp_lane(hd_sim_cp cp, uint32_t row, uint32_t copy);

/* ---- descriptors ---- */

/* A matrix in shared memory, in bytes. wide: 128-byte swizzle with 32-byte atoms. */
typedef struct hd_sim_descriptor5 {
  uint32_t start, leading, stride, base_offset;
  hd_swizzle swizzle;
  bool wide, absolute, valid; /* valid: the fixed fields and the swizzle mode are legal */
} hd_sim_descriptor5;

hd_sim_descriptor5 hd_sim_descriptor5_read(uint64_t bits);
/* Shared byte address of element (mn, k) of `bytes` bytes. */
uint32_t hd_sim_descriptor5_address(const hd_sim_descriptor5 *d, bool mn_major, uint32_t mn,
                                    uint32_t k, uint32_t bytes);

/* The instruction descriptor: the numbers as they are encoded. */
typedef struct hd_sim_idesc {
  uint32_t m, n, selector, d, a, b, scale_type, scale_a, scale_b;
  bool sparse, saturate, negate_a, negate_b, transpose_a, transpose_b;
  bool long_k;       /* K = 96 */
  uint32_t reserved; /* bits that must be zero and are not */
} hd_sim_idesc;

typedef enum hd_sim_idesc_form { HD_SIM_IDESC_PLAIN, HD_SIM_IDESC_MX8, HD_SIM_IDESC_MX4 }
    hd_sim_idesc_form;
hd_sim_idesc hd_sim_idesc_read(hd_sim_idesc_form form, uint32_t bits);

#endif
