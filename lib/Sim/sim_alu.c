/* Sim/sim_alu.c: lane-local arithmetic. Registers hold 64 bits; each reader truncates to its
 * type. */
#include <math.h>
#include <string.h>

#include "Sim/sim_machine.h"

enum {
  OP_ADD, OP_SUB, OP_MUL, OP_MAD, OP_FMA, OP_DIV, OP_REM, OP_ABS, OP_NEG, OP_MIN, OP_MAX,
  OP_AND, OP_OR, OP_XOR, OP_NOT, OP_CNOT, OP_SHL, OP_SHR, OP_SHF, OP_LOP3, OP_BFE, OP_BFI,
  OP_BFIND, OP_BREV, OP_POPC, OP_CLZ, OP_PRMT, OP_COPYSIGN, OP_RCP, OP_SQRT, OP_RSQRT, OP_EX2,
  OP_LG2, OP_TANH, OP_SIN, OP_COS, OP_SELP, OP_SETP, OP_MOV
};

static const struct {
  const char *name;
  uint8_t op, n_sources;
} ops[] = {
    {"add", OP_ADD, 2},     {"sub", OP_SUB, 2},   {"mul", OP_MUL, 2},     {"mad", OP_MAD, 3},
    {"fma", OP_FMA, 3},     {"div", OP_DIV, 2},   {"rem", OP_REM, 2},     {"abs", OP_ABS, 1},
    {"neg", OP_NEG, 1},     {"min", OP_MIN, 2},   {"max", OP_MAX, 2},     {"and", OP_AND, 2},
    {"or", OP_OR, 2},       {"xor", OP_XOR, 2},   {"not", OP_NOT, 1},     {"cnot", OP_CNOT, 1},
    {"shl", OP_SHL, 2},     {"shr", OP_SHR, 2},   {"shf", OP_SHF, 3},     {"lop3", OP_LOP3, 4},
    {"bfe", OP_BFE, 3},     {"bfi", OP_BFI, 4},   {"bfind", OP_BFIND, 1}, {"brev", OP_BREV, 1},
    {"popc", OP_POPC, 1},   {"clz", OP_CLZ, 1},   {"prmt", OP_PRMT, 3},   {"rcp", OP_RCP, 1},
    {"sqrt", OP_SQRT, 1},   {"rsqrt", OP_RSQRT, 1}, {"ex2", OP_EX2, 1},   {"lg2", OP_LG2, 1},
    {"tanh", OP_TANH, 1},   {"sin", OP_SIN, 1},   {"cos", OP_COS, 1},     {"selp", OP_SELP, 3},
    {"setp", OP_SETP, 2},   {"copysign", OP_COPYSIGN, 2}};

/* ---- floats ---- */

static double flush(double x, bool ftz) {
  return ftz && fabs(x) < 0x1p-126 ? copysign(0.0, x) : x;
}

/* min/max of PTX: a NaN loses unless .NaN; -0 < +0. */
static double extreme(double a, double b, bool max, bool nan) {
  if (isnan(a) || isnan(b))
    return nan || (isnan(a) && isnan(b)) ? NAN : isnan(a) ? b : a;
  if (a == b)
    return signbit(a) == max ? b : a;
  return (a < b) == max ? b : a;
}

/* min and max of f32 have two or three sources (PTX ISA 9.7.3, max: three from sm_100). */
static double extreme_of(double a, double b, double c, bool max, const sim_insn *in) {
  bool nan = in->flags & SIM_F_NAN;
  double x = extreme(a, b, max, nan);
  return in->n_opnds > 3 ? extreme(x, c, max, nan) : x;
}

