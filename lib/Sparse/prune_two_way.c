/* Prunes a matrix to 2:4 along rows and along columns: in each 4 x 4 tile the pattern with the
 * largest sum of magnitudes stays (Layout/two_way.h). ORDER TWO-WAY. */
#include <math.h>

#include "Layout/two_way.h"
#include "Sparse/sparse_rule.h"
#include "Sparse/sparse_sizes.h"
#include "Support/convert.h"
#include "Support/diag.h"

enum { SIDE = HD_TWO_WAY_SIDE, PAIRS = HD_TWO_WAY_PAIRS };

/* A sum, and the pattern that has it: bit 4r + c for row r, column c. */
typedef struct sum {
  float value;
  unsigned pattern;
} sum;

static sum larger(sum x, sum y) { return y.value > x.value ? y : x; }

static unsigned in_row(int r, unsigned columns) { return columns << SIDE * r; }

/* Two rows of a tile, from row r on. */
typedef struct half {
  int r;
  float both[SIDE], one[SIDE][SIDE];
  sum once[PAIRS], cross;
} half;

static void add_half(const float x[SIDE], const float y[SIDE], int r, half *h) {
  h->r = r;
  for (int b = 0; b < SIDE; b++)
    for (int c = 0; c < SIDE; c++)
      h->one[b][c] = x[b] + y[c];
  for (int c = 0; c < SIDE; c++)
    h->both[c] = h->one[c][c];
  h->cross = (sum){-1, 0};
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    h->once[i] = larger((sum){h->one[p.a][p.b], in_row(r, 1u << p.a) | in_row(r + 1, 1u << p.b)},
                        (sum){h->one[p.b][p.a], in_row(r, 1u << p.b) | in_row(r + 1, 1u << p.a)});
    h->cross = larger(h->cross, (sum){h->one[p.a][p.c] + h->one[p.b][p.d],
                                      in_row(r, hd_two_way_columns(p.a, p.b)) |
                                          in_row(r + 1, hd_two_way_columns(p.c, p.d))});
  }
}

/* Columns in both rows of a half. */
static unsigned in_both(const half *h, unsigned columns) {
  return in_row(h->r, columns) | in_row(h->r + 1, columns);
}

/* Column a in both upper rows and column d in both lower ones. */
static sum add_both(const half *upper, const half *lower, int a, int d) {
  return (sum){upper->both[a] + lower->both[d], in_both(upper, 1u << a) | in_both(lower, 1u << d)};
}

/* The pattern that stays. */
static unsigned choose(float x[SIDE][SIDE]) {
  half upper, lower;
  add_half(x[0], x[1], 0, &upper);
  add_half(x[2], x[3], 2, &lower);
  sum best = {upper.cross.value + lower.cross.value, upper.cross.pattern | lower.cross.pattern};
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    sum twice = larger(add_both(&upper, &lower, p.c, p.d), add_both(&upper, &lower, p.d, p.c));
    float value = (upper.once[i].value + lower.once[i].value) + twice.value;
    best = larger(best, (sum){value, upper.once[i].pattern | lower.once[i].pattern |
                                         twice.pattern});
  }
  for (int i = 0; i < PAIRS; i++) {
    hd_two_way_pair p = hd_two_way_pairs[i];
    float value = (upper.both[p.a] + upper.both[p.b]) + (lower.both[p.c] + lower.both[p.d]);
    best = larger(best, (sum){value, in_both(&upper, hd_two_way_columns(p.a, p.b)) |
                                         in_both(&lower, hd_two_way_columns(p.c, p.d))});
  }
  return best.pattern;
}

/* Magnitudes. A NaN counts as an infinity. */
static void read_tile(heddle_elem elem, const uint8_t *tile, size_t row_bytes, unsigned bytes,
                      float x[SIDE][SIDE]) {
  for (unsigned r = 0; r < SIDE; r++)
    for (unsigned c = 0; c < SIDE; c++) {
      uint32_t bits = hd_unit_load(tile + r * row_bytes + c * bytes, bytes);
      x[r][c] = fminf(fabsf((float)hd_elem_to_double(elem, bits)), INFINITY);
    }
}

/* Sets what does not stay to zero, and writes the mask. */
static void apply(unsigned pattern, uint8_t *tile, size_t row_bytes, unsigned bytes, uint8_t *mask,
                  uint64_t k) {
  for (unsigned r = 0; r < SIDE; r++)
    for (unsigned c = 0; c < SIDE; c++) {
      bool stays = pattern & in_row((int)r, 1u << c);
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
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(check(ctx, elem, m, rule));
  unsigned bytes = rule->unit_bytes;
  for (uint64_t i = 0; i < m; i += SIDE)
    for (uint64_t j = 0; j < k; j += SIDE) {
      uint8_t *tile = (uint8_t *)dense + i * row_bytes + j * bytes;
      float x[SIDE][SIDE];
      read_tile(elem, tile, row_bytes, bytes, x);
      apply(choose(x), tile, row_bytes, bytes, mask ? mask + i * k + j : NULL, k);
    }
  return HEDDLE_OK;
}
