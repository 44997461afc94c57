/* Layouts of operands: proofs, and the formulas in the text of the ISA. */
#include <string.h>

#include "Support/arena.h"
#include "spec_tests.h"

/* Counts the fields for each element of the operand's tile. */
static void mark_tile(const hd_fragment *f, uint8_t *seen) {
  for (unsigned lane = 0; lane < f->n_lanes; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned field = 0; field < 1u << f->map.in[2].bits; field++) {
        uint32_t row, col;
        if (!hd_fragment_at(f, lane, reg, field, &row, &col))
          continue;
        assert_true(row < f->rows && col < f->cols && col % f->col_step == 0);
        seen[row * f->cols + col]++;
      }
}

static void check_fragment(const hd_fragment *f) {
  static uint8_t seen[256 * 256];
  memset(seen, 0, sizeof seen);
  mark_tile(f, seen);
  for (uint32_t i = 0; i < (uint32_t)f->rows * f->cols; i++)
    if (i % f->cols % f->col_step == 0)
      assert_true(f->broadcast ? seen[i] > 0 : seen[i] == 1);
}

void fragments_are_injective_and_onto(void **state) {
  (void)state;
  size_t n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    for (int id = 0; id < HD_N_OPERANDS; id++) {
      unsigned n_selectors = id == HD_OPERAND_META && row->n_selectors ? row->n_selectors : 1;
      for (unsigned s = 0; s < n_selectors; s++) {
        hd_fragment f;
        if (hd_spec_fragment(row, (hd_operand_id)id, s, &f) != HEDDLE_OK)
          continue;
        check_fragment(&f);
        n++;
      }
    }
  }
  assert_true(n > 4000);
}

/* ISA 9.7.14.6.2: the row of element i of A in lane T, and the logical columns firstcol..lastcol
 * from which it may come. One formula covers all shapes: e elements per register and `span` logical
 * columns per register. */
static void check_a(const hd_spec_row *row) {
  const hd_fragment *f = row->fragment[HD_OPERAND_A];
  unsigned e = 32u / f->field_bits, span = 2 * e;
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned i = 0; i < e * f->n_regs; i++) {
      uint32_t r, c;
      assert_true(hd_fragment_at(f, lane, i / e, i % e, &r, &c));
      unsigned reg = i / e, group_id = lane >> 2, in_group = lane % 4;
      unsigned first = in_group * span + (reg >= 2 ? 4 * span : 0);
      assert_int_equal(r, group_id + (reg % 2 ? 8 : 0));
      assert_true(2 * c >= first && 2 * c <= first + span - 1);
    }
}

void fragments_follow_the_isa_text(void **state) {
  (void)state;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family == HD_FAMILY_MMA_SP)
      check_a(row);
  }
}

/* The part of a warpgroup's fragment in warp 0. */
static hd_fragment first_warp(const hd_fragment *f) {
  hd_fragment part = *f;
  unsigned lane_bits = f->map.in[0].bits, kept = 0, n = 0;
  for (unsigned d = 0; d < f->map.n_in; d++)
    n += f->map.in[d].bits;
  for (unsigned i = 0; i < n; i++)
    if (i < 5 || i >= lane_bits)
      part.map.column[kept++] = f->map.column[i];
  part.map.in[0].bits = 5;
  part.n_lanes = 32;
  return part;
}

static void assert_same(const hd_fragment *a, const hd_fragment *b) {
  hd_fragment x = first_warp(a), y = first_warp(b);
  assert_int_equal(hd_layout_equal(&x.map, &y.map), HD_YES);
  assert_int_equal(x.lane_mask, y.lane_mask);
}

/* The ISA uses one fragment for D of all wgmma shapes, and mma's fragments for C and D of mma.sp.
 * One warp of wgmma.sp has the same fragments of A and of the metadata as mma.sp. */
void equal_fragments_are_equal(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"wgmma_sp_rs_m64n8k32_f32_f16_f16", "mma_sp_ordered_m16n8k32_f32_f16_f16"},
      {"wgmma_sp_rs_m64n8k32_f16_f16_f16", "mma_sp_m16n8k32_f16_f16_f16"},
      {"wgmma_sp_rs_m64n8k16_f32_tf32_tf32", "mma_sp_ordered_m16n8k16_f32_tf32_tf32"},
      {"wgmma_sp_rs_m64n8k64_s32_s8_u8", "mma_sp_ordered_m16n8k64_s32_s8_u8"},
      {"wgmma_sp_rs_m64n8k64_f32_e4m3_e5m2", "mma_sp_ordered_m16n8k64_f8f6f4_f32_e4m3_e5m2"}};
  for (size_t i = 0; i < HD_COUNT(pairs); i++) {
    const hd_spec_row *wide = hd_spec_find(pairs[i][0]), *narrow = hd_spec_find(pairs[i][1]);
    assert_same(wide->fragment[HD_OPERAND_A], narrow->fragment[HD_OPERAND_A]);
    assert_same(wide->fragment[HD_OPERAND_D], narrow->fragment[HD_OPERAND_D]);
    assert_same(wide->fragment[HD_OPERAND_META], narrow->fragment[HD_OPERAND_META]);
  }
}

static void assert_same_row(const hd_spec_row *a, const hd_spec_row *b) {
  for (int id = HD_OPERAND_A; id <= HD_OPERAND_META; id++) {
    assert_int_equal(a->fragment[id] != NULL, b->fragment[id] != NULL);
    if (a->fragment[id])
      assert_same(a->fragment[id], b->fragment[id]);
  }
}

