/* Implements heddle/convert.h on top of Support/convert.h. */
#include "heddle/convert.h"

#include <string.h>

#include "Support/convert.h"

enum { CHUNK = 256 }; /* even, so that a chunk of 4-bit elements begins at a byte */

/* Makes NaNs quiet, like the conversions of the other types. */
static void widen_bf16(size_t n, const uint16_t *elements, float *values) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = (uint32_t)elements[i] << 16, is_nan = (bits & 0x7fffffff) > 0x7f800000;
    bits |= is_nan << 22;
    memcpy(&values[i], &bits, sizeof bits);
  }
}

heddle_status heddle_elem_to_f32(heddle_elem elem, size_t n, const void *elements, float *values) {
  double wide[CHUNK];
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (!info)
    return HEDDLE_INVALID;
  if (info->container_bits == 8) {
    float of_byte[256];
    for (uint32_t bits = 0; bits < 256; bits++)
      of_byte[bits] = (float)hd_elem_to_double(elem, bits);
    for (size_t i = 0; i < n; i++)
      values[i] = of_byte[((const uint8_t *)elements)[i]];
    return HEDDLE_OK;
  }
  if (elem == HEDDLE_BF16) {
    widen_bf16(n, elements, values);
    return HEDDLE_OK;
  }
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t count = n - at < CHUNK ? n - at : CHUNK;
    hd_elem_load_many(elem, elements, at, 1, count, wide);
    for (size_t i = 0; i < count; i++)
      values[at + i] = (float)wide[i];
  }
  return HEDDLE_OK;
}

/* Rounds to nearest even. A NaN becomes a quiet NaN. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(value != value ? bits >> 16 | 0x40 : rounded);
}

/* e4m3 and e5m2: saturates, rounds to nearest even, and converts a NaN to 0x7f. */
typedef struct float8 {
  unsigned man_bits, bias;
  uint8_t largest;
} float8;

/* The code of a subnormal; the addition rounds. Meaningless above the smallest normal. */
static uint32_t to_subnormal(float8 f, uint32_t magnitude) {
  uint32_t whole = (127 + 23 - (f.bias - 1 + f.man_bits)) << 23, code;
  float steps, size;
  memcpy(&steps, &whole, sizeof steps);
  memcpy(&size, &magnitude, sizeof size);
  size += steps;
  memcpy(&code, &size, sizeof code);
  return code - whole;
}

/* The code of a normal. Meaningless below the smallest normal. */
static uint32_t to_normal(float8 f, uint32_t magnitude) {
  unsigned shift = 23 - f.man_bits;
  uint32_t code = (magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift;
  code -= (127 - f.bias) << f.man_bits;
  return code > f.largest ? f.largest : code;
}

/* Computes both results and selects one without a branch, so that the compiler can vectorize. */
static inline uint8_t to_float8(float8 f, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = to_normal(f, magnitude), subnormal = to_subnormal(f, magnitude);
  uint32_t code = magnitude < (128 - f.bias) << 23 ? subnormal : normal;
  return (uint8_t)(magnitude > 0x7f800000 ? 0x7f : code | (bits >> 24 & 0x80));
}

/* A fast path for the usual types of weights that avoids doubles. False for other types. */
static bool quick_from_f32(heddle_elem elem, size_t n, const float *values, void *elements) {
  static const float8 e4m3 = {3, 7, 0x7e}, e5m2 = {2, 15, 0x7b};
  if (elem == HEDDLE_BF16)
    for (size_t i = 0; i < n; i++)
      ((uint16_t *)elements)[i] = to_bf16(values[i]);
  else if (elem == HEDDLE_E4M3)
    for (size_t i = 0; i < n; i++)
      ((uint8_t *)elements)[i] = to_float8(e4m3, values[i]);
  else if (elem == HEDDLE_E5M2)
    for (size_t i = 0; i < n; i++)
      ((uint8_t *)elements)[i] = to_float8(e5m2, values[i]);
  else
    return false;
  return true;
}

heddle_status heddle_elem_from_f32(heddle_elem elem, size_t n, const float *values,
                                   void *elements) {
  double wide[CHUNK];
  if (!heddle_elem_get(elem))
    return HEDDLE_INVALID;
  if (quick_from_f32(elem, n, values, elements))
    return HEDDLE_OK;
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t count = n - at < CHUNK ? n - at : CHUNK;
    for (size_t i = 0; i < count; i++)
      wide[i] = values[at + i];
    hd_elem_store_many(elem, elements, at, 1, count, wide);
  }
  return HEDDLE_OK;
}
