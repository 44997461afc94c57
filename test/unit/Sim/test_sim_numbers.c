/* Lane-local instructions: each is executed on edge values and random values and compared with
 * C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/strbuf.h"
#include "sim_harness.h"

typedef uint64_t expected(uint64_t a, uint64_t b, uint64_t c);

static float f(uint64_t x) {
  float r;
  uint32_t u = (uint32_t)x;
  memcpy(&r, &u, 4);
  return r;
}
static uint64_t u(float x) {
  uint32_t r;
  if (isnan(x))
    return 0x7fffffff;
  memcpy(&r, &x, 4);
  return r;
}

static float zero_if_tiny(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static float saturate(float x) { return isnan(x) || x < 0 ? 0 : x > 1 ? 1 : x; }
/* Reverses the bits of each byte. */
static uint32_t turned_bytes(uint32_t x) {
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  return (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
}

#define FN(name, expression)                                                                       \
  static uint64_t name(uint64_t a, uint64_t b, uint64_t c) {                                       \
    (void)a, (void)b, (void)c;                                                                     \
    return (uint64_t)(expression);                                                                 \
  }
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(x))

FN(add32, U32(a + b))
FN(sub32, U32(a - b))
FN(mullo, U32(a * b))
FN(mulhiu, (uint64_t)U32(a) * U32(b) >> 32)
FN(mulhis, U32((uint64_t)((int64_t)S32(a) * S32(b)) >> 32))
FN(mulwideu, (uint64_t)U32(a) * U32(b))
FN(mulwides, (int64_t)S32(a) * S32(b))
FN(madlo, U32(a * b + c))
FN(divu, U32(b) ? U32(a) / U32(b) : 0xffffffffu)
FN(remu, U32(b) ? U32(a) % U32(b) : U32(a))
FN(shl, (b & 0xffffffff) > 31 ? 0 : U32(a << (b & 31)))
FN(shru, (b & 0xffffffff) > 31 ? 0 : U32(a) >> (b & 31))
FN(shrs, U32(S32(a) >> (U32(b) > 31 ? 31 : b & 31)))
FN(shflw, U32(((b << 32 | U32(a)) << (c & 31)) >> 32))
FN(shfrw, U32((b << 32 | U32(a)) >> (c & 31)))
FN(lop3, U32((a & b) | (~a & c)))
FN(bfeu, (b & 31) ? U32(a) >> 3 & ((1u << (b & 31)) - 1) : 0)
FN(popc, __builtin_popcount(U32(a)))
#define LOW16(x) ((uint32_t)(x) & 0xffff)
#define HIGH16(x) ((uint32_t)(x) >> 16)
#define LESSER(x, y) ((x) < (y) ? (x) : (y))
#define GREATER(x, y) ((x) > (y) ? (x) : (y))
FN(min_u16x2, LESSER(LOW16(a), LOW16(b)) | LESSER(HIGH16(a), HIGH16(b)) << 16)
FN(max_s16x2, (uint16_t)GREATER((int16_t)LOW16(a), (int16_t)LOW16(b)) |
                  (uint32_t)(uint16_t)GREATER((int16_t)HIGH16(a), (int16_t)HIGH16(b)) << 16)
FN(clz, U32(a) ? __builtin_clz(U32(a)) : 32)
FN(mins, S32(a) < S32(b) ? U32(a) : U32(b))
FN(maxu, U32(a) > U32(b) ? U32(a) : U32(b))
FN(prmt, (U32(a) >> 24) | (U32(b) & 0xff) << 8 | (U32(b) >> 24) << 16 | (U32(a) & 0xff) << 24)
FN(f_add, u(f(a) + f(b)))
FN(f_mul, u(f(a) * f(b)))
FN(f_fma, u(fmaf(f(a), f(b), f(c))))
FN(f_div, u(f(a) / f(b)))
FN(f_sqrt, u(sqrtf(f(a))))
FN(fmax_, u(isnan(f(a))    ? f(b)
            : isnan(f(b))  ? f(a)
            : f(a) == f(b) ? (signbit(f(a)) ? f(b) : f(a))
            : f(a) > f(b)  ? f(a)
                           : f(b)))
