#include "Support/convert.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A float format: sign, exponent and mantissa, starting at bit `shift` of the container. Codes
 * without the sign are ordered by value: 0, subnormals, normals up to `max`, then `inf` (0: none)
 * and `nan` (0: none). */
typedef struct float_format {
  uint8_t exp_bits, man_bits, shift;
  bool has_sign, saturates;
  int16_t bias;
  uint32_t max, inf, nan;
} float_format;

/* ORDER ELEM: the order of heddle/types.def. Integers have no row. */
static const float_format formats[HEDDLE_N_ELEMS] = {
    /*                exp man shift sign   sat    bias  max         inf         nan */
    [HEDDLE_F16] =   {5,  10, 0,    true,  false, 15,   0x7bff,     0x7c00,     0x7fff},
    [HEDDLE_BF16] =  {8,  7,  0,    true,  false, 127,  0x7f7f,     0x7f80,     0x7fff},
    [HEDDLE_TF32] =  {8,  10, 13,   true,  false, 127,  0x3fbff,    0x3fc00,    0x3ffff},
    [HEDDLE_F32] =   {8,  23, 0,    true,  false, 127,  0x7f7fffff, 0x7f800000, 0x7fffffff},
    [HEDDLE_E4M3] =  {4,  3,  0,    true,  true,  7,    0x7e,       0,          0x7f},
    [HEDDLE_E5M2] =  {5,  2,  0,    true,  true,  15,   0x7b,       0x7c,       0x7f},
    [HEDDLE_E3M2] =  {3,  2,  0,    true,  true,  3,    0x1f,       0,          0},
    [HEDDLE_E2M3] =  {2,  3,  0,    true,  true,  1,    0x1f,       0,          0},
    [HEDDLE_E2M1] =  {2,  1,  2,    true,  true,  1,    0x7,        0,          0},
    [HEDDLE_E2M1P] = {2,  1,  0,    true,  true,  1,    0x7,        0,          0},
    [HEDDLE_UE4M3] = {4,  3,  0,    false, true,  7,    0x7e,       0,          0x7f},
};

enum { UE8M0_BIAS = 127, UE8M0_MAX = 0xfe, UE8M0_NAN = 0xff };

enum { DOUBLE_MAN_BITS = 52, DOUBLE_BIAS = 1023 };

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* For exponents of normal doubles. Multiplying by it is faster than ldexp. */
static double power_of_two(int exponent) {
  return double_of((uint64_t)(exponent + DOUBLE_BIAS) << DOUBLE_MAN_BITS);
}

/* Every value of every format is a normal double, or zero. */
static double decode_float(const float_format *f, uint32_t bits) {
  uint32_t magnitude_bits = f->exp_bits + f->man_bits;
  uint32_t code = bits >> f->shift & ((1u << magnitude_bits) - 1);
  bool negative = f->has_sign && (bits >> (f->shift + magnitude_bits) & 1);
  double value;
  if (code > f->max)
    value = code == f->inf ? INFINITY : NAN;
  else if (code >> f->man_bits == 0)
    value = code * power_of_two(1 - f->bias - f->man_bits);
  else
    value = double_of(((uint64_t)code << (DOUBLE_MAN_BITS - f->man_bits)) +
                      ((uint64_t)(DOUBLE_BIAS - f->bias) << DOUBLE_MAN_BITS));
  return negative ? -value : value;
}

/* The code of a magnitude, rounded to nearest even on the bits of the double. The code is above
 * `max` if the magnitude is too large or Inf. */
static uint32_t encode_magnitude(const float_format *f, double magnitude) {
  uint64_t bits;
  memcpy(&bits, &magnitude, sizeof bits);
  int exponent = (int)(bits >> DOUBLE_MAN_BITS) - DOUBLE_BIAS;
  int dropped = DOUBLE_MAN_BITS - f->man_bits;
  /* Below the smallest normal: scaling by a power of two is exact, so only rint rounds. A carry out
   * of the mantissa correctly increments the exponent. */
  if (exponent < 1 - f->bias)
    return (uint32_t)rint(magnitude * power_of_two(f->man_bits + f->bias - 1));
  if (exponent > f->bias + 1)
    return f->max + 1;
  uint64_t odd = bits >> dropped & 1, half = (uint64_t)1 << (dropped - 1);
  uint64_t rounded = (bits + half - 1 + odd) >> dropped;
  return (uint32_t)(rounded - ((uint64_t)(DOUBLE_BIAS - f->bias) << f->man_bits));
}

