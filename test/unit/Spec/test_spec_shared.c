/* Canonical shared-memory layouts, descriptors, and which instruction can read which layout. */
#include <string.h>

#include "spec_tests.h"

static uint32_t swizzled(uint32_t byte, unsigned b) {
  return byte ^ ((byte >> 7 & ((1u << b) - 1)) << 4);
}

static int64_t at(const hd_layout *map, uint32_t mn, uint32_t k) {
  uint32_t in[HD_LAYOUT_DIMS] = {mn, k};
  int64_t out[HD_LAYOUT_DIMS];
  hd_layout_apply(map, in, out);
  return out[0];
}

/* The examples of PTX ISA 9.7.16.3.3: exact layouts, in elements. */
void canonical_layouts_match_the_isa_examples(void **state) {
  (void)state;
  hd_layout map;
  hd_canonical form = {false, HD_SMEM_NONE, 64 * 4, 32 * 4}; /* ((8,2),(4,4)):((4,32),(1,64)) */
  assert_true(hd_canonical_layout(&form, 32, 16, 16, &map));
  for (uint32_t m = 0; m < 16; m++)
    for (uint32_t k = 0; k < 16; k++)
      assert_int_equal(at(&map, m, k), 4 * (m % 8 * 4 + m / 8 * 32 + k % 4 + k / 4 * 64));
  form =
      (hd_canonical){false, HD_SMEM_32B, 0, 64 * 4}; /* Swizzle<1> ((8,2),(4,2)):((8,64),(1,4)) */
  assert_true(hd_canonical_layout(&form, 32, 16, 8, &map));
  for (uint32_t m = 0; m < 16; m++)
    for (uint32_t k = 0; k < 8; k++)
      assert_int_equal(at(&map, m, k), swizzled(4 * (m % 8 * 8 + m / 8 * 64 + k), 1));
  form =
      (hd_canonical){true, HD_SMEM_NONE, 128 * 2, 64 * 2}; /* ((8,1,2),(8,2)):((1,8,64),(8,128)) */
  assert_true(hd_canonical_layout(&form, 16, 16, 16, &map));
  for (uint32_t m = 0; m < 16; m++)
    for (uint32_t k = 0; k < 16; k++)
      assert_int_equal(at(&map, m, k), 2 * (m % 8 + m / 8 * 64 + k % 8 * 8 + k / 8 * 128));
  form = (hd_canonical){true, HD_SMEM_32B, 128 * 2,
                        256 * 2}; /* ((8,2,2),(8,2)):((1,8,128),(16,256)) */
  assert_true(hd_canonical_layout(&form, 16, 32, 16, &map));
  for (uint32_t m = 0; m < 32; m++)
    for (uint32_t k = 0; k < 16; k++)
      assert_int_equal(at(&map, m, k),
                       swizzled(2 * (m % 16 + m / 16 * 128 + k % 8 * 16 + k / 8 * 256), 1));
  form = (hd_canonical){true, HD_SMEM_64B, 256 * 2,
                        512 * 2}; /* ((8,4,2),(8,2)):((1,8,256),(32,512)) */
  assert_true(hd_canonical_layout(&form, 16, 64, 16, &map));
  for (uint32_t m = 0; m < 64; m++)
    for (uint32_t k = 0; k < 16; k++)
      assert_int_equal(at(&map, m, k),
                       swizzled(2 * (m % 32 + m / 32 * 256 + k % 8 * 32 + k / 8 * 512), 2));
}

void canonical_forms_are_recognised(void **state) {
  (void)state;
  static const uint32_t offsets[][2] = {{128, 256}, {2048, 4096}, {1024, 512}};
  unsigned n = 0;
  for (unsigned bits = 8; bits <= 32; bits *= 2)
    for (unsigned major = 0; major < 2; major++)
      for (unsigned swizzle = 0; swizzle < 4; swizzle++)
        for (unsigned i = 0; i < 3; i++) {
          hd_canonical form = {major, (hd_smem_swizzle)swizzle, offsets[i][0], offsets[i][1]},
                       found;
          hd_layout map, again;
          uint32_t along = (16u << swizzle) * 8 / bits * (major || !swizzle ? 2 : 1);
          uint32_t mn = major ? along : 16, k = major ? 16 : along;
          if (!hd_canonical_layout(&form, bits, mn, k, &map))
            continue;
          assert_int_equal(hd_canonical_match(&map, bits, &found), HD_YES);
          assert_true(hd_canonical_layout(&found, bits, mn, k, &again));
          assert_int_equal(hd_layout_equal(&map, &again), HD_YES);
          map.column[0] ^= 8; /* not a canonical form */
          assert_int_equal(hd_canonical_match(&map, bits, &found), HD_NO);
          n++;
        }
  assert_true(n > 40);
}

void descriptors_hold_their_fields(void **state) {
  (void)state;
  hd_canonical packed = {false, HD_SMEM_NONE, 128, 256}, rows = {false, HD_SMEM_128B, 0, 1024};
  assert_true(hd_wgmma_descriptor(&packed) == ((uint64_t)8 << 16 | (uint64_t)16 << 32));
  assert_true(hd_wgmma_descriptor(&rows) ==
              ((uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62));
  for (size_t i = 0; i < hd_descriptor_count(); i++) {
    const hd_descriptor *d = hd_descriptor_get(i);
    uint64_t seen = 0;
    assert_ptr_equal(hd_descriptor_find(d->name), d);
    for (unsigned f = 0; f < d->n_fields; f++) {
      uint64_t width = (uint64_t)d->field[f].hi - d->field[f].lo + 1;
      uint64_t mask = (((uint64_t)1 << width) - 1) << d->field[f].lo;
      assert_true(d->field[f].hi < d->bits && !(seen & mask)); /* fields do not overlap */
      seen |= mask;
    }
  }
}

/* Packed A (docs/format.md): 16 rows x 32 bytes in core matrices; byte (row/8)*256 + (byte/16)*128
 * + (row%8)*16 + byte%16. ldmatrix.x4, with lane l at the address of stacked row l, must load the A
 * fragment of mma.sp and of wgmma with A in registers. */
void ldmatrix_feeds_a_from_core_matrices(void **state) {
  (void)state;
  const hd_spec_row *ld = hd_spec_find("ldmatrix_m8n8_x4_b16");
  const hd_spec_row *mma = hd_spec_find("mma_sp_ordered_m16n8k32_f32_f16_f16");
  hd_canonical form = {false, HD_SMEM_NONE, 128, 256};
  hd_layout packed;
  uint32_t address[32];
  assert_true(hd_canonical_layout(&form, 16, 16, 16, &packed));
  for (uint32_t l = 0; l < 32;
       l++) /* matrix j = l / 8 is register j: rows 8*(j&1), bytes 16*(j>>1) */
    address[l] = (uint32_t)at(&packed, l % 8 + 8 * (l / 8 % 2), 8 * (l / 16));
  assert_int_equal(hd_bank_conflicts(address, 32, 16), 1);
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned reg = 0; reg < 4; reg++)
      for (unsigned half = 0; half < 2; half++) {
        uint32_t row, col, m, k;
        hd_fragment_at(ld->fragment[HD_OPERAND_D], lane, reg, half, &row, &col);
        hd_fragment_at(mma->fragment[HD_OPERAND_A], lane, reg, half, &m, &k);
        assert_int_equal(address[row] + 2 * col, at(&packed, m, k));
      }
}
