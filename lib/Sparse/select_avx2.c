/* Selects 16 or 32 elements at a time. Compares each group of four with itself rotated by one, two
 * and three elements. An element stays if fewer than two others have a higher rank. Tables indexed
 * by the eight mask bits of two groups contain the shuffle indices and the codes. */
#include "Sparse/select.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

enum { CODE_01 = 0x4, CODE_02 = 0x8, CODE_12 = 0x9, CODE_03 = 0xc, CODE_13 = 0xd, CODE_23 = 0xe };

/* The code for a group's mask, which has two of four bits set. A code is two 2-bit unit indices. */
#define CODE(mask)                                                                                 \
  ((mask) == 3    ? CODE_01                                                                        \
   : (mask) == 5  ? CODE_02                                                                        \
   : (mask) == 6  ? CODE_12                                                                        \
   : (mask) == 9  ? CODE_03                                                                        \
   : (mask) == 10 ? CODE_13                                                                        \
                  : CODE_23)
#define CODES2(pair) (CODE((pair) & 15) | CODE((pair) >> 4) << 4)
#define FOUR(f, x) f(x), f((x) + 1), f((x) + 2), f((x) + 3)
#define SIXTEEN(f, x) FOUR(f, x), FOUR(f, (x) + 4), FOUR(f, (x) + 8), FOUR(f, (x) + 12)
#define SIXTY_FOUR(f, x)                                                                           \
  SIXTEEN(f, x), SIXTEEN(f, (x) + 16), SIXTEEN(f, (x) + 32), SIXTEEN(f, (x) + 48)
#define ALL(f) SIXTY_FOUR(f, 0), SIXTY_FOUR(f, 64), SIXTY_FOUR(f, 128), SIXTY_FOUR(f, 192)

/* The codes of two groups, by their masks. Each mask always has exactly two bits set. */
static const uint8_t codes_of[256] = {ALL(CODES2)};

/* The indices (0 to 7) of the four units of two groups that stay, one byte each. */
#define UNIT(pair, i)                                                                              \
  ((uint32_t)((i) < 2 ? CODES2(pair) >> 2 * (i) & 3 : 4 + (CODES2(pair) >> 2 * (i) & 3)))
#define UNITS(pair)                                                                                \
  (UNIT(pair, 0) | UNIT(pair, 1) << 8 | UNIT(pair, 2) << 16 | UNIT(pair, 3) << 24)
static const uint32_t units_of[256] = {ALL(UNITS)};

/* ---- 16-bit ---- */

/* All ones for each element that stays. key: magnitudes, at most 0x7fff. */
AVX2 static inline __m256i stays16(__m256i key) {
  const __m256i by1 = _mm256_set1_epi64x(0x0100070605040302),
                by2 = _mm256_set1_epi64x(0x0302010007060504),
                by3 = _mm256_set1_epi64x(0x0504030201000706);
  const __m256i upper = _mm256_set_epi64x(0x0808080808080808, 0, 0x0808080808080808, 0);
  /* wrapped elements have a lower index and win ties: key_j >= key_i is key_j > key_i - 1 */
  const __m256i wrap1 = _mm256_set1_epi64x((long long)0xffff000000000000),
                wrap2 = _mm256_set1_epi64x((long long)0xffffffff00000000),
                wrap3 = _mm256_set1_epi64x((long long)0xffffffffffff0000);
  __m256i one = _mm256_shuffle_epi8(key, _mm256_or_si256(by1, upper));
  __m256i two = _mm256_shuffle_epi8(key, _mm256_or_si256(by2, upper));
  __m256i three = _mm256_shuffle_epi8(key, _mm256_or_si256(by3, upper));
  __m256i beaten = _mm256_cmpgt_epi16(one, _mm256_add_epi16(key, wrap1));
  beaten = _mm256_add_epi16(beaten, _mm256_cmpgt_epi16(two, _mm256_add_epi16(key, wrap2)));
  beaten = _mm256_add_epi16(beaten, _mm256_cmpgt_epi16(three, _mm256_add_epi16(key, wrap3)));
  return _mm256_cmpgt_epi16(beaten, _mm256_set1_epi16(-2)); /* each true compare is -1 */
}

/* The eight bytes of two groups of a lane that stay. Converts unit indices to byte index pairs. */
AVX2 static inline __m128i gather16(__m128i lane, unsigned mask) {
  __m128i unit = _mm_cvtsi32_si128((int)units_of[mask]);
  __m128i low = _mm_add_epi8(unit, unit);
  __m128i pairs = _mm_unpacklo_epi8(low, _mm_add_epi8(low, _mm_set1_epi8(1)));
  return _mm_shuffle_epi8(lane, pairs);
}

