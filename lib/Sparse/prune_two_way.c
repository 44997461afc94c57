/* Prunes a matrix to 2:4 along rows and along columns: in each 4 x 4 tile the pattern with the
 * largest sum of magnitudes stays. The device kernel (Emit/emit_two_way.c) makes the same sums in
 * the same order. ORDER TWO-WAY. */
#include <math.h>

#include "Layout/two_way.h"
#include "Sparse/sparse_rule.h"
#include "Sparse/sparse_sizes.h"
#include "Support/convert.h"
#include "Support/diag.h"

enum { SIDE = HD_TWO_WAY_SIDE, HALF_ROWS = SIDE / 2 };

/* A half of a tile, and its sum. */
typedef struct best {
  float sum;
  const uint8_t *half; /* the pairs of its two rows */
} best;

/* Sums of the pairs of a row. A NaN counts as an infinity. */
static void add_pairs(heddle_elem elem, const uint8_t *row, unsigned bytes,
                      float sums[HD_TWO_WAY_PAIRS]) {
  float x[SIDE];
  for (unsigned c = 0; c < SIDE; c++)
    x[c] = fminf(fabsf((float)hd_elem_to_double(elem, hd_unit_load(row + c * bytes, bytes))),
                 INFINITY);
  for (int p = 0; p < HD_TWO_WAY_PAIRS; p++) {
    unsigned pair = hd_two_way_pairs[p], first = 0, second = SIDE - 1;
    while (!(pair >> first & 1))
      first++;
    while (!(pair >> second & 1))
      second--;
    sums[p] = x[first] + x[second];
  }
}

static best find_half(const hd_two_way_class *c, float sums[HALF_ROWS][HD_TWO_WAY_PAIRS]) {
  best b = {-1, NULL};
  for (int32_t i = 0; i < c->n; i++) {
    float sum = sums[0][c->half[i][0]] + sums[1][c->half[i][1]];
    if (sum > b.sum)
      b = (best){sum, c->half[i]};
  }
  return b;
}

/* The columns that stay in each row. */
static void choose(const hd_two_way_class *classes, float sums[SIDE][HD_TWO_WAY_PAIRS],
                   uint8_t stay[SIDE]) {
  best lower[HD_TWO_WAY_CLASSES];
  float most = -1;
  for (int i = 0; i < HD_TWO_WAY_CLASSES; i++)
    lower[i] = find_half(&classes[i], sums + HALF_ROWS);
  for (int i = 0; i < HD_TWO_WAY_CLASSES; i++) {
    best upper = find_half(&classes[i], sums), rest = lower[classes[i].rest];
    if (upper.sum + rest.sum <= most)
      continue;
    most = upper.sum + rest.sum;
    for (int r = 0; r < HALF_ROWS; r++) {
      stay[r] = hd_two_way_pairs[upper.half[r]];
      stay[HALF_ROWS + r] = hd_two_way_pairs[rest.half[r]];
    }
  }
}

/* Sets what does not stay to zero, and writes the mask. */
static void apply(const uint8_t stay[SIDE], uint8_t *tile, size_t row_bytes, unsigned bytes,
                  uint8_t *mask, uint64_t k) {
  for (unsigned r = 0; r < SIDE; r++)
    for (unsigned c = 0; c < SIDE; c++) {
      bool stays = stay[r] >> c & 1;
      if (!stays)
        memset(tile + r * row_bytes + c * bytes, 0, bytes);
      if (mask)
        mask[r * k + c] = stays;
    }
}

static heddle_status check(heddle_context *ctx, heddle_elem elem, uint64_t m,
                           const hd_sparse_rule *rule) {
  if (rule->n_units != SIDE || rule->unit_bytes * 8 != heddle_elem_get(elem)->container_bits)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "sparse.two-way",
                    "got %s, which has no groups of four elements; legal: types of 16 and 8 bits "
                    "in memory; nearest: bf16",
                    heddle_elem_get(elem)->name);
  if (m % SIDE)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.two-way",
                    "got %llu rows; legal: a multiple of 4; nearest: %llu", (unsigned long long)m,
                    (unsigned long long)(m - m % SIDE + SIDE));
  return HEDDLE_OK;
}

heddle_status heddle_sparse_prune_two_way(heddle_context *ctx, heddle_elem elem, uint64_t m,
                                          uint64_t k, void *dense, size_t row_bytes,
                                          uint8_t *mask) {
  const hd_sparse_rule *rule;
  hd_two_way_class classes[HD_TWO_WAY_CLASSES];
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(check(ctx, elem, m, rule));
  hd_two_way_classes(classes);
  unsigned bytes = rule->unit_bytes;
  for (uint64_t i = 0; i < m; i += SIDE)
    for (uint64_t j = 0; j < k; j += SIDE) {
      uint8_t *tile = (uint8_t *)dense + i * row_bytes + j * bytes, stay[SIDE] = {0};
      float sums[SIDE][HD_TWO_WAY_PAIRS];
      for (unsigned r = 0; r < SIDE; r++)
        add_pairs(elem, tile + r * row_bytes, bytes, sums[r]);
      choose(classes, sums, stay);
      apply(stay, tile, row_bytes, bytes, mask ? mask + i * k + j : NULL, k);
    }
  return HEDDLE_OK;
}