FN(fneg, U32(a) ^ 0x80000000u)
#define ANY_NAN (isnan(f(a)) || isnan(f(b)) || isnan(f(c)))
FN(fmax3, ANY_NAN ? 0x7fffffff : fmax_(fmax_(a, b, 0), c, 0))
FN(fmin3, ANY_NAN ? 0x7fffffff : fneg(fmax3(fneg(a, 0, 0), fneg(b, 0, 0), fneg(c, 0, 0)), 0, 0))
FN(fsel, f(a) > f(b) ? U32(a) : U32(b))
FN(fltu, !(f(a) >= f(b)))
FN(cvts, isnan(f(a))       ? 0
         : f(a) >= 0x1p31f ? 0x7fffffff
         : f(a) < -0x1p31f ? 0x80000000u
                           : U32((int32_t)f(a)))
FN(cvtf, u((float)S32(a)))
FN(ext8, (int64_t)(int8_t)a)
FN(add_bf, u(f((uint64_t)U32(a) << 16) + f(b)))
FN(sub_bf, u(f((uint64_t)U32(a) << 16) - f(b)))
FN(fma_bf, u(fmaf(f((uint64_t)U32(a) << 16), f((uint64_t)U32(b) << 16), f(c))))
FN(tobf, (uint64_t)(isnan(f(a)) ? 0x7fff : (U32(a) + 0x7fff + (U32(a) >> 16 & 1)) >> 16))
FN(divs, U32(S32(a) / (int64_t)(S32(b) | 1)))
FN(rems, U32(S32(a) % (int64_t)(S32(b) | 1)))
FN(minu, U32(a) < U32(b) ? U32(a) : U32(b))
FN(maxs, S32(a) > S32(b) ? U32(a) : U32(b))
FN(and32, U32(a & b))
FN(or32, U32(a | b))
FN(xor32, U32(a ^ b))
FN(not32, U32(~a))
FN(cnot, U32(a) == 0)
FN(abss, S32(a) < 0 ? U32(0 - a) : U32(a))
FN(negs, U32(0 - a))
FN(bfi, (U32(b) & ~0x1f8u) | (U32(a) & 63) << 3)
FN(bfindu, U32(a) ? 31u - (unsigned)__builtin_clz(U32(a)) : 0xffffffffu)
FN(shiftamt, U32(a) ? (unsigned)__builtin_clz(U32(a)) : 0xffffffffu)
FN(brev, __builtin_bswap32(turned_bytes(U32(a))))
FN(f_sub, u(f(a) - f(b)))
FN(f_addz, u(zero_if_tiny(zero_if_tiny(f(a)) + zero_if_tiny(f(b)))))
FN(f_sat, u(saturate(f(a) + f(b))))
FN(f_rcp, u((float)(1 / (double)f(a))))
FN(f_rsqrt, u((float)(1 / sqrt((double)f(a)))))
FN(f_ex2, u((float)exp2((double)f(a))))
FN(f_lg2, u((float)log2((double)f(a))))
FN(f_tanh, u((float)tanh((double)f(a))))
FN(f_sin, u((float)sin((double)f(a))))
FN(f_cos, u((float)cos((double)f(a))))
FN(f_copysign, u(copysignf(f(b), f(a))))
FN(fabs_, U32(a) & 0x7fffffffu)
FN(d_add, u((float)((double)f(a) + (double)f(b))))
FN(d_sub, u((float)((double)f(a) - (double)f(b))))
FN(d_mul, u((float)((double)f(a) * (double)f(b))))
FN(d_fma, u((float)fma((double)f(a), (double)f(b), (double)f(c))))
FN(d_div, u((float)((double)f(a) / (double)f(b))))
FN(d_sqrt, u((float)sqrt((double)f(a))))
FN(is_num, !isnan(f(a)) && !isnan(f(b)))
FN(is_nan, isnan(f(a)) || isnan(f(b)))
FN(higher, U32(a) > U32(b))
FN(lower_same, U32(a) <= U32(b))
FN(either, U32(a) == U32(b) || U32(b) < U32(c))
FN(not_both, (U32(a) != U32(b)) ^ (U32(b) < U32(c)))
FN(down, u(floorf(f(a))))
FN(up, u(ceilf(f(a))))
FN(even, u(rintf(f(a))))
FN(cvt_even, isnan(f(a))                ? 0
             : rintf(f(a)) >= 0x1p31f ? 0x7fffffff
             : f(a) < -0x1p31f        ? 0x80000000u
                                      : U32((int32_t)rintf(f(a))))
