/* Lane-local instructions: each executed on edge values and random ones, compared with C. */
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
    {"prmt.b32 %r0, %r1, %r2, 0x0743;", prmt},
    {"add.rn.f32 %r0, %r1, %r2;", f_add},
    {"mul.f32 %r0, %r1, %r2;", f_mul},
    {"fma.rn.f32 %r0, %r1, %r2, %r3;", f_fma},
    {"div.rn.f32 %r0, %r1, %r2;", f_div},
    {"sqrt.rn.f32 %r0, %r1;", f_sqrt},
    {"max.f32 %r0, %r1, %r2;", fmax_},
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