/* The ISA describes the fragments of a shape and type once. .sp and .sp::ordered_metadata share
 * them, with or without .kind, with or without block scales. */
void fragments_do_not_depend_on_the_variant(void **state) {
  (void)state;
  unsigned n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    for (size_t j = 0; j < i && row->family == HD_FAMILY_MMA_SP; j++) {
      const hd_spec_row *other = hd_spec_get(j);
      if (other->family != HD_FAMILY_MMA_SP || other->k != row->k ||
          other->operand[HD_OPERAND_A].elem != row->operand[HD_OPERAND_A].elem ||
          other->operand[HD_OPERAND_B].elem != row->operand[HD_OPERAND_B].elem ||
          other->operand[HD_OPERAND_D].elem != row->operand[HD_OPERAND_D].elem)
        continue;
      assert_same_row(row, other);
      n++;
    }
  }
  print_message("pairs of rows with equal fragments: %u\n", n);
  assert_true(n > 60);
}

/* With the columns in run order, lane q gets columns [run * q, run * q + run) of each block of 4
 * run, in the order of its registers. The order is a bijection. */
void run_order_gives_a_lane_its_run(void **state) {
  (void)state;
  const hd_spec_row *row = hd_spec_find("wgmma_sp_rs_m64n256k32_f32_bf16_bf16");
  const hd_fragment *d = row->fragment[HD_OPERAND_D];
  const uint64_t columns[] = {256};
  for (uint32_t run = 4; run <= 16; run *= 2) {
    hd_layout order = hd_layout_run_order(run, 256);
    assert_int_equal(hd_layout_injective(&order), HD_YES);
    assert_int_equal(hd_layout_onto(&order, columns), HD_YES);
    for (unsigned lane = 0; lane < 128; lane++)
      for (unsigned reg = 0; reg < 128; reg++) {
        uint32_t m, place, block = reg / 4, blocks = run / 2;
        int64_t column[HD_LAYOUT_DIMS];
        assert_true(hd_fragment_at(d, lane, reg, 0, &m, &place));
        hd_layout_apply(&order, &place, column);
        assert_int_equal(column[0], block / blocks * 4 * run + lane % 4 * run + block % blocks * 2 +
                                        reg % 2);
      }
  }
}

/* 8-bit moves. The registers of ldmatrix.m16n16 are the first two of mma's A, with k x m in memory.
 * The bytes of stmatrix.m16n8 are the accumulators of mma, with n x m in memory. */
void matrix_moves_meet_the_fragments_of_mma(void **state) {
  (void)state;
  const hd_spec_row *mma = hd_spec_find("mma_sp_ordered_m16n8k64_f32_e4m3_e4m3");
  const hd_spec_row *load = hd_spec_find("ldmatrix_m16n16_x1_trans_b8");
  const hd_spec_row *store = hd_spec_find("stmatrix_m16n8_x1_trans_b8");
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned byte = 0; byte < 8; byte++) {
      uint32_t m, k, row, col;
      hd_fragment_at(mma->fragment[HD_OPERAND_A], lane, byte / 4, byte % 4, &m, &k);
      hd_fragment_at(load->fragment[HD_OPERAND_D], lane, byte / 4, byte % 4, &row, &col);
      assert_true(row == k && col == m);
      if (byte >= 4)
        continue;
      hd_fragment_at(mma->fragment[HD_OPERAND_D], lane, byte, 0, &m, &k);
      hd_fragment_at(store->fragment[HD_OPERAND_D], lane, 0, byte, &row, &col);
      assert_true(row == k && col == m);
    }
}

/* ISA 9.7.14.3, valid selectors. 1X: any byte; 2X: bytes 0 and 2; 4X: byte 0. A uses two threads of
 * the quad (thread-id 0 or 1), B one thread (0..3). */
void block_scales_follow_the_isa_table(void **state) {
  (void)state;
  static const char *const names[] = {"mma_sp_ordered_m16n8k64_mxf8f6f4_f32_e4m3_e4m3",
                                      "mma_sp_ordered_m16n8k128_mxf4_f32_e2m1p_e2m1p",
                                      "mma_sp_ordered_m16n8k128_mxf4nvf4_4x_f32_e2m1p_e2m1p_ue4m3"};
  for (unsigned v = 0; v < 3; v++)
    for (unsigned thread = 0; thread < 5; thread++)
      for (unsigned byte = 0; byte < 4; byte++) {
        hd_fragment f;
        const hd_spec_row *row = hd_spec_find(names[v]);
        bool byte_ok = byte % (1u << v) == 0;
        heddle_status a = hd_spec_fragment(row, HD_OPERAND_SCALE_A, byte + 4 * thread, &f);
        assert_int_equal(a == HEDDLE_OK, byte_ok && thread < 2);
        if (a == HEDDLE_OK)
          assert_true(f.lane_value == 2 * thread && f.lane_mask == 2 && f.field_base == byte);
        heddle_status b = hd_spec_fragment(row, HD_OPERAND_SCALE_B, byte + 4 * thread, &f);
        assert_int_equal(b == HEDDLE_OK, byte_ok && thread < 4);
        if (b == HEDDLE_OK)
          assert_true(f.lane_value == thread && f.lane_mask == 3 && f.field_base == byte);
      }
}