static double float_op(uint8_t op, double a, double b, double c, const sim_insn *in) {
  switch (op) {
  case OP_ADD: return a + b;
  case OP_SUB: return a - b;
  case OP_MUL: return a * b;
  case OP_MAD:
  case OP_FMA: return fma(a, b, c);
  case OP_DIV: return a / b;
  case OP_ABS: return fabs(a);
  case OP_NEG: return -a;
  case OP_MIN: return extreme_of(a, b, c, false, in);
  case OP_MAX: return extreme_of(a, b, c, true, in);
  case OP_COPYSIGN: return copysign(b, a);
  case OP_RCP: return 1.0 / a;
  case OP_SQRT: return sqrt(a);
  case OP_RSQRT: return 1.0 / sqrt(a);
  case OP_EX2: return exp2(a);
  case OP_LG2: return log2(a);
  case OP_TANH: return tanh(a);
  case OP_SIN: return sin(a);
  default: return cos(a);
  }
}

/* Sums and products of f32 are computed in float, to be rounded once: double would round twice. */
static double f32_op(uint8_t op, float a, float b, float c, const sim_insn *in) {
  switch (op) {
  case OP_ADD: return (double)(a + b);
  case OP_SUB: return (double)(a - b);
  case OP_MUL: return (double)(a * b);
  case OP_MAD:
  case OP_FMA: return (double)fmaf(a, b, c);
  case OP_DIV: return (double)(a / b);
  case OP_SQRT: return (double)sqrtf(a);
  default: return float_op(op, (double)a, (double)b, (double)c, in);
  }
}

static uint64_t float_element(const sim_insn *in, uint8_t elem, uint64_t a, uint64_t b,
                              uint64_t c) {
  bool ftz = (in->flags & SIM_F_FTZ) && elem == SIM_T_F32;
  double x = flush(hd_sim_decode_bits(elem, a), ftz), y = flush(hd_sim_decode_bits(elem, b), ftz),
         z = flush(hd_sim_decode_bits(elem, c), ftz);
  bool nearest = in->round == SIM_R_NONE || in->round == SIM_RN;
  double r = elem == SIM_T_F32 && nearest ? f32_op(in->op, (float)x, (float)y, (float)z, in)
                                          : float_op(in->op, x, y, z, in);
  r = flush(r, ftz);
  if (in->flags & SIM_F_SAT)
    r = isnan(r) || r < 0 ? 0.0 : r > 1 ? 1.0 : r;
  if ((in->flags & SIM_F_RELU) && !isnan(r) && r < 0)
    r = 0.0;
  if ((in->op == OP_NEG || in->op == OP_ABS) && isnan(r)) /* these only touch the sign bit */
    return in->op == OP_NEG ? a ^ 1ull << (hd_sim_type(elem)->bits - 1)
                            : a & ~(1ull << (hd_sim_type(elem)->bits - 1));
  return hd_sim_encode_bits(elem, r, nearest ? SIM_RN : in->round, false);
}

static uint64_t float_scalar(const sim_insn *in, uint64_t a, uint64_t b, uint64_t c) {
  const sim_type_info *t = hd_sim_type(in->type[0]);
  uint32_t bits = hd_sim_type(t->elem)->bits;
  if (t->lanes == 1)
    return float_element(in, t->elem, a, b, c);
  uint64_t mask = (1ull << bits) - 1;
  return float_element(in, t->elem, a & mask, b & mask, c & mask) |
         float_element(in, t->elem, a >> bits & mask, b >> bits & mask, c >> bits & mask) << bits;
}

static uint64_t widened(uint8_t elem, uint64_t bits) {
  return hd_sim_encode_bits(SIM_T_F32, hd_sim_decode_bits(elem, bits), SIM_RN, false);
}

/* Mixed precision (PTX ISA 9.7.5): a, and b of fma, have the second type and are converted to f32
 * first. */
static uint64_t mixed_scalar(const sim_insn *in, uint64_t a, uint64_t b, uint64_t c) {
  a = widened(in->type[1], a);
  if (in->op == OP_FMA)
    b = widened(in->type[1], b);
  return float_scalar(in, a, b, c);
}

/* ---- integers ---- */