FN(cvtu, isnan(f(a)) || f(a) <= 0 ? 0 : f(a) >= 0x1p32f ? 0xffffffffu : U32(f(a)))
FN(cvtll, isnan(f(a)) || f(a) < -0x1p63f ? 1ull << 63
          : f(a) >= 0x1p63f              ? ~0ull >> 1
                                         : (uint64_t)(int64_t)f(a))
FN(cvtdi, isnan(f(a)) || f(a) < -0x1p31f ? 0x80000000u
          : f(a) >= 0x1p31f              ? 0x7fffffff
                                         : U32((int32_t)f(a)))
FN(sat8, U32(S32(a) > 127 ? 127 : S32(a) < -128 ? -128 : S32(a)))
FN(sat_u8, S32(a) > 255 ? 255 : S32(a) < 0 ? 0 : U32(a))
FN(sat32, U32(a) > 0x7fffffff ? 0x7fffffff : U32(a))
FN(cvt_sat, u(saturate(f(a))))
/* Zero is excluded, because the ISA does not define the result for -0. */
FN(tobf_relu, f(a | 1) < 0 ? 0 : tobf(a | 1, b, c))
FN(two_bf, tobf(b, a, c) | tobf(a, b, c) << 16)
FN(none, 0)
FN(one, 1)
FN(all_lanes, 31)
FN(lane_sum, 496)
FN(inc, U32(a) >= U32(b) ? 0 : U32(a) + 1)
FN(dec, U32(a) == 0 || U32(a) > U32(b) ? U32(b) : U32(a) - 1)
FN(swapped, U32(a) == U32(b) ? U32(c) : U32(a))
FN(second, U32(b))

/* Common parts of the texts below. */
#define TO_F64 "cvt.f64.f32 %rd1, %r1; cvt.f64.f32 %rd2, %r2; cvt.f64.f32 %rd3, %r3; "
#define LANE_BIT "mov.u32 %r9, %laneid; shl.b32 %r9, 1, %r9; "
#define ATOM(op, sources)                                                                          \
  "st.global.b32 [%rd7], %r1; atom.global." op " %r9, [%rd7], " sources                            \
  "; ld.global.b32 %r0, [%rd7];"

