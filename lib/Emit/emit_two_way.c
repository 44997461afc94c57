/* Prunes a strip to 2:4 along rows and along columns: Layout/two_way.h says which elements of a
 * 4 x 4 tile stay. ORDER TWO-WAY: lib/Sparse makes the same sums in the same order.
 *
 * Lane 4g + q has 16 elements of rows g and g + 8, so the lanes of four rows have four tiles of
 * both. They exchange words: lane 4g + q gets the four rows of tile g % 4 of the upper and of the
 * lower rows. It chooses a pattern for each, and all four lanes read the patterns of all four.
 *
 * A pattern is a word with a byte for each column: bit 4 + r of it is row r of the upper tile, bit
 * r that of the lower one. So a shift by the lane's row moves its elements to the sign bits of the
 * bytes, where prmt copies them to whole elements. */
#include <math.h>

#include "Emit/emit_prune.h"
#include "Emit/emit_strip.h"
#include "Layout/two_way.h"

enum {
  SIDE = HD_TWO_WAY_SIDE,
  ROWS = HD_STRIP_LANE_ROWS,
  TILES = HD_STRIP_LANE_TILES,
  TILE_WORDS = 2,
  UPPER_BIT = 4,
  SIGNS_OF_BYTES = 0x80808080u,
  SIGN_BIT = 7
};
/* Selectors of prmt: the signs of bytes 0 and 1 for the two elements of a word; of 2 and 3. */
static const int32_t element_signs[TILE_WORDS] = {0x9988, 0xbbaa};

/* A sum, and the bits of the pattern that has it. */
typedef struct sum {
  LLVMValueRef value, pattern;
} sum;

/* The larger one; of equal ones x. */
static sum larger(hd_emitter *e, sum x, sum y) {
  if (!x.value)
    return y;
  LLVMValueRef is = LLVMBuildFCmp(e->b, LLVMRealOGT, y.value, x.value, "");
  return (sum){hd_emit_select(e, is, y.value, x.value),
               hd_emit_select(e, is, y.pattern, x.pattern)};
}

/* The pattern bits of a pair in row r of the upper tile. */
static uint32_t pattern_of(uint8_t pair, int r) {
  uint32_t bits = 0;
  for (int c = 0; c < SIDE; c++)
    bits |= (uint32_t)(pair >> c & 1) << (8 * c + UPPER_BIT + r);
  return bits;
}

/* Sums of the pairs of a row of a tile. A NaN counts as an infinity. */
static void add_pairs(hd_emitter *e, heddle_elem elem, const LLVMValueRef words[TILE_WORDS],
                      LLVMValueRef sums[HD_TWO_WAY_PAIRS]) {
  LLVMValueRef x[SIDE], infinity = LLVMConstReal(e->f32, HUGE_VAL);
  for (int i = 0; i < TILE_WORDS; i++)
    hd_emit_word_elements(e, elem, words[i], false, x + 2 * i);
  for (int i = 0; i < SIDE; i++) {
    x[i] = hd_emit_intrinsic_of(e, "llvm.fabs", e->f32, &x[i], 1);
    x[i] = hd_emit_intrinsic(e, "llvm.nvvm.fmin.f", (LLVMValueRef[]){x[i], infinity}, 2);
  }
  for (int p = 0; p < HD_TWO_WAY_PAIRS; p++) {
    int first = __builtin_ctz(hd_two_way_pairs[p]);
    int second = __builtin_ctz(hd_two_way_pairs[p] & (hd_two_way_pairs[p] - 1u));
    sums[p] = LLVMBuildFAdd(e->b, x[first], x[second], "");
  }
}

/* The largest sum of rows r and r + 1 in a class. */
static sum find_half(hd_emitter *e, const hd_two_way_class *c,
                     LLVMValueRef sums[SIDE][HD_TWO_WAY_PAIRS], int r) {
  sum best = {0};
  for (int32_t i = 0; i < c->n; i++) {
    const uint8_t *half = c->half[i];
    uint32_t pattern = pattern_of(hd_two_way_pairs[half[0]], r) |
                       pattern_of(hd_two_way_pairs[half[1]], r + 1);
    LLVMValueRef value = LLVMBuildFAdd(e->b, sums[r][half[0]], sums[r + 1][half[1]], "");
    best = larger(e, best, (sum){value, hd_emit_i32(e, (int32_t)pattern)});
  }
  return best;
}

