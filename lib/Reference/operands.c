#include "Reference/operands.h"

#include <math.h>

#include "Sparse/sparse_rule.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/hash.h"

static uint64_t row_hash(uint64_t seed, uint64_t i) {
  return hd_hash_mix(seed + 0x9e3779b97f4a7c15u * (i + 1));
}

static uint64_t element_hash(uint64_t row, uint64_t j) {
  return hd_hash_mix(row + 0xd1b54a32d192ed03u * (j + 1));
}

/* The parameters of value_of for a fill and a type. */
typedef struct maker {
  unsigned limit, one_in; /* limit 0: random; one_in 0: all */
  bool has_sign;
  double scale; /* random: factor of the sum of four 16-bit parts */
} maker;

/* The sum of four uniform values 0..65535 has mean 131070 and variance 4 (2^32 - 1) / 12. */
static maker make_maker(const hd_fill *fill, heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  maker m = {fill->limit, fill->one_in, hd_elem_has_sign(elem), 1 / 37837.22};
  int bits = info->value_bits < 8 ? info->value_bits : 8;
  if (info->kind != HEDDLE_FLOAT)
    m.scale *= ldexp(1, bits - (info->kind == HEDDLE_SIGNED)) / 3;
  return m;
}

static double value_of(const maker *m, uint64_t h) {
  if (m->limit) {
    if (m->one_in && (h >> 32 & 0x7fffffff) % m->one_in)
      return 0;
    double magnitude = 1.0 + (double)(h % m->limit);
    return m->has_sign && h >> 63 ? -magnitude : magnitude;
  }
  uint64_t sum = (h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48);
  double x = ((double)(int64_t)sum - 131070.0) * m->scale;
  return m->has_sign ? x : fabs(x);
}

/* Number of values that are generated and stored at a time, a multiple of every group. */
enum { CHUNK = 64 };

static unsigned chunk_at(uint64_t j, uint64_t n_cols) {
  return n_cols - j < CHUNK ? (unsigned)(n_cols - j) : CHUNK;
}

void hd_fill_dense(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_cols,
                   void *data, uint64_t row_stride) {
  maker m = make_maker(fill, elem);
  double values[CHUNK];
  for (uint64_t i = 0; i < n_rows; i++) {
    uint64_t row = row_hash(fill->seed, fill->first_row + i);
    for (uint64_t j = 0; j < n_cols; j += CHUNK) {
      unsigned n = chunk_at(j, n_cols);
      for (unsigned c = 0; c < n; c++)
        values[c] = value_of(&m, element_hash(row, j + c));
      hd_elem_store_many(elem, data, (size_t)(i * row_stride + j), 1, n, values);
    }
  }
}

/* Bit u: unit u of the group is kept. */
static unsigned group_places(const hd_sparse_rule *rule, uint64_t g) {
  static const uint8_t of_four[6] = {0x3, 0x5, 0x6, 0x9, 0xa, 0xc};
  unsigned places = rule->n_units == 2 ? 1u << (g & 1) : of_four[g % 6];
  if ((g >> 8 & 0x3f) == 0)
    return 0;
  if ((g >> 8 & 7) == 0)
    places = places & (places - 1) ? places & (~places + 1) : 0;
  return places;
}

/* Generates n values of a row from column j on; both are multiples of the group. */
static void make_sparse(const maker *m, const heddle_elem_info *info, const hd_sparse_rule *rule,
                        uint64_t row, uint64_t j, unsigned n, double *values) {
  unsigned per_unit = info->group / rule->n_units;
  for (unsigned first = 0; first < n; first += info->group) {
    unsigned places = group_places(rule, element_hash(row, ~((j + first) / info->group)));
    for (unsigned c = 0; c < info->group; c++) {
      bool kept = places >> (c / per_unit) & 1;
      values[first + c] = kept ? value_of(m, element_hash(row, j + first + c)) : 0.0;
    }
  }
}

void hd_fill_sparse(const hd_fill *fill, heddle_elem elem, uint64_t m, uint64_t k, void *data,
                    uint64_t row_stride) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
  maker make = make_maker(fill, elem);
  double values[CHUNK];
  for (uint64_t i = 0; i < m; i++) {
    uint64_t row = row_hash(fill->seed, fill->first_row + i);
    for (uint64_t j = 0; j < k; j += CHUNK) {
      unsigned n = chunk_at(j, k);
      make_sparse(&make, heddle_elem_get(elem), rule, row, j, n, values);
      hd_elem_store_many(elem, data, (size_t)(i * row_stride + j), 1, n, values);
    }
  }
}

void hd_fill_scales(const hd_fill *fill, heddle_elem elem, uint64_t n_rows, uint64_t n_blocks,
                    void *data) {
  for (uint64_t i = 0; i < n_rows; i++)
    for (uint64_t j = 0; j < n_blocks; j++) {
      uint64_t h = element_hash(row_hash(fill->seed, fill->first_row + i), j);
      double fraction = elem == HEDDLE_UE4M3 ? 1 + (double)(h >> 32 & 7) / 8
                        : elem == HEDDLE_F32 ? 1 + (double)(h >> 32 & 0x7fffff) / 0x1p23
                                             : 1;
      double value = fill->limit ? (double)(1 + (h >> 16 & 1)) : ldexp(fraction, (int)(h % 7) - 3);
      hd_elem_store(elem, data, (size_t)(i * n_blocks + j), value);
    }
}

/* Number of bits of an integer sum that a tensor core adds exactly: 24 for f32 accumulators, 11 for
 * f16, 31 for s32. For 8-bit floats with f32 accumulators 13, because Hopper aligns and truncates
 * the products before it adds them (measured relative error: 4e-5 per instruction). */
static int exact_bits(heddle_elem a, heddle_elem b, heddle_elem accumulator) {
  const heddle_elem_info *ia = heddle_elem_get(a), *ib = heddle_elem_get(b);
  bool narrow = ia->kind == HEDDLE_FLOAT && ia->container_bits <= 8 && ib->container_bits <= 8;
  if (accumulator == HEDDLE_S32)
    return 31;
  if (accumulator == HEDDLE_F16)
    return 11;
  return narrow ? 13 : 24;
}

static unsigned largest_limit(heddle_elem elem) {
  double most = hd_elem_exact_integers(elem);
  return most < 8 ? (unsigned)most : 8;
}

heddle_status hd_exact_limits(heddle_context *ctx, heddle_elem a, heddle_elem b,
                              heddle_elem accumulator, uint64_t k, unsigned *limit_a,
                              unsigned *limit_b) {
  const uint64_t room = 64;
  int bits = exact_bits(a, b, accumulator);
  uint64_t most = ((uint64_t)1 << bits) - room;
  unsigned most_a = largest_limit(a), most_b = largest_limit(b);
  for (unsigned limit = 8; limit > 0 && k <= 2 * most; limit--) {
    unsigned la = limit < most_a ? limit : most_a, lb = limit < most_b ? limit : most_b;
    if ((k + 1) / 2 * la * lb > most)
      continue;
    *limit_a = la;
    *limit_b = lb;
    return HEDDLE_OK;
  }
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "reference.exact",
                  "K = %llu: sums over %d exact bits do not stay exact; nearest: %llu",
                  (unsigned long long)k, bits, (unsigned long long)(2 * most));
}