static const struct {
  const char *text; /* %r1, %r2, %r3 (or %f, %rd the same bits) -> %rd0 */
  expected *want;
} ops[] = {
    {"add.s32 %r0, %r1, %r2;", add32},
    {"sub.u32 %r0, %r1, %r2;", sub32},
    {"mul.lo.s32 %r0, %r1, %r2;", mullo},
    {"mul.hi.u32 %r0, %r1, %r2;", mulhiu},
    {"mul.hi.s32 %r0, %r1, %r2;", mulhis},
    {"mul.wide.u32 %rd0, %r1, %r2;", mulwideu},
    {"mul.wide.s32 %rd0, %r1, %r2;", mulwides},
    {"mad.lo.u32 %r0, %r1, %r2, %r3;", madlo},
    {"div.u32 %r0, %r1, %r2;", divu},
    {"rem.u32 %r0, %r1, %r2;", remu},
    {"shl.b32 %r0, %r1, %r2;", shl},
    {"shr.u32 %r0, %r1, %r2;", shru},
    {"shr.s32 %r0, %r1, %r2;", shrs},
    {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", shflw},
    {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", shfrw},
    {"lop3.b32 %r0, %r1, %r2, %r3, 0xCA;", lop3},
    {"and.b32 %r9, %r2, 31; bfe.u32 %r0, %r1, 3, %r9;", bfeu},
    {"popc.b32 %r0, %r1;", popc},
    {"clz.b32 %r0, %r1;", clz},
    {"min.s32 %r0, %r1, %r2;", mins},
    {"max.u32 %r0, %r1, %r2;", maxu},
    {"min.u16x2 %r0, %r1, %r2;", min_u16x2},
    {"max.s16x2 %r0, %r1, %r2;", max_s16x2},
    {"prmt.b32 %r0, %r1, %r2, 0x0743;", prmt},
    {"add.rn.f32 %r0, %r1, %r2;", f_add},
    {"mul.f32 %r0, %r1, %r2;", f_mul},
    {"fma.rn.f32 %r0, %r1, %r2, %r3;", f_fma},
    {"div.rn.f32 %r0, %r1, %r2;", f_div},
    {"sqrt.rn.f32 %r0, %r1;", f_sqrt},
    {"max.f32 %r0, %r1, %r2;", fmax_},
    {"max.NaN.f32 %r0, %r1, %r2, %r3;", fmax3},
    {"min.NaN.f32 %r0, %r1, %r2, %r3;", fmin3},
    {"neg.f32 %r0, %r1;", fneg},
    {"setp.gt.f32 %p1, %r1, %r2; selp.b32 %r0, %r1, %r2, %p1;", fsel},
    {"setp.ltu.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;", fltu},
    {"cvt.rzi.s32.f32 %r0, %r1;", cvts},
    {"cvt.rn.f32.s32 %r0, %r1;", cvtf},
    {"cvt.s64.s8 %rd0, %r1;", ext8},
    {"cvt.u16.u32 %h0, %r1; add.rn.f32.bf16 %r0, %h0, %r2;", add_bf},
    {"cvt.u16.u32 %h0, %r1; sub.f32.bf16 %r0, %h0, %r2;", sub_bf},
    {"cvt.u16.u32 %h0, %r1; cvt.u16.u32 %h1, %r2; fma.rn.f32.bf16 %r0, %h0, %h1, %r3;", fma_bf},
    {"cvt.rn.bf16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;", tobf},
    {"or.b32 %r9, %r2, 1; div.s32 %r0, %r1, %r9;", divs},
    {"or.b32 %r9, %r2, 1; rem.s32 %r0, %r1, %r9;", rems},
    {"min.u32 %r0, %r1, %r2;", minu},
    {"max.s32 %r0, %r1, %r2;", maxs},
    {"and.b32 %r0, %r1, %r2;", and32},
    {"or.b32 %r0, %r1, %r2;", or32},
    {"xor.b32 %r0, %r1, %r2;", xor32},
    {"not.b32 %r0, %r1;", not32},
    {"cnot.b32 %r0, %r1;", cnot},
    {"abs.s32 %r0, %r1;", abss},
    {"neg.s32 %r0, %r1;", negs},
    {"bfi.b32 %r0, %r1, %r2, 3, 6;", bfi},
    {"bfind.u32 %r0, %r1;", bfindu},
    {"bfind.shiftamt.u32 %r0, %r1;", shiftamt},
    {"brev.b32 %r0, %r1;", brev},
    {"sub.f32 %r0, %r1, %r2;", f_sub},
    {"add.ftz.f32 %r0, %r1, %r2;", f_addz},
    {"add.sat.f32 %r0, %r1, %r2;", f_sat},
    {"rcp.rn.f32 %r0, %r1;", f_rcp},
    {"rsqrt.approx.f32 %r0, %r1;", f_rsqrt},
    {"ex2.approx.f32 %r0, %r1;", f_ex2},
    {"lg2.approx.f32 %r0, %r1;", f_lg2},
    {"tanh.approx.f32 %r0, %r1;", f_tanh},
    {"sin.approx.f32 %r0, %r1;", f_sin},
    {"cos.approx.f32 %r0, %r1;", f_cos},
    {"copysign.f32 %r0, %r1, %r2;", f_copysign},
    {"abs.f32 %r0, %r1;", fabs_},
    {TO_F64 "add.rn.f64 %rd9, %rd1, %rd2; cvt.rn.f32.f64 %r0, %rd9;", d_add},
    {TO_F64 "sub.f64 %rd9, %rd1, %rd2; cvt.rn.f32.f64 %r0, %rd9;", d_sub},
    {TO_F64 "mul.f64 %rd9, %rd1, %rd2; cvt.rn.f32.f64 %r0, %rd9;", d_mul},
    {TO_F64 "fma.rn.f64 %rd9, %rd1, %rd2, %rd3; cvt.rn.f32.f64 %r0, %rd9;", d_fma},
    {TO_F64 "div.rn.f64 %rd9, %rd1, %rd2; cvt.rn.f32.f64 %r0, %rd9;", d_div},
    {TO_F64 "sqrt.rn.f64 %rd9, %rd1; cvt.rn.f32.f64 %r0, %rd9;", d_sqrt},
    {"setp.num.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;", is_num},
    {"setp.nan.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;", is_nan},
    {"setp.hi.u32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;", higher},
    {"setp.ls.u32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;", lower_same},
    {"setp.lo.u32 %p2, %r2, %r3; setp.eq.or.u32 %p1, %r1, %r2, %p2; "
     "selp.b32 %r0, 1, 0, %p1;",
     either},
    {"setp.lo.u32 %p2, %r2, %r3; setp.ne.xor.u32 %p1, %r1, %r2, %p2; "
     "selp.b32 %r0, 1, 0, %p1;",
     not_both},
    {"cvt.rmi.f32.f32 %r0, %r1;", down},
    {"cvt.rpi.f32.f32 %r0, %r1;", up},
    {"cvt.rni.f32.f32 %r0, %r1;", even},
    {"cvt.rni.s32.f32 %r0, %r1;", cvt_even},
    {"cvt.rzi.u32.f32 %r0, %r1;", cvtu},
    {"cvt.rzi.s64.f32 %rd0, %r1;", cvtll},
    {"cvt.f64.f32 %rd1, %r1; cvt.rzi.s32.f64 %r0, %rd1;", cvtdi},
    {"cvt.sat.s8.s32 %r0, %r1;", sat8},
    {"cvt.sat.u8.s32 %r0, %r1;", sat_u8},
    {"cvt.sat.s32.u32 %r0, %r1;", sat32},
    {"cvt.sat.f32.f32 %r0, %r1;", cvt_sat},
    {"or.b32 %r9, %r1, 1; cvt.rn.relu.bf16.f32 %h0, %r9; cvt.u32.u16 %r0, %h0;", tobf_relu},
    {"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", two_bf},
    /* Values that depend on the thread and its warp. */
    {LANE_BIT "mov.u32 %r0, %lanemask_eq; xor.b32 %r0, %r0, %r9;", none},
    {LANE_BIT "sub.u32 %r9, %r9, 1; mov.u32 %r0, %lanemask_lt; xor.b32 %r0, %r0, %r9;", none},
    {LANE_BIT "shl.b32 %r9, %r9, 1; sub.u32 %r9, %r9, 1; "
              "mov.u32 %r0, %lanemask_le; xor.b32 %r0, %r0, %r9;", none},
    {LANE_BIT "neg.s32 %r9, %r9; mov.u32 %r0, %lanemask_ge; xor.b32 %r0, %r0, %r9;", none},
    {LANE_BIT "shl.b32 %r9, %r9, 1; neg.s32 %r9, %r9; "
              "mov.u32 %r0, %lanemask_gt; xor.b32 %r0, %r0, %r9;", none},
    {"mov.u32 %r9, %tid.x; shr.u32 %r9, %r9, 5; mov.u32 %r0, %warpid; "
     "xor.b32 %r0, %r0, %r9;",
     none},
    {"mov.u32 %r0, %nwarpid; sub.u32 %r0, %r0, 1;", all_lanes},
    {"mov.u32 %r0, %nsmid;", one},
    {"mov.u32 %r0, %smid;", none},
    {"mov.u32 %r9, %laneid; redux.sync.min.u32 %r0, %r9, 0xffffffff;", none},
    {"mov.u32 %r9, %laneid; redux.sync.max.u32 %r0, %r9, 0xffffffff;", all_lanes},
    {"mov.u32 %r9, %laneid; redux.sync.add.u32 %r0, %r9, 0xffffffff;", lane_sum},
    {"mov.u32 %r9, %laneid; redux.sync.and.b32 %r0, %r9, 0xffffffff;", none},
    {"mov.u32 %r9, %laneid; redux.sync.or.b32 %r0, %r9, 0xffffffff;", all_lanes},
    {"mov.u32 %r9, %laneid; redux.sync.xor.b32 %r0, %r9, 0xffffffff;", none},
    {"mov.u32 %r9, %laneid; sub.u32 %r9, %r9, 31; redux.sync.max.s32 %r0, %r9, 0xffffffff;", none},
    /* Atomics on memory of the thread's own. */
    {ATOM("min.s32", "%r2"), mins},
    {ATOM("max.u32", "%r2"), maxu},
    {ATOM("add.u32", "%r2"), add32},
    {ATOM("and.b32", "%r2"), and32},
    {ATOM("or.b32", "%r2"), or32},
    {ATOM("xor.b32", "%r2"), xor32},
    {ATOM("inc.u32", "%r2"), inc},
    {ATOM("dec.u32", "%r2"), dec},
    {ATOM("exch.b32", "%r2"), second},
    {ATOM("cas.b32", "%r2, %r3"), swapped},
    {ATOM("add.f32", "%r2"), f_add},
    {"isspacep.global %p1, %rd7; selp.b32 %r0, 1, 0, %p1;", one},
    {"isspacep.shared %p1, %rd7; selp.b32 %r0, 1, 0, %p1;", none},
    {"/* over\n two lines */ add.s32 %r0, %r1, /**/ %r2; // the end", add32},
};

static const uint32_t edges[] = {0, 1, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000,
                                 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
                                 0x4f000000, 0x33800000, 0x40490fdb, 0x0000ff80};

static int run_op(size_t index) {
  enum { LANES = 1024 };
  static uint32_t in[3][LANES];
  static uint64_t out[LANES];
  uint64_t state = index + 1;
  hd_strbuf text = {0};
  harness h;
  for (int i = 0; i < LANES; i++)
    for (int j = 0; j < 3; j++)
      in[j][i] = i < 324 && j < 2 ? edges[(j ? i / 18 : i) % 18]
                                  : next_random(&state) ^ next_random(&state) << 8;
  hd_strbuf_printf(
      &text,
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n"
      "{ .reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<16>; .reg .b64 %%rd<16>;\n"
      "ld.param.u64 %%rd4, [p0]; ld.param.u64 %%rd5, [p1]; ld.param.u64 %%rd6, [p2];\n"
      "ld.param.u64 %%rd7, [p3]; mov.u32 %%r10, %%tid.x; mov.b32 %%r0, 0; mov.b64 %%rd0, 0;\n"
      "mul.wide.u32 %%rd8, %%r10, 4; add.s64 %%rd4, %%rd4, %%rd8;\n"
      "add.s64 %%rd5, %%rd5, %%rd8; add.s64 %%rd6, %%rd6, %%rd8;\n"
      "shl.b64 %%rd8, %%rd8, 1; add.s64 %%rd7, %%rd7, %%rd8;\n"
      "ld.global.b32 %%r1, [%%rd4]; ld.global.b32 %%r2, [%%rd5]; ld.global.b32 %%r3, [%%rd6];\n"
      "%s\n%sst.global.b64 [%%rd7], %%rd0;\nret;\n}\n",
      ops[index].text, strstr(ops[index].text, "%rd0") ? "" : "cvt.u64.u32 %rd0, %r0;\n");
  harness_start(&h, "k", LANES, 0, 1);
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "x", in[0], sizeof in[0], false));
  harness_param(&h, HD_ARG_B, harness_buffer(&h, "y", in[1], sizeof in[1], false));
  harness_param(&h, HD_ARG_C, harness_buffer(&h, "z", in[2], sizeof in[2], false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", out, sizeof out, true));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  int bad = status != HEDDLE_OK;
  if (bad)
    harness_print(&h);
  for (int i = 0; i < LANES && !bad; i++) {
    uint64_t want = ops[index].want(in[0][i], in[1][i], in[2][i]);
    if (out[i] != want) {
      fprintf(stderr, "%s of %08x %08x %08x: got %llx, expected %llx\n", ops[index].text, in[0][i],
              in[1][i], in[2][i], (unsigned long long)out[i], (unsigned long long)want);
      bad = 1;
    }
  }
  hd_strbuf_free(&text);
  harness_stop(&h);
  return bad;
}

static void each_instruction(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(ops); i++)
    bad += run_op(i);
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_instruction)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