AVX2 static inline void select16(const uint8_t *dense, hd_selected *out, int infinity) {
  for (unsigned i = 0; i < 4; i++) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(dense + 32 * i));
    __m256i key = _mm256_and_si256(v, _mm256_set1_epi16(0x7fff));
    key = _mm256_min_epi16(key, _mm256_set1_epi16((short)(infinity + 1)));
    __m256i stays = stays16(key);
    v = _mm256_andnot_si256(_mm256_cmpeq_epi16(key, _mm256_setzero_si256()), v); /* -0.0 is zero */
    unsigned mask = (unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(stays, stays));
    unsigned low = mask & 255, high = mask >> 16 & 255;
    __m128i first = gather16(_mm256_castsi256_si128(v), low);
    __m128i second = gather16(_mm256_extracti128_si256(v, 1), high);
    _mm_storeu_si128((__m128i *)(out->values + 16 * i), _mm_unpacklo_epi64(first, second));
    out->codes[2 * i] = codes_of[low];
    out->codes[2 * i + 1] = codes_of[high];
  }
}

AVX2 static void select_f16(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  (void)r;
  select16(dense, out, 0x7c00);
}

AVX2 static void select_bf16(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  (void)r;
  select16(dense, out, 0x7f80);
}

/* ---- 8-bit ---- */

/* The same for bytes. key: signed, above -128. */
AVX2 static inline __m256i stays8(__m256i key) {
  const __m256i base = _mm256_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0, 0x0c0c0c0c,
                                        0x08080808, 0x04040404, 0);
  const __m256i by1 = _mm256_or_si256(base, _mm256_set1_epi32(0x00030201)),
                by2 = _mm256_or_si256(base, _mm256_set1_epi32(0x01000302)),
                by3 = _mm256_or_si256(base, _mm256_set1_epi32(0x02010003));
  const __m256i wrap1 = _mm256_set1_epi32((int)0xff000000),
                wrap2 = _mm256_set1_epi32((int)0xffff0000),
                wrap3 = _mm256_set1_epi32((int)0xffffff00);
  __m256i beaten = _mm256_cmpgt_epi8(_mm256_shuffle_epi8(key, by1), _mm256_add_epi8(key, wrap1));
  beaten = _mm256_add_epi8(
      beaten, _mm256_cmpgt_epi8(_mm256_shuffle_epi8(key, by2), _mm256_add_epi8(key, wrap2)));
  beaten = _mm256_add_epi8(
      beaten, _mm256_cmpgt_epi8(_mm256_shuffle_epi8(key, by3), _mm256_add_epi8(key, wrap3)));
  return _mm256_cmpgt_epi8(beaten, _mm256_set1_epi8(-2));
}

/* The eight bytes of four groups of a lane that stay. */
AVX2 static inline __m128i gather8(__m128i lane, unsigned mask) {
  uint64_t units = units_of[mask & 255] | (uint64_t)(units_of[mask >> 8 & 255] + 0x08080808u) << 32;
  return _mm_shuffle_epi8(lane, _mm_cvtsi64_si128((long long)units));
}

/* Selects from the i-th 32 bytes by their keys. zero: the key of a zero element. */
AVX2 static inline void put8(__m256i v, __m256i key, __m256i zero, unsigned i, hd_selected *out) {
  unsigned mask = (unsigned)_mm256_movemask_epi8(stays8(key));
  v = _mm256_andnot_si256(_mm256_cmpeq_epi8(key, zero), v); /* -0.0 is zero */
  __m128i first = gather8(_mm256_castsi256_si128(v), mask);
  __m128i second = gather8(_mm256_extracti128_si256(v, 1), mask >> 16);
  _mm_storeu_si128((__m128i *)(out->values + 16 * i), _mm_unpacklo_epi64(first, second));
  for (unsigned b = 0; b < 4; b++)
    out->codes[4 * i + b] = codes_of[mask >> 8 * b & 255];
}

AVX2 static inline void select_float8(const uint8_t *dense, hd_selected *out, int nan) {
  for (unsigned i = 0; i < 4; i++) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(dense + 32 * i));
    __m256i key = _mm256_and_si256(v, _mm256_set1_epi8(0x7f));
    put8(v, _mm256_min_epi8(key, _mm256_set1_epi8((char)nan)), _mm256_setzero_si256(), i, out);
  }
}

AVX2 static void select_e4m3(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  (void)r;
  select_float8(dense, out, 0x7f);
}

AVX2 static void select_e5m2(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  (void)r;
  select_float8(dense, out, 0x7d);
}

/* Magnitudes are 0 to 128. With 64 subtracted they fit signed bytes, and so does each key - 1. */
AVX2 static void select_s8(const hd_ranker *r, const uint8_t *dense, hd_selected *out) {
  const __m256i zero = _mm256_set1_epi8(-64);
  (void)r;
  for (unsigned i = 0; i < 4; i++) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(dense + 32 * i));
    put8(v, _mm256_add_epi8(_mm256_abs_epi8(v), zero), zero, i, out);
  }
}

hd_select_fn hd_select_fast(heddle_elem elem) {
  static const hd_select_fn of[HEDDLE_N_ELEMS] = {[HEDDLE_F16] = select_f16,
                                                  [HEDDLE_BF16] = select_bf16,
                                                  [HEDDLE_E4M3] = select_e4m3,
                                                  [HEDDLE_E5M2] = select_e5m2,
                                                  [HEDDLE_S8] = select_s8};
  return __builtin_cpu_supports("avx2") ? of[elem] : NULL;
}

#else
hd_select_fn hd_select_fast(heddle_elem elem) {
  (void)elem;
  return NULL;
}
#endif