/* Handles the sign without a branch, because half of random values are negative. */
static uint32_t encode_float(const float_format *f, double value) {
  uint32_t negative = signbit(value) != 0;
  if (isnan(value))
    return (f->nan ? f->nan : f->max) << f->shift;
  if (negative && !f->has_sign)
    return 0;
  uint32_t code = encode_magnitude(f, fabs(value));
  if (code > f->max)
    code = f->saturates ? f->max : f->inf;
  return (code | negative << (f->exp_bits + f->man_bits)) << f->shift;
}

static uint32_t encode_scale(double value) {
  int exponent;
  if (isnan(value))
    return UE8M0_NAN;
  if (!(value > 0))
    return 0;
  if (isinf(value))
    return UE8M0_MAX;
  double fraction = frexp(value, &exponent);
  int code = exponent - (fraction == 0.5) + UE8M0_BIAS;
  return (uint32_t)(code < 0 ? 0 : code > UE8M0_MAX ? UE8M0_MAX : code);
}

static double decode_integer(const heddle_elem_info *info, uint32_t bits) {
  uint32_t sign_bit = 1u << (info->value_bits - 1);
  bits &= sign_bit | (sign_bit - 1);
  if (info->kind == HEDDLE_SIGNED && (bits & sign_bit))
    return (double)bits - 2.0 * sign_bit;
  return bits;
}

static uint32_t encode_integer(const heddle_elem_info *info, double value) {
  if (isnan(value))
    return 0;
  bool has_sign = info->kind == HEDDLE_SIGNED;
  double high = ldexp(1, info->value_bits - has_sign) - 1;
  double low = has_sign ? -high - 1 : 0;
  value = rint(value);
  value = value < low ? low : value > high ? high : value;
  uint32_t mask = info->value_bits == 32 ? UINT32_MAX : (1u << info->value_bits) - 1;
  return (uint32_t)(int64_t)value & mask;
}

/* Large matrices usually have 16-bit or 32-bit types: their conversions have code of their own. */
static double widen_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double widen_f16(uint32_t bits) {
  uint64_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 0 || exponent == 31)
    return decode_float(&formats[HEDDLE_F16], bits);
  return double_of((uint64_t)(bits & 0x8000) << 48 | (exponent + 1023 - 15) << 52 | mantissa << 42);
}

double hd_elem_to_double(heddle_elem elem, uint32_t bits) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  switch (elem) {
  case HEDDLE_F32:
    return widen_f32(bits);
  case HEDDLE_TF32:
    return widen_f32(bits & 0xffffe000);
  case HEDDLE_BF16:
    return widen_f32(bits << 16);
  case HEDDLE_F16:
    return widen_f16(bits);
  case HEDDLE_UE8M0:
    return (bits & 0xff) == UE8M0_NAN ? NAN : power_of_two((int)(bits & 0xff) - UE8M0_BIAS);
  default:
    return info->kind == HEDDLE_FLOAT ? decode_float(&formats[elem], bits)
                                      : decode_integer(info, bits);
  }
}

static uint32_t narrow_f32(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return isnan(value) ? formats[HEDDLE_F32].nan : bits;
}

uint32_t hd_elem_from_double(heddle_elem elem, double value) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (elem == HEDDLE_F32)
    return narrow_f32(value);
  if (elem == HEDDLE_UE8M0)
    return encode_scale(value);
  return info->kind == HEDDLE_FLOAT ? encode_float(&formats[elem], value)
                                    : encode_integer(info, value);
}

uint32_t hd_elem_value_mask(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  uint32_t mask = info->value_bits == 32 ? UINT32_MAX : (1u << info->value_bits) - 1;
  return mask << formats[elem].shift;
}

