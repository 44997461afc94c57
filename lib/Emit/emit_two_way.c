/* Prunes a strip to 2:4 along rows and along columns: Layout/two_way.h says which elements of a
 * 4 x 4 tile stay. ORDER TWO-WAY.
 *
 * Lane 4g + q has 16 elements of rows g and g + 8, so the lanes of four rows have four tiles of
 * both. They exchange words: lane 4g + q gets the four rows of tile g % 4 of the upper and of the
 * lower rows. It chooses a pattern for each, and all four lanes read the patterns of all four.
 *
 * A pattern is a word with a byte for each column: bit 4 + r of it is row r of the upper tile, bit
 * r that of the lower one. So a shift by the lane's row moves its elements to the sign bits of the
 * bytes, where prmt copies them to whole elements. */
#include "Emit/emit_prune.h"
#include "Emit/emit_strip.h"
#include "Layout/two_way.h"

enum {
  SIDE = HD_TWO_WAY_SIDE,
  PAIRS = HD_TWO_WAY_PAIRS,
  ROWS = HD_STRIP_LANE_ROWS,
  TILES = HD_STRIP_LANE_TILES,
  TILE_WORDS = 2,
  UPPER_BIT = 4,
  SIGNS_OF_BYTES = 0x80808080u,
  SIGN_BIT = 7
};

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

/* The bits of a pattern: columns of row r of the upper tile. */
static uint32_t in_row(int r, unsigned columns) {
  uint32_t bits = 0;
  for (int c = 0; c < SIDE; c++)
    bits |= (uint32_t)(columns >> c & 1) << (8 * c + UPPER_BIT + r);
  return bits;
}

static sum make_sum(hd_emitter *e, LLVMValueRef x, LLVMValueRef y, uint32_t pattern) {
  return (sum){LLVMBuildFAdd(e->b, x, y, ""), hd_emit_i32(e, (int32_t)pattern)};
}

/* Two rows of a tile, from row r on. */
typedef struct half {
  int r;
  LLVMValueRef both[SIDE], one[SIDE][SIDE];
  sum once[PAIRS], cross;
} half;

static void add_half(hd_emitter *e, LLVMValueRef const x[SIDE], LLVMValueRef const y[SIDE], int r,
                     half *h) {
  *h = (half){.r = r};
  for (int b = 0; b < SIDE; b++)
    for (int c = 0; c < SIDE; c++)
      h->one[b][c] = LLVMBuildFAdd(e->b, x[b], y[c], "");
  for (int c = 0; c < SIDE; c++)
    h->both[c] = h->one[c][c];
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    uint32_t ab = in_row(r, 1u << p.a) | in_row(r + 1, 1u << p.b),
             ba = in_row(r, 1u << p.b) | in_row(r + 1, 1u << p.a),
             across = in_row(r, hd_two_way_columns(p.a, p.b)) |
                      in_row(r + 1, hd_two_way_columns(p.c, p.d));
    h->once[i] = larger(e, (sum){h->one[p.a][p.b], hd_emit_i32(e, (int32_t)ab)},
                        (sum){h->one[p.b][p.a], hd_emit_i32(e, (int32_t)ba)});
    h->cross = larger(e, h->cross, make_sum(e, h->one[p.a][p.c], h->one[p.b][p.d], across));
  }
}

/* Columns in both rows of a half. */
static uint32_t in_both(const half *h, unsigned columns) {
  return in_row(h->r, columns) | in_row(h->r + 1, columns);
}

/* Column a in both upper rows and column d in both lower ones. */
static sum add_both(hd_emitter *e, const half *upper, const half *lower, int a, int d) {
  return make_sum(e, upper->both[a], lower->both[d],
                  in_both(upper, 1u << a) | in_both(lower, 1u << d));
}

static sum add(hd_emitter *e, sum x, sum y) {
  return (sum){LLVMBuildFAdd(e->b, x.value, y.value, ""),
               LLVMBuildOr(e->b, x.pattern, y.pattern, "")};
}

/* The magnitudes of a row of a tile. A NaN counts as an infinity. */
static void read_row(hd_emitter *e, heddle_elem elem, const hd_ranking *rank,
                     const LLVMValueRef words[TILE_WORDS], LLVMValueRef x[SIDE]) {
  for (int i = 0; i < TILE_WORDS; i++)
    hd_emit_word_elements(e, elem, hd_emit_magnitudes(e, rank, words[i]), false, x + 2 * i);
}

/* The pattern that stays of a tile, whose row r is words[r]. */
static LLVMValueRef choose(hd_emitter *e, heddle_elem elem,
                           LLVMValueRef words[SIDE][TILE_WORDS]) {
  LLVMValueRef x[SIDE][SIDE];
  half upper, lower;
  hd_ranking rank;
  hd_ranking_find(elem, &rank);
  for (int r = 0; r < SIDE; r++)
    read_row(e, elem, &rank, words[r], x[r]);
  add_half(e, x[0], x[1], 0, &upper);
  add_half(e, x[2], x[3], 2, &lower);
  sum best = add(e, upper.cross, lower.cross);
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    sum twice = larger(e, add_both(e, &upper, &lower, p.c, p.d),
                       add_both(e, &upper, &lower, p.d, p.c));
    best = larger(e, best, add(e, add(e, upper.once[i], lower.once[i]), twice));
  }
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    uint32_t pattern = in_both(&upper, hd_two_way_columns(p.a, p.b)) |
                       in_both(&lower, hd_two_way_columns(p.c, p.d));
    best = larger(e, best,
                  make_sum(e, LLVMBuildFAdd(e->b, upper.both[p.a], upper.both[p.b], ""),
                           LLVMBuildFAdd(e->b, lower.both[p.c], lower.both[p.d], ""), pattern));
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

void hd_emit_keep_signed(hd_emitter *e, LLVMValueRef signs, LLVMValueRef words[2]) {
  /* Selectors of prmt: the signs of bytes 0 and 1 for the two elements of a word; of 2 and 3. */
  static const int32_t selector[TILE_WORDS] = {0x9988, 0xbbaa};
  for (int i = 0; i < TILE_WORDS; i++)
    words[i] = hd_emit_and(e, words[i], hd_emit_permute(e, signs, signs, selector[i]));
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
      hd_emit_keep_signed(e, signs, &w[h][TILE_WORDS * t]);
      signs = hd_emit_and(e, signs, hd_emit_i32(e, (int32_t)SIGNS_OF_BYTES));
      mask[h][t] = LLVMBuildLShr(e->b, signs, hd_emit_i32(e, SIGN_BIT), "");
    }
  }
}