static uint64_t cut(uint64_t x, uint32_t bits) { return bits >= 64 ? x : x & ((1ull << bits) - 1); }

static int64_t extend(uint64_t x, uint32_t bits) {
  return bits >= 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static uint64_t multiply(const sim_insn *in, uint64_t a, uint64_t b, uint32_t bits,
                         bool is_signed) {
  __int128 p = is_signed ? (__int128)extend(a, bits) * extend(b, bits)
                         : (__int128)((unsigned __int128)cut(a, bits) * cut(b, bits));
  if (in->flags & SIM_F_HI)
    return cut((uint64_t)((unsigned __int128)p >> bits), bits);
  return in->flags & SIM_F_WIDE ? cut((uint64_t)p, 2 * bits) : cut((uint64_t)p, bits);
}

static uint64_t divide(uint8_t op, uint64_t a, uint64_t b, uint32_t bits, bool is_signed) {
  if (cut(b, bits) == 0)
    return cut(op == OP_DIV ? ~0ull : a, bits); /* unspecified by the ISA */
  if (!is_signed)
    return op == OP_DIV ? cut(a, bits) / cut(b, bits) : cut(a, bits) % cut(b, bits);
  int64_t x = extend(a, bits), y = extend(b, bits);
  if (y == -1)
    return op == OP_DIV ? cut(0 - (uint64_t)x, bits) : 0;
  return cut((uint64_t)(op == OP_DIV ? x / y : x % y), bits);
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t count, uint32_t bits, bool is_signed) {
  count = (uint32_t)count;
  if (op == OP_SHL)
    return count >= bits ? 0 : cut(a << count, bits);
  if (is_signed)
    return cut((uint64_t)(extend(a, bits) >> (count >= bits ? bits - 1 : count)), bits);
  return count >= bits ? 0 : cut(a, bits) >> count;
}

static uint64_t funnel(const sim_insn *in, uint64_t a, uint64_t b, uint64_t count) {
  uint64_t pair = (b & 0xffffffff) << 32 | (a & 0xffffffff);
  uint32_t n = in->flags & SIM_F_SAT ? (count > 32 ? 32 : (uint32_t)count) : (uint32_t)count & 31;
  return (uint32_t)(in->cmp ? pair >> n : n == 0 ? pair >> 32 : n == 32 ? pair : pair >> (32 - n));
}

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (uint32_t i = 0; i < 8; i++)
    if (table >> i & 1)
      r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

static uint32_t permute(uint32_t a, uint32_t b, uint32_t select) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t s = select >> 4 * i & 15;
    uint32_t byte = (uint32_t)(bytes >> 8 * (s & 7)) & 0xff;
    r |= (s & 8 ? (byte & 0x80 ? 0xffu : 0) : byte) << 8 * i;
  }
  return r;
}

static uint64_t field_extract(uint64_t a, uint64_t at, uint64_t n, uint32_t bits, bool is_signed) {
  at &= 0xff;
  n &= 0xff;
  if (n == 0)
    return 0;
  uint64_t sign_at = at + n - 1 < bits - 1 ? at + n - 1 : bits - 1;
  uint64_t fill = is_signed && (cut(a, bits) >> sign_at & 1) ? ~0ull : 0;
  uint64_t r = at >= bits ? fill : cut(a, bits) >> at;
  uint64_t have = at >= bits ? 0 : bits - at;
  if (have < n && have < 64)
    r = (r & ((1ull << have) - 1)) | (fill << have);
  if (n < 64)
    r = (r & ((1ull << n) - 1)) | (fill << n);
  return cut(r, bits);
}

static uint64_t field_insert(uint64_t a, uint64_t b, uint64_t at, uint64_t n, uint32_t bits) {
  at &= 0xff;
  n &= 0xff;
  if (at >= bits)
    return cut(b, bits);
  uint64_t mask = (n >= 64 ? ~0ull : (1ull << n) - 1) << at;
  return cut((a << at & mask) | (b & ~mask), bits);
}

