/* Sim/sim_types.c: element types and their conversions, from the formats' definitions. */
#include "Sim/sim_types.h"

#include <math.h>
#include <string.h>

static const sim_type_info types[SIM_N_TYPES] = {
#define X(name, text, bits, cls, lanes, elem)                                                      \
  [SIM_T_##name] = {text, bits, cls, lanes, SIM_T_##elem},
    SIM_TYPES(X)
#undef X
};

const sim_type_info *hd_sim_type(uint8_t type) { return &types[type]; }

uint8_t hd_sim_type_find(const char *text) {
  for (uint8_t i = 1; i < SIM_N_TYPES; i++)
    if (strcmp(types[i].name, text) == 0)
      return i;
  return SIM_T_NONE;
}

/* A binary format: sign bit (if any), exponent, mantissa. */
typedef struct format {
  uint8_t sign, exp_bits, man_bits;
  int bias;
  enum { IEEE, NAN_ONLY, FINITE } specials; /* Inf and NaN; all ones is NaN; neither */
  uint64_t nan;
} format;

static const format formats[SIM_N_TYPES] = {
    [SIM_T_F16] = {1, 5, 10, 15, IEEE, 0x7fff},
    [SIM_T_BF16] = {1, 8, 7, 127, IEEE, 0x7fff},
    [SIM_T_F32] = {1, 8, 23, 127, IEEE, 0x7fffffff},
    [SIM_T_TF32] = {1, 8, 10, 127, IEEE, 0x7fffffff},
    [SIM_T_E4M3] = {1, 4, 3, 7, NAN_ONLY, 0x7f},
    [SIM_T_E5M2] = {1, 5, 2, 15, IEEE, 0x7f},
    [SIM_T_E3M2] = {1, 3, 2, 3, FINITE, 0},
    [SIM_T_E2M3] = {1, 2, 3, 1, FINITE, 0},
    [SIM_T_E2M1] = {1, 2, 1, 1, FINITE, 0},
    [SIM_T_UE4M3] = {0, 4, 3, 7, NAN_ONLY, 0x7f},
};

/* Two to the e, which must be in the range of normal doubles. */
static double power(int e) { return hd_sim_f64((uint64_t)(e + 1023) << 52); }

static double decode_format(const format *f, uint64_t bits) {
  uint64_t man = bits & ((1u << f->man_bits) - 1);
  int exp = (int)(bits >> f->man_bits) & ((1 << f->exp_bits) - 1);
  int all_ones = (1 << f->exp_bits) - 1;
  bool negative = f->sign && (bits >> (f->man_bits + f->exp_bits) & 1);
  double value;
  if (f->specials == IEEE && exp == all_ones)
    value = man ? NAN : INFINITY;
  else if (f->specials == NAN_ONLY && exp == all_ones && man == (1u << f->man_bits) - 1)
    value = NAN;
  else if (exp == 0)
    value = (double)man * power(1 - f->bias - f->man_bits);
  else
    value = (double)(man | 1ull << f->man_bits) * power(exp - f->bias - f->man_bits);
  return negative ? -value : value;
}

double hd_sim_decode_bits(uint8_t elem, uint64_t bits) {
  switch (elem) {
  case SIM_T_F32: return hd_sim_f32((uint32_t)bits);
  case SIM_T_TF32: return hd_sim_f32((uint32_t)bits & ~0x1fffu);
  case SIM_T_BF16: return hd_sim_f32((uint32_t)bits << 16);
  case SIM_T_F64: return hd_sim_f64(bits);
  case SIM_T_UE8M0: return (bits & 0xff) == 0xff ? NAN : power((int)(bits & 0xff) - 127);
  case SIM_T_S4: return (double)((int64_t)(bits << 60) >> 60);
  case SIM_T_U4: return (double)(bits & 15);
  case SIM_T_S8: return (double)(int8_t)bits;
  case SIM_T_U8: return (double)(uint8_t)bits;
  case SIM_T_S16: return (double)(int16_t)bits;
  case SIM_T_U16: return (double)(uint16_t)bits;
  case SIM_T_S32: return (double)(int32_t)bits;
  case SIM_T_U32: return (double)(uint32_t)bits;
  case SIM_T_S64: return (double)(int64_t)bits;
  default: return formats[elem].exp_bits ? decode_format(&formats[elem], bits) : (double)bits;
  }
}

/* Rounds a non-negative value to an integer. */
static double round_magnitude(double x, uint8_t round, bool negative) {
  switch (round) {
  case SIM_RZ: return trunc(x);
  case SIM_RM: return negative ? ceil(x) : floor(x);
  case SIM_RP: return negative ? floor(x) : ceil(x);
  case SIM_RNA: return floor(x + 0.5);
  default: return nearbyint(x); /* to even: the default mode, which is never changed */
  }
}

static uint64_t largest_finite(const format *f) {
  uint64_t all = (1ull << (f->exp_bits + f->man_bits)) - 1;
  if (f->specials == FINITE)
    return all;
  return f->specials == NAN_ONLY ? all - 1 : all - (1ull << f->man_bits);
}

static uint64_t overflow_bits(const format *f, uint8_t round, bool negative, bool satfinite) {
  bool towards_zero = round == SIM_RZ || (round == SIM_RM && !negative) ||
                      (round == SIM_RP && negative);
  if (satfinite || f->specials == FINITE || towards_zero)
    return largest_finite(f);
  return f->specials == IEEE ? ((1ull << f->exp_bits) - 1) << f->man_bits : f->nan;
}

static uint64_t encode_format(const format *f, double value, uint8_t round, bool satfinite) {
  bool negative = signbit(value);
  uint64_t sign = f->sign && negative ? 1ull << (f->exp_bits + f->man_bits) : 0;
  double magnitude = fabs(value);
  if (isnan(value))
    return f->nan;
  if (isinf(value))
    return sign | (satfinite || f->specials == FINITE ? largest_finite(f)
                                                      : overflow_bits(f, SIM_RN, negative, false));
  int exp = 1 - f->bias;
  if (magnitude >= power(exp))
    exp = ilogb(magnitude);
  double scaled = round_magnitude(ldexp(magnitude, f->man_bits - exp), round, negative);
  /* scaled < 2^(man+1); a carry into the exponent comes out right by addition. */
  uint64_t bits = (uint64_t)scaled;
  if (exp > 1 - f->bias || scaled >= (double)(1ull << f->man_bits))
    bits += (uint64_t)(exp + f->bias - 1) << f->man_bits;
  return sign | (bits > largest_finite(f) ? overflow_bits(f, round, negative, satfinite) : bits);
}

static uint64_t encode_ue8m0(double value, uint8_t round, bool satfinite) {
  if (isnan(value))
    return 0xff;
  if (value <= power(-127))
    return 0;
  int exp = isinf(value) ? 1024 : ilogb(value);
  if (round == SIM_RP && !isinf(value) && value > power(exp))
    exp++;
  if (exp > 127)
    return satfinite || round == SIM_RZ ? 0xfe : 0xff;
  return (uint64_t)(exp + 127);
}

uint64_t hd_sim_encode_bits(uint8_t elem, double value, uint8_t round, bool satfinite) {
  if (elem == SIM_T_F64)
    return hd_sim_f64_bits(value);
  if (elem == SIM_T_UE8M0)
    return encode_ue8m0(value, round, satfinite);
  if (elem == SIM_T_TF32) {
    uint64_t bits = encode_format(&formats[elem], value, round, satfinite);
    return isnan(value) ? bits : bits << 13;
  }
  if (elem == SIM_T_F32 && round == SIM_RN && !satfinite && !isnan(value))
    return hd_sim_f32_bits((float)value);
  return encode_format(&formats[elem], value, round, satfinite);
}
