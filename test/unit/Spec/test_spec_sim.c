/* The simulator implements every map with index arithmetic of its own. The two transcriptions of
 * the ISA must agree. */
#include <string.h>

#include "Sim/sim_maps.h"
#include "spec_tests.h"

typedef hd_sim_coord (*place_function)(uint32_t, uint32_t, uint32_t, uint32_t);

/* Compares one register operand. wgmma stacks n_warps blocks of 16 rows. */
static uint64_t compare_operand(const hd_fragment *f, place_function place) {
  uint64_t n = 0;
  for (unsigned lane = 0; lane < f->n_lanes; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned field = 0; field < 1u << f->map.in[2].bits; field++, n++) {
        uint32_t row, col;
        hd_sim_coord sim = place(f->field_bits, lane % 32, reg, field);
        assert_true(hd_fragment_at(f, lane, reg, field, &row, &col));
        assert_int_equal(row, sim.row + 16 * (lane / 32));
        assert_int_equal(col, sim.col);
      }
  return n;
}

static uint64_t compare_meta(const hd_spec_row *row, unsigned selector) {
  hd_fragment f;
  uint64_t n = 0;
  uint32_t bits = heddle_elem_get(row->operand[HD_OPERAND_A].elem)->container_bits;
  assert_int_equal(hd_spec_fragment(row, HD_OPERAND_META, selector, &f), HEDDLE_OK);
  for (unsigned lane = 0; lane < f.n_lanes; lane++)
    for (unsigned field = 0; field < 8; field++) {
      uint32_t r, c;
      if (!hd_fragment_at(&f, lane, 0, field, &r, &c))
        continue;
      hd_sim_meta_coord sim =
          hd_sim_coord_meta(bits, row->k / f.col_step, selector, r % 16, c / f.col_step);
      assert_int_equal(lane, sim.lane + 32 * (r / 16));
      assert_int_equal(4 * field, sim.bit);
      n++;
    }
  return n;
}

/* Compares every field of a scale operand, for all bytes and lanes that a selector (byte-id + 4 *
 * thread-id) can select. Returns the number of defined selectors. */
static unsigned compare_scales(const hd_spec_row *row, hd_operand_id id, uint64_t *n) {
  unsigned n_selectors = 0;
  bool of_a = id == HD_OPERAND_SCALE_A;
  for (unsigned selector = 0; selector < 32; selector++) {
    hd_fragment f;
    if (hd_spec_fragment(row, id, selector, &f) != HEDDLE_OK)
      continue;
    n_selectors++;
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned field = 0; field < 1u << f.map.in[2].bits; field++) {
        uint32_t r, c;
        if (!hd_fragment_at(&f, lane, 0, field, &r, &c))
          continue;
        hd_sim_meta_coord sim =
            hd_sim_coord_scale(of_a, selector % 4, selector / 4, of_a ? r : c, of_a ? c : r);
        assert_int_equal(lane, sim.lane);
        assert_int_equal(8 * (f.field_base + field), sim.bit);
        ++*n;
      }
  }
  return n_selectors;
}

/* 1X: 4 byte-ids; 2X: 2; 4X: 1; times 2 thread-ids of A, 4 of B. */
void sim_finds_the_same_block_scales(void **state) {
  (void)state;
  uint64_t n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family != HD_FAMILY_MMA_SP || !row->scale_vec)
      continue;
    unsigned bytes = 4 / row->scale_vec;
    assert_int_equal(compare_scales(row, HD_OPERAND_SCALE_A, &n), 2 * bytes);
    assert_int_equal(compare_scales(row, HD_OPERAND_SCALE_B, &n), 4 * bytes);
  }
  print_message("block scales compared with the simulator: %llu\n", (unsigned long long)n);
  assert_true(n >= 7424);
}

static hd_sim_matrix shape_of(const hd_spec_row *row) {
  return strstr(row->ptx, ".m8n16.")    ? HD_SIM_M8N16
         : strstr(row->ptx, ".m16n16.") ? HD_SIM_M16N16
         : strstr(row->ptx, ".m16n8.")  ? HD_SIM_M16N8
                                        : HD_SIM_M8N8;
}

/* ldmatrix and stmatrix, byte by byte. */
void sim_moves_matrices_the_same_way(void **state) {
  (void)state;
  uint64_t n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family != HD_FAMILY_LDMATRIX && row->family != HD_FAMILY_STMATRIX)
      continue;
    const hd_fragment *f = row->fragment[HD_OPERAND_D];
    unsigned bytes = f->field_bits / 8;
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned reg = 0; reg < f->n_regs; reg++)
        for (unsigned byte = 0; byte < 4; byte++, n++) {
          uint32_t r, c;
          assert_true(hd_fragment_at(f, lane, reg, byte / bytes, &r, &c));
          hd_sim_coord sim =
              hd_sim_coord_matrix(shape_of(row), strstr(row->ptx, ".trans"), lane, reg, byte);
          assert_int_equal(r, sim.row);
          assert_int_equal(c * bytes + byte % bytes, sim.col);
        }
  }
  print_message("bytes of ldmatrix and stmatrix compared: %llu\n", (unsigned long long)n);
  assert_true(n > 8000);
}

void sim_agrees_in_every_lane_and_bit(void **state) {
  (void)state;
  uint64_t n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family > HD_FAMILY_WGMMA_SP)
      continue;
    if (row->fragment[HD_OPERAND_A])
      n += compare_operand(row->fragment[HD_OPERAND_A], hd_sim_coord_a);
    if (row->fragment[HD_OPERAND_B])
      n += compare_operand(row->fragment[HD_OPERAND_B], hd_sim_coord_b);
    n += compare_operand(row->fragment[HD_OPERAND_D], hd_sim_coord_d);
    for (unsigned s = 0; s < row->n_selectors; s++)
      n += compare_meta(row, s);
  }
  print_message("fields compared with the simulator: %llu\n", (unsigned long long)n);
  assert_true(n > 1000000);
}

/* For every form that a descriptor can hold, compares the address that the simulator computes from
 * its bits. */
void assert_canonical_layouts(canonical_address *address) {
  unsigned n_forms = 0;
  for (unsigned bytes = 1; bytes <= 4; bytes *= 2)
    for (unsigned major = 0; major < 2; major++)
      for (unsigned swizzle = 0; swizzle < 4; swizzle++) {
        hd_canonical form = {major, (hd_smem_swizzle)swizzle, 2048, 1024};
        hd_layout map;
        uint32_t mn = major ? 128 / bytes : 16, k = major ? 16 : (16u << swizzle) / bytes;
        if (!hd_canonical_layout(&form, bytes * 8, mn, k, &map))
          continue;
        for (uint32_t i = 0; i < mn; i++)
          for (uint32_t j = 0; j < k; j++) {
            uint32_t in[HD_LAYOUT_DIMS] = {i, j};
            int64_t out[HD_LAYOUT_DIMS];
            hd_layout_apply(&map, in, out);
            assert_int_equal(CANONICAL_START + out[0], address(&form, i, j, bytes));
          }
        n_forms++;
      }
  assert_int_equal(n_forms, 24);
}

static uint32_t read_wgmma(const hd_canonical *form, uint32_t mn, uint32_t k, uint32_t bytes) {
  hd_sim_descriptor d = hd_sim_descriptor_read(hd_wgmma_descriptor(form) | CANONICAL_START >> 4);
  return hd_sim_descriptor_address(&d, form->mn_major, mn, k, bytes);
}

void sim_reads_the_same_canonical_layouts(void **state) {
  (void)state;
  assert_canonical_layouts(read_wgmma);
}