static uint64_t count_op(uint8_t op, uint64_t a, uint32_t bits, bool is_signed) {
  a = cut(a, bits);
  switch (op) {
  case OP_POPC: return (uint64_t)__builtin_popcountll(a);
  case OP_CLZ: return a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits;
  case OP_BFIND:
    a = is_signed && extend(a, bits) < 0 ? cut(~a, bits) : a;
    return a ? 63 - (uint64_t)__builtin_clzll(a) : 0xffffffff;
  default: break;
  }
  uint64_t r = 0;
  for (uint32_t i = 0; i < bits; i++)
    r |= (a >> i & 1) << (bits - 1 - i);
  return r;
}

static uint64_t min_max(uint8_t op, uint64_t a, uint64_t b, uint32_t bits, bool is_signed) {
  bool less = is_signed ? extend(a, bits) < extend(b, bits) : cut(a, bits) < cut(b, bits);
  return cut(less == (op == OP_MIN) ? a : b, bits);
}

static uint64_t integer_scalar(const sim_insn *in, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const sim_type_info *t = hd_sim_type(in->type[0]);
  uint32_t bits = t->bits;
  bool is_signed = t->cls == 's';
  if (t->lanes == 2) /* .u16x2, .s16x2 of min and max */
    return min_max(in->op, a, b, 16, is_signed) |
           min_max(in->op, a >> 16, b >> 16, 16, is_signed) << 16;
  switch (in->op) {
  case OP_ADD: return cut(a + b, bits);
  case OP_SUB: return cut(a - b, bits);
  case OP_MUL: return multiply(in, a, b, bits, is_signed);
  case OP_MAD: return cut(multiply(in, a, b, bits, is_signed) + c,
                          in->flags & SIM_F_WIDE ? 2 * bits : bits);
  case OP_DIV:
  case OP_REM: return divide(in->op, a, b, bits, is_signed);
  case OP_ABS: return cut(extend(a, bits) < 0 ? 0 - a : a, bits);
  case OP_NEG: return cut(0 - a, bits);
  case OP_MIN:
  case OP_MAX: return min_max(in->op, a, b, bits, is_signed);
  case OP_AND: return cut(a & b, bits);
  case OP_OR: return cut(a | b, bits);
  case OP_XOR: return cut(a ^ b, bits);
  case OP_NOT: return cut(~a, bits);
  case OP_CNOT: return cut(a, bits) == 0;
  case OP_SHL:
  case OP_SHR: return shift(in->op, a, b, bits, is_signed);
  case OP_SHF: return funnel(in, a, b, c & 0xffffffff);
  case OP_LOP3: return lop3((uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d);
  case OP_BFE: return field_extract(a, b, c, bits, is_signed);
  case OP_BFI: return field_insert(a, b, c, d, bits);
  case OP_PRMT: return permute((uint32_t)a, (uint32_t)b, (uint32_t)c);
  default:
    a = count_op(in->op, a, bits, is_signed);
    return in->op == OP_BFIND && in->cmp && a < bits ? bits - 1 - a : a; /* .shiftamt */
  }
}

static sim_step exec_alu(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[5][32];
  const uint64_t *s[4] = {buf[4], buf[4], buf[4], buf[4]};
  memset(buf[4], 0, sizeof buf[4]);
  for (uint32_t i = 1; i < in->n_opnds; i++)
    s[i - 1] = hd_sim_read(w, &in->opnd[i], buf[i - 1]);
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  bool is_float = hd_sim_type(in->type[0])->cls == 'f';
  SIM_LANES(l, mask)
  dst[l] = in->n_types == 2 ? mixed_scalar(in, s[0][l], s[1][l], s[2][l])
           : is_float       ? float_scalar(in, s[0][l], s[1][l], s[2][l])
                            : integer_scalar(in, s[0][l], s[1][l], s[2][l], s[3][l]);
  return SIM_NEXT;
}

/* ---- selection, comparison, moves ---- */

static sim_step exec_selp(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[4][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  const uint64_t *b = hd_sim_read(w, &in->opnd[2], buf[1]);
  const uint64_t *p = hd_sim_read(w, &in->opnd[3], buf[2]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[3]);
  SIM_LANES(l, mask) dst[l] = p[l] & 1 ? a[l] : b[l];
  return SIM_NEXT;
}

enum { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, CMP_NAN };

static const char *const cmp_names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
/* Integer forms of unsigned comparisons. */
static const struct {
  const char *name;
  uint8_t cmp;
} cmp_aliases[] = {{"lo", LT}, {"ls", LE}, {"hi", GT}, {"hs", GE}};

static bool ordered_compare(uint8_t cmp, bool less, bool equal) {
  switch (cmp) {
  case EQ: return equal;
  case NE: return !equal;
  case LT: return less;
  case LE: return less || equal;
  case GT: return !less && !equal;
  default: return !less;
  }
}

static bool compare(const sim_insn *in, uint64_t a, uint64_t b) {
  const sim_type_info *t = hd_sim_type(in->type[0]);
  if (t->cls == 'f') {
    bool ftz = in->flags & SIM_F_FTZ;
    double x = flush(hd_sim_decode_bits(t->elem, a), ftz);
    double y = flush(hd_sim_decode_bits(t->elem, b), ftz);
    bool nan = isnan(x) || isnan(y);
    if (in->cmp >= NUM)
      return nan == (in->cmp == CMP_NAN);
    if (nan)
      return in->cmp >= EQU;
    return ordered_compare(in->cmp >= EQU ? in->cmp - EQU : in->cmp, x < y, x == y);
  }
  if (t->cls == 's')
    return ordered_compare(in->cmp, extend(a, t->bits) < extend(b, t->bits),
                           cut(a, t->bits) == cut(b, t->bits));
  return ordered_compare(in->cmp, cut(a, t->bits) < cut(b, t->bits),
                         cut(a, t->bits) == cut(b, t->bits));
}

static uint64_t combine(uint8_t boolop, bool a, bool b) {
  return boolop == OP_AND ? a & b : boolop == OP_OR ? a | b : boolop == OP_XOR ? a ^ b : a;
}

static sim_step exec_setp(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[5][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  const uint64_t *b = hd_sim_read(w, &in->opnd[2], buf[1]);
  const uint64_t *c = in->n_opnds == 4 ? hd_sim_read(w, &in->opnd[3], buf[2]) : a;
  uint64_t *p = hd_sim_dst(w, &in->opnd[0], buf[3]);
  uint64_t *q = hd_sim_dst(w, &in->dst2, buf[4]);
  SIM_LANES(l, mask) {
    bool r = compare(in, a[l], b[l]), with = c[l] & 1;
    p[l] = combine(in->boolop, r, with);
    q[l] = combine(in->boolop, !r, with);
  }
  return SIM_NEXT;
}

/* mov with a vector on one side packs or unpacks: the first element is the lowest. */
static sim_step exec_mov(sim_warp *w, const sim_insn *in, uint32_t mask) {
  const sim_opnd *d = &in->opnd[0], *s = &in->opnd[1];
  uint32_t bits = hd_sim_type(in->type[0])->bits;
  uint64_t buf[32], scratch[32], value[32] = {0};
  if (s->kind == SIM_VEC) {
    uint32_t each = bits / s->n;
    for (uint32_t i = 0; i < s->n; i++) {
      const uint64_t *v = hd_sim_read(w, &s->vec[i], buf);
      SIM_LANES(l, mask) value[l] |= cut(v[l], each) << (each * i);
    }
  } else {
    memcpy(value, hd_sim_read(w, s, buf), sizeof value);
  }
  if (d->kind != SIM_VEC) {
    uint64_t *dst = hd_sim_dst(w, d, scratch);
    SIM_LANES(l, mask) dst[l] = value[l];
    return SIM_NEXT;
  }
  uint32_t each = bits / d->n;
  for (uint32_t i = 0; i < d->n; i++) {
    uint64_t *dst = hd_sim_dst(w, &d->vec[i], scratch);
    SIM_LANES(l, mask) dst[l] = cut(value[l] >> (each * i), each);
  }
  return SIM_NEXT;
}

/* ---- conversions ---- */

static double round_integral(double x, uint8_t round) {
  switch (round) {
  case SIM_RZI: return trunc(x);
  case SIM_RMI: return floor(x);
  case SIM_RPI: return ceil(x);
  default: return nearbyint(x);
  }
}

/* PTX ISA 9.7.9.21 (cvt): NaN becomes 0 only where neither side has 64 bits. */
static uint64_t to_integer(const sim_type_info *to, const sim_type_info *from, double x,
                           uint8_t round) {
  if (isnan(x))
    return to->bits == 64 || from->bits == 64 ? 1ull << (to->bits - 1) : 0;
  x = round_integral(x, round);
  double top = ldexp(1.0, to->bits - (to->cls == 's')), low = to->cls == 's' ? -top : 0.0;
  if (x >= top)
    return cut(to->cls == 's' ? (1ull << (to->bits - 1)) - 1 : ~0ull, to->bits);
  if (x < low)
    return to->cls == 's' ? cut(1ull << (to->bits - 1), to->bits) : 0;
  return cut(x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x, to->bits);
}

static uint64_t integer_to_integer(const sim_insn *in, const sim_type_info *to,
                                   const sim_type_info *from, uint64_t a) {
  int64_t value = from->cls == 's' ? extend(a, from->bits) : (int64_t)cut(a, from->bits);
  if (in->flags & SIM_F_SAT) {
    bool big = from->cls != 's' && value < 0; /* an unsigned 64-bit value past INT64_MAX */
    int64_t high = to->cls == 's' ? (int64_t)((1ull << (to->bits - 1)) - 1)
                                  : to->bits == 64 ? INT64_MAX : (int64_t)((1ull << to->bits) - 1);
    int64_t low = to->cls == 's' ? -high - 1 : 0;
    if (!(big && to->bits == 64 && to->cls != 's'))
      value = big || value > high ? high : value < low ? low : value;
  }
  return to->cls == 's' ? (uint64_t)extend((uint64_t)value, to->bits)
                        : cut((uint64_t)value, to->bits);
}

static uint64_t to_float(const sim_insn *in, uint8_t elem, double x) {
  if (in->round >= SIM_RNI && in->round <= SIM_RPI)
    x = round_integral(x, in->round);
  if ((in->flags & SIM_F_RELU) && !isnan(x) && x < 0)
    x = 0.0;
  if (in->flags & SIM_F_SAT)
    x = isnan(x) || x < 0 ? 0.0 : x > 1 ? 1.0 : x;
  uint8_t round = in->round > SIM_RNA ? SIM_RN : in->round;
  return hd_sim_encode_bits(elem, x, round, in->flags & SIM_F_SATFINITE);
}

static uint64_t convert(const sim_insn *in, uint64_t a) {
  const sim_type_info *to = hd_sim_type(in->type[0]), *from = hd_sim_type(in->type[1]);
  if (to->cls != 'f' && from->cls != 'f')
    return integer_to_integer(in, to, from, a);
  if (to->cls != 'f')
    return to_integer(to, from, flush(hd_sim_decode_bits(from->elem, a), in->flags & SIM_F_FTZ),
                      in->round);
  if (from->cls != 'f') {
    if (to->elem == SIM_T_F32 && (in->round == SIM_RN || in->round == SIM_R_NONE))
      return hd_sim_f32_bits(from->cls == 's' ? (float)extend(a, from->bits)
                                              : (float)cut(a, from->bits));
    return to_float(in, to->elem, from->cls == 's' ? (double)extend(a, from->bits)
                                                   : (double)cut(a, from->bits));
  }
  return to_float(in, to->elem, flush(hd_sim_decode_bits(from->elem, cut(a, from->bits)),
                                      in->flags & SIM_F_FTZ));
}

/* d.x2 = {a: high, b: low} */
static uint64_t pack(const sim_insn *in, uint64_t a, uint64_t b) {
  uint8_t elem = hd_sim_type(in->type[0])->elem, from = hd_sim_type(in->type[1])->elem;
  uint32_t bits = hd_sim_type(elem)->bits;
  return to_float(in, elem, hd_sim_decode_bits(from, b)) |
         to_float(in, elem, hd_sim_decode_bits(from, a)) << bits;
}

static uint64_t convert_pair(const sim_insn *in, uint64_t a) {
  uint8_t to = hd_sim_type(in->type[0])->elem, from = hd_sim_type(in->type[1])->elem;
  uint32_t to_bits = hd_sim_type(to)->bits, from_bits = hd_sim_type(from)->bits;
  return to_float(in, to, hd_sim_decode_bits(from, cut(a, from_bits))) |
         to_float(in, to, hd_sim_decode_bits(from, cut(a >> from_bits, from_bits))) << to_bits;
}

static sim_step exec_cvt(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t buf[3][32];
  const uint64_t *a = hd_sim_read(w, &in->opnd[1], buf[0]);
  const uint64_t *b = in->n_opnds == 3 ? hd_sim_read(w, &in->opnd[2], buf[1]) : a;
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[2]);
  bool pairs = hd_sim_type(in->type[1])->lanes == 2;
  SIM_LANES(l, mask)
  dst[l] = in->n_opnds == 3 ? pack(in, a[l], b[l]) : pairs ? convert_pair(in, a[l])
                                                           : convert(in, a[l]);
  return SIM_NEXT;
}

/* ---- decoding ---- */

static void take_round(sim_decode *d, sim_insn *in) {
  static const char *const names[] = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};
  in->round = SIM_R_NONE;
  for (uint8_t i = 0; i < HD_COUNT(names); i++)
    if (hd_sim_take(d, names[i]))
      in->round = i;
}

static void take_flags(sim_decode *d, sim_insn *in) {
  static const struct {
    const char *name;
    uint32_t flag;
  } names[] = {{"ftz", SIM_F_FTZ},     {"sat", SIM_F_SAT},   {"satfinite", SIM_F_SATFINITE},
               {"wide", SIM_F_WIDE},   {"relu", SIM_F_RELU}, {"NaN", SIM_F_NAN},
               {"approx", 0},          {"full", 0},          {"clamp", SIM_F_SAT}, {"wrap", 0}};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    if (hd_sim_take(d, names[i].name))
      in->flags |= names[i].flag;
}

static bool is_integer_pair(const sim_type_info *t) { return t->lanes == 2 && t->cls != 'f'; }

static heddle_status decode_cvt(sim_decode *d, sim_insn *in) {
  in->exec = exec_cvt;
  hd_sim_take_types(d, in);
  const sim_type_info *to = hd_sim_type(in->type[0]), *from = hd_sim_type(in->type[1]);
  if (in->n_types != 2 || to->bits == 0 || from->bits == 0)
    return HEDDLE_UNSUPPORTED;
  bool two = to->lanes == 2 && from->lanes == 1;
  if (to->lanes < from->lanes || is_integer_pair(to) || is_integer_pair(from))
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == (two ? 3 : 2) ? HEDDLE_OK : HEDDLE_INVALID;
}

static heddle_status decode_setp(sim_decode *d, sim_insn *in) {
  bool found = false;
  in->exec = exec_setp;
  for (uint8_t i = 0; i < HD_COUNT(cmp_names) && !found; i++)
    if ((found = hd_sim_take(d, cmp_names[i])))
      in->cmp = i;
  for (uint8_t i = 0; i < HD_COUNT(cmp_aliases) && !found; i++)
    if ((found = hd_sim_take(d, cmp_aliases[i].name)))
      in->cmp = cmp_aliases[i].cmp;
  in->boolop = hd_sim_take(d, "and") ? OP_AND : hd_sim_take(d, "or") ? OP_OR
               : hd_sim_take(d, "xor") ? OP_XOR : OP_MOV;
  hd_sim_take_types(d, in);
  if (!found || in->n_types != 1 || hd_sim_type(in->type[0])->lanes != 1)
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == (in->boolop == OP_MOV ? 3 : 4) ? HEDDLE_OK : HEDDLE_INVALID;
}

static heddle_status decode_mov(sim_decode *d, sim_insn *in) {
  in->exec = exec_mov;
  hd_sim_take_types(d, in);
  const sim_type_info *t = hd_sim_type(in->type[0]);
  if (in->n_types != 1 || t->bits > 64 || is_integer_pair(t))
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == 2 ? HEDDLE_OK : HEDDLE_INVALID;
}

static bool is_mixed(const sim_insn *in, uint8_t op) {
  return in->n_types == 2 && (op == OP_ADD || op == OP_SUB || op == OP_FMA) &&
         in->type[0] == SIM_T_F32 && (in->type[1] == SIM_T_F16 || in->type[1] == SIM_T_BF16) &&
         !(in->flags & SIM_F_FTZ);
}

static heddle_status decode_op(sim_decode *d, sim_insn *in, uint8_t op, uint32_t n_sources) {
  in->op = op;
  in->selects = op == OP_SELP;
  in->exec = in->selects ? exec_selp : exec_alu;
  if (op == OP_MUL || op == OP_MAD) {
    hd_sim_take(d, "lo");
    if (hd_sim_take(d, "hi"))
      in->flags |= SIM_F_HI;
  }
  if (op == OP_SHF)
    in->cmp = hd_sim_take(d, "r") ? 1 : !hd_sim_take(d, "l");
  if (op == OP_BFIND)
    in->cmp = hd_sim_take(d, "shiftamt");
  hd_sim_take_types(d, in);
  if (in->n_types != 1 && !is_mixed(in, op))
    return HEDDLE_UNSUPPORTED;
  const sim_type_info *t = hd_sim_type(in->type[0]);
  bool fits = t->cls == 'f'        ? op <= OP_MAX || op >= OP_COPYSIGN
              : is_integer_pair(t) ? op == OP_MIN || op == OP_MAX
                                   : op < OP_COPYSIGN || op == OP_SELP;
  if (!fits || t->bits > 64 || (t->cls == 'f' && t->bits < 16) || (op == OP_FMA && t->cls != 'f') ||
      (t->cls != 'f' && (in->flags & SIM_F_SAT) && op != OP_SHF))
    return HEDDLE_UNSUPPORTED;
  bool three = (op == OP_MIN || op == OP_MAX) && in->type[0] == SIM_T_F32;
  return in->n_opnds == n_sources + 1 || (three && in->n_opnds == n_sources + 2) ? HEDDLE_OK
                                                                                  : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_alu(sim_decode *d, sim_insn *in) {
  in->n_dst = 1;
  in->pure = true;
  take_round(d, in);
  take_flags(d, in);
  if (strcmp(d->mod[0], "cvt") == 0)
    return decode_cvt(d, in);
  if (strcmp(d->mod[0], "setp") == 0)
    return decode_setp(d, in);
  if (strcmp(d->mod[0], "mov") == 0)
    return decode_mov(d, in);
  for (size_t i = 0; i < HD_COUNT(ops); i++)
    if (strcmp(ops[i].name, d->mod[0]) == 0)
      return decode_op(d, in, ops[i].op, ops[i].n_sources);
  return HEDDLE_UNSUPPORTED;
}