bool hd_elem_has_sign(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  return info->kind == HEDDLE_FLOAT ? formats[elem].has_sign : info->kind == HEDDLE_SIGNED;
}

size_t hd_elem_bytes(heddle_elem elem, size_t n_elems) {
  size_t bits = heddle_elem_get(elem)->container_bits;
  return bits == 4 ? n_elems / 2 + n_elems % 2 : n_elems * (bits / 8);
}

static uint32_t get_half(const uint8_t *at) {
  uint16_t half;
  memcpy(&half, at, sizeof half);
  return half;
}

static void put_half(uint8_t *at, uint32_t bits) {
  uint16_t half = (uint16_t)bits;
  memcpy(at, &half, sizeof half);
}

uint32_t hd_elem_get_bits(heddle_elem elem, const void *array, size_t index) {
  const uint8_t *bytes = array;
  uint32_t word;
  switch (heddle_elem_get(elem)->container_bits) {
  case 4:
    return bytes[index / 2] >> (index % 2 * 4) & 15;
  case 8:
    return bytes[index];
  case 16:
    return get_half(bytes + index * 2);
  default:
    memcpy(&word, bytes + index * 4, 4);
    return word;
  }
}

void hd_elem_set_bits(heddle_elem elem, void *array, size_t index, uint32_t bits) {
  uint8_t *bytes = array;
  int low = (int)(index % 2 * 4);
  switch (heddle_elem_get(elem)->container_bits) {
  case 4:
    bytes[index / 2] = (uint8_t)((bytes[index / 2] & (0xf0 >> low)) | (bits & 15) << low);
    return;
  case 8:
    bytes[index] = (uint8_t)bits;
    return;
  case 16:
    put_half(bytes + index * 2, bits);
    return;
  default:
    memcpy(bytes + index * 4, &bits, 4);
  }
}

double hd_elem_load(heddle_elem elem, const void *array, size_t index) {
  return hd_elem_to_double(elem, hd_elem_get_bits(elem, array, index));
}

void hd_elem_store(heddle_elem elem, void *array, size_t index, double value) {
  hd_elem_set_bits(elem, array, index, hd_elem_from_double(elem, value));
}

void hd_elem_load_many(heddle_elem elem, const void *array, size_t index, size_t stride, size_t n,
                       double *values) {
  const uint8_t *first = (const uint8_t *)array + 2 * index; /* for 16-bit types */
  if (elem == HEDDLE_BF16)
    for (size_t i = 0; i < n; i++)
      values[i] = widen_f32(get_half(first + 2 * i * stride) << 16);
  else if (elem == HEDDLE_F16)
    for (size_t i = 0; i < n; i++)
      values[i] = widen_f16(get_half(first + 2 * i * stride));
  else
    for (size_t i = 0; i < n; i++)
      values[i] = hd_elem_load(elem, array, index + i * stride);
}

void hd_elem_store_many(heddle_elem elem, void *array, size_t index, size_t stride, size_t n,
                        const double *values) {
  const float_format *f = &formats[elem];
  uint8_t *first = (uint8_t *)array + 2 * index; /* for 16-bit types */
  if (elem == HEDDLE_BF16 || elem == HEDDLE_F16)
    for (size_t i = 0; i < n; i++)
      put_half(first + 2 * i * stride, encode_float(f, values[i]));
  else
    for (size_t i = 0; i < n; i++)
      hd_elem_store(elem, array, index + i * stride, values[i]);
}

double hd_elem_exact_integers(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (elem == HEDDLE_UE8M0)
    return 0; /* ue8m0 has no zero */
  if (info->kind != HEDDLE_FLOAT)
    return ldexp(1, info->value_bits - (info->kind == HEDDLE_SIGNED)) - 1;
  double limit = ldexp(1, formats[elem].man_bits + 1);
  double largest = floor(hd_elem_to_double(elem, formats[elem].max << formats[elem].shift));
  return limit < largest ? limit : largest;
}

double hd_strtod(const char *text, char **end) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc allocates nothing for it */
  if (c == (locale_t)0)
    return strtod(text, end);
  double value = strtod_l(text, end, c);
  freelocale(c);
  return value;
}