/* The pattern of a tile, whose row r is words[r]. */
static LLVMValueRef choose(hd_emitter *e, heddle_elem elem,
                           LLVMValueRef words[SIDE][TILE_WORDS]) {
  hd_two_way_class classes[HD_TWO_WAY_CLASSES];
  LLVMValueRef sums[SIDE][HD_TWO_WAY_PAIRS];
  sum lower[HD_TWO_WAY_CLASSES], best = {0};
  hd_two_way_classes(classes);
  for (int r = 0; r < SIDE; r++)
    add_pairs(e, elem, words[r], sums[r]);
  for (int i = 0; i < HD_TWO_WAY_CLASSES; i++)
    lower[i] = find_half(e, &classes[i], sums, SIDE / 2);
  for (int i = 0; i < HD_TWO_WAY_CLASSES; i++) {
    sum upper = find_half(e, &classes[i], sums, 0), rest = lower[classes[i].rest];
    sum both = {LLVMBuildFAdd(e->b, upper.value, rest.value, ""),
                LLVMBuildOr(e->b, upper.pattern, rest.pattern, "")};
    best = larger(e, best, both);
  }
  return best.pattern;
}

/* The four rows of the lane's tile of the upper (h = 0) or lower rows. */
static void gather_tile(hd_emitter *e, LLVMValueRef const *w, LLVMValueRef tile[SIDE][TILE_WORDS]) {
  for (int i = 0; i < TILE_WORDS; i++) {
    LLVMValueRef words[TILES];
    for (int t = 0; t < TILES; t++)
      words[t] = w[TILE_WORDS * t + i];
    hd_emit_transpose_quads(e, words);
    for (int r = 0; r < SIDE; r++)
      tile[r][i] = words[r];
  }
}

void hd_emit_prune_two_way(hd_emitter *e, heddle_elem elem,
                           LLVMValueRef w[HD_STRIP_LANE_ROWS][HD_STRIP_LANE_WORDS],
                           LLVMValueRef mask[HD_STRIP_LANE_ROWS][HD_STRIP_LANE_TILES]) {
  LLVMValueRef chosen[ROWS], tile[SIDE][TILE_WORDS];
  for (int h = 0; h < ROWS; h++) {
    gather_tile(e, w[h], tile);
    chosen[h] = choose(e, elem, tile);
  }
  LLVMValueRef lower = LLVMBuildLShr(e->b, chosen[1], hd_emit_i32(e, UPPER_BIT), "");
  LLVMValueRef own = LLVMBuildOr(e->b, chosen[0], lower, "");
  LLVMValueRef row = hd_emit_remi(e, hd_emit_divi(e, e->lane, 4), SIDE);
  LLVMValueRef first = hd_emit_sub(e, e->lane, hd_emit_muli(e, row, 4));
  for (int t = 0; t < TILES; t++) {
    LLVMValueRef pattern = hd_emit_shfl_from(e, own, hd_emit_addi(e, first, 4 * t));
    for (int h = 0; h < ROWS; h++) {
      int32_t up = SIGN_BIT - (h ? 0 : UPPER_BIT);
      LLVMValueRef by = hd_emit_sub(e, hd_emit_i32(e, up), row);
      LLVMValueRef signs = LLVMBuildShl(e->b, pattern, by, "");
      for (int i = 0; i < TILE_WORDS; i++) {
        LLVMValueRef *word = &w[h][TILE_WORDS * t + i];
        *word = hd_emit_and(e, *word, hd_emit_permute(e, signs, signs, element_signs[i]));
      }
      signs = hd_emit_and(e, signs, hd_emit_i32(e, (int32_t)SIGNS_OF_BYTES));
      mask[h][t] = LLVMBuildLShr(e->b, signs, hd_emit_i32(e, SIGN_BIT), "");
    }
  }
}
