/* Every type of wgmma and wgmma.sp: A by descriptor and in registers, B in every canonical layout
 * that fits. The images of shared memory are built from the layouts' figures. Results are compared
 * exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Sim/sim_types.h"
#include "Support/strbuf.h"
#include "sim_harness.h"

enum { MAX_K = 64, N = 24, A_AT = 8192, IMAGE = 16384, META = 0, REGS = 1 };

typedef enum layout { NONE, SW32, SW64, SW128, MN_NONE, MN_SW128, MN_SW64, MN_SW32 } layout;
static const char *const layout_names[] = {"none", "32", "64", "128", "mn none", "mn 128", "mn 64",
                                           "mn 32"};

typedef struct shape {
  const char *d, *a, *b;
  uint32_t k;
  bool sparse;
} shape;

static const shape shapes[] = {
    {"f32", "f16", "f16", 16, false},  {"f16", "f16", "f16", 16, false},
    {"f32", "bf16", "bf16", 16, false}, {"f32", "tf32", "tf32", 8, false},
    {"f32", "e4m3", "e5m2", 32, false}, {"s32", "s8", "u8", 32, false},
    {"f32", "f16", "f16", 32, true},   {"f16", "f16", "f16", 32, true},
    {"f32", "bf16", "bf16", 32, true}, {"f32", "tf32", "tf32", 16, true},
    {"f32", "e4m3", "e4m3", 64, true}, {"f16", "e5m2", "e4m3", 64, true},
    {"s32", "s8", "s8", 64, true},     {"s32", "u8", "s8", 64, true},
};

typedef struct test_case {
  const shape *s;
  layout b_layout;
  bool a_in_registers;
  uint32_t selector, bits, group, columns; /* columns: of A as stored */
  uint8_t a_type, b_type;
  int a[64][MAX_K], b[MAX_K][N];
  uint32_t kept[64][MAX_K / 2];
  uint8_t image[IMAGE];
  uint32_t lane[128][8]; /* A's registers, metadata */
  uint32_t out[128][N / 2];
} test_case;

static int small(uint64_t *state, uint8_t type) {
  int v = (int)(next_random(state) % 7) - 3;
  return hd_sim_type(type)->cls == 'u' ? abs(v) : v;
}

static uint32_t container(uint8_t type, uint32_t bits, int value) {
  if (hd_sim_type(type)->cls != 'f')
    return (uint32_t)value & ((1u << bits) - 1);
  return (uint32_t)hd_sim_encode_bits(type, value, SIM_RN, false);
}

static void make_matrices(test_case *t, uint64_t *state) {
  static const uint32_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (int i = 0; i < 64; i++) {
    for (uint32_t g = 0; g < t->s->k / t->group; g++) {
      const uint32_t *pair = pairs[next_random(state) % 6];
      for (uint32_t e = 0; e < t->group / 2; e++)
        t->kept[i][g * t->group / 2 + e] =
            g * t->group + (t->group == 2 ? next_random(state) % 2 : pair[e]);
    }
    for (uint32_t c = 0; c < t->columns; c++)
      t->a[i][t->s->sparse ? t->kept[i][c] : c] = small(state, t->a_type);
  }
  for (uint32_t k = 0; k < t->s->k; k++)
    for (int j = 0; j < N; j++)
      t->b[k][j] = small(state, t->b_type);
}

static int stored_a(const test_case *t, uint32_t row, uint32_t column) {
  return t->a[row][t->s->sparse ? t->kept[row][column] : column];
}

static void put(uint8_t *at, uint32_t bits, uint32_t value) { memcpy(at, &value, bits / 8); }

/* Core matrices of 8 rows of 16 bytes: the next one along k is 128 bytes further, the next 8 rows
 * 512 bytes. */
static void make_a(test_case *t) {
  uint32_t per = 128 / t->bits;
  for (uint32_t i = 0; i < 64; i++)
    for (uint32_t c = 0; c < t->columns; c++)
      put(t->image + A_AT + i / 8 * 512 + c / per * 128 + i % 8 * 16 + c % per * t->bits / 8,
          t->bits, container(t->a_type, t->bits, stored_a(t, i, c)));
  for (uint32_t l = 0; l < 128; l++) {
    for (uint32_t r = 0; r < 4; r++) {
      uint32_t row = l / 32 * 16 + l % 32 / 4 + 8 * (r % 2), n = 32 / t->bits;
      for (uint32_t e = 0; e < n; e++)
        t->lane[l][r] |= container(t->a_type, t->bits,
                                   stored_a(t, row, (r / 2 * 4 + l % 4) * n + e)) << e * t->bits;
    }
  }
}

/* Offset of element (k, n) of B. Rows have 32, 64 or 128 bytes; their 16-byte chunks are XORed with
 * the row's number. MN-major layouts are the same with k as the row. */
static uint32_t place_b(const test_case *t, uint32_t k, uint32_t n) {
  uint32_t bytes = t->bits / 8, chunk, rest;
  switch (t->b_layout) {
  case NONE:
    return n / 8 * 512 + k * bytes / 16 * 128 + n % 8 * 16 + k * bytes % 16;
  case SW32:
  case SW64:
  case SW128: {
    uint32_t span = 16u << t->b_layout;
    chunk = k * bytes / 16;
    rest = k * bytes % 16;
    chunk ^= n % 8 * span / 128 & (span / 16 - 1);
    return n / 8 * 8 * span + n % 8 * span + chunk * 16 + rest;
  }
  case MN_NONE:
    return n / 8 * 1024 + k / 8 * 128 + k % 8 * 16 + n % 8 * 2;
  default: {
    uint32_t span = t->b_layout == MN_SW128 ? 128 : t->b_layout == MN_SW64 ? 64 : 32;
    uint32_t wide = span / 2, panel = n / wide * 2048;
    chunk = n % wide / 8 ^ (k % 8 * span / 128 & (span / 16 - 1));
    return panel + k / 8 * 8 * span + k % 8 * span + chunk * 16 + n % 8 * 2;
  }
  }
}

/* The descriptor's constant half: leading and stride offsets, swizzle mode. */
static uint64_t fields_b(const test_case *t) {
  static const struct {
    uint64_t leading, stride, mode;
  } f[] = {{128, 512, 0}, {16, 256, 3}, {16, 512, 2}, {16, 1024, 1},
           {128, 1024, 0}, {2048, 1024, 1}, {2048, 512, 2}, {2048, 256, 3}};
  return f[t->b_layout].leading >> 4 << 16 | f[t->b_layout].stride >> 4 << 32 |
         f[t->b_layout].mode << 62;
}

static void make_b(test_case *t) {
  for (uint32_t k = 0; k < t->s->k; k++)
    for (uint32_t n = 0; n < N; n++)
      put(t->image + place_b(t, k, n), t->bits, container(t->b_type, t->bits, t->b[k][n]));
}

/* Metadata of wgmma. 16-bit types and tf32: lanes q = 2 sel + h hold half a row, g in the low and g
 * + 8 in the high bits. 8-bit types: lane q holds row g + 8 (q & 1), half q >> 1. */
static void make_meta(test_case *t) {
  for (uint32_t row = 0; row < 64 && t->s->sparse; row++) {
    for (uint32_t g = 0; g < t->s->k / t->group; g++) {
      const uint32_t *kept = &t->kept[row][g * t->group / 2];
      uint32_t nibble = t->group == 2 ? (kept[0] % 2 ? 0xe : 0x4) : kept[0] % 4 | kept[1] % 4 << 2;
      uint32_t lane = row / 16 * 32 + row % 8 * 4, high = row % 16 / 8;
      if (t->bits >= 16)
        t->lane[lane + 2 * t->selector + g / 4][4] |= nibble << (g % 4 * 4 + 16 * high);
      else
        t->lane[lane + high + g / 8 * 2][4] |= nibble << g % 8 * 4;
    }
  }
}

static void write_text(const test_case *t, hd_strbuf *out) {
  const shape *s = t->s;
  bool f32 = strcmp(s->d, "f32") == 0, integer = strcmp(s->d, "s32") == 0;
  uint32_t n_d = strcmp(s->d, "f16") == 0 ? N / 4 : N / 2;
  hd_strbuf_printf(
      out,
      ".version 8.4\n.target sm_90a\n.address_size 64\n"
      ".extern .shared .align 1024 .b8 smem[];\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n"
      "{ .reg .pred %%p<4>; .reg .b32 %%r<16>; .reg .b32 %%a<5>; .reg .%s %%d<12>;\n"
      ".reg .b64 %%rd<16>;\n"
      "ld.param.u64 %%rd0, [p0]; ld.param.u64 %%rd1, [p1]; ld.param.u64 %%rd2, [p2];\n"
      "mov.u32 %%r0, %%tid.x; mov.u32 %%r1, smem; mul.wide.u32 %%rd3, %%r0, 16;\n"
      "add.s64 %%rd3, %%rd3, %%rd0; shl.b32 %%r2, %%r0, 4; add.s32 %%r2, %%r2, %%r1;\n"
      "mov.b32 %%r3, 0;\n"
      "C: ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd3];\n"
      "st.shared.v4.b32 [%%r2], {%%r4, %%r5, %%r6, %%r7};\n"
      "add.s64 %%rd3, %%rd3, 2048; add.s32 %%r2, %%r2, 2048; add.s32 %%r3, %%r3, 1;\n"
      "setp.lt.u32 %%p0, %%r3, 8; @%%p0 bra C;\n"
      "fence.proxy.async; bar.sync 0;\n"
      "mul.wide.u32 %%rd4, %%r0, 32; add.s64 %%rd4, %%rd4, %%rd1;\n"
      "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%rd4]; ld.global.b32 %%a4, [%%rd4+16];\n"
      "shr.u32 %%r8, %%r1, 4; and.b32 %%r8, %%r8, 16383; cvt.u64.u32 %%rd5, %%r8;\n"
      "add.s64 %%rd6, %%rd5, %u; or.b64 %%rd6, %%rd6, 0x0000002000080000;\n"
      "or.b64 %%rd7, %%rd5, 0x%llx;\n"
      "wgmma.fence.sync.aligned;\n",
      f32 ? "f32" : "b32", A_AT / 16, (unsigned long long)fields_b(t));
  hd_strbuf_printf(out, "wgmma.mma_async%s.sync.aligned.m64n%uk%u.%s.%s.%s {",
                   s->sparse ? ".sp" : "", N, s->k, s->d, s->a, s->b);
  for (uint32_t i = 0; i < n_d; i++)
    hd_strbuf_printf(out, "%s%%d%u", i ? ", " : "", i);
  hd_strbuf_add(out, t->a_in_registers ? "}, {%a0, %a1, %a2, %a3}, %rd7" : "}, %rd6, %rd7");
  if (s->sparse)
    hd_strbuf_printf(out, ", %%a4, %u", t->selector);
  hd_strbuf_add(out, ", 0");
  if (!integer)
    hd_strbuf_add(out, ", 1, 1");
  if (t->bits == 16)
    hd_strbuf_printf(out, "%s, %d", t->a_in_registers ? "" : ", 0", t->b_layout >= MN_NONE);
  hd_strbuf_printf(out, ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
                        "mul.wide.u32 %%rd8, %%r0, %u; add.s64 %%rd8, %%rd8, %%rd2;\n", N * 2);
  for (uint32_t i = 0; i < n_d; i++)
    hd_strbuf_printf(out, "st.global.%s [%%rd8+%u], %%d%u;\n", f32 ? "f32" : "b32", 4 * i, i);
  hd_strbuf_add(out, "ret;\n}\n");
}

static double element_of_d(const test_case *t, uint32_t row, uint32_t col) {
  uint32_t lane = row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
  uint32_t i = col / 8 * 4 + row % 16 / 8 * 2 + col % 2;
  if (strcmp(t->s->d, "f16") == 0)
    return hd_sim_decode_bits(SIM_T_F16, t->out[lane][i / 2] >> 16 * (i % 2) & 0xffff);
  return hd_sim_decode_bits(strcmp(t->s->d, "s32") == 0 ? SIM_T_S32 : SIM_T_F32, t->out[lane][i]);
}

static int compare(const test_case *t) {
  int bad = 0;
  for (uint32_t i = 0; i < 64; i++) {
    for (uint32_t j = 0; j < N; j++) {
      int sum = 0;
      for (uint32_t k = 0; k < t->s->k; k++)
        sum += t->a[i][k] * t->b[k][j];
      bad += element_of_d(t, i, j) != (double)sum;
    }
  }
  return bad;
}

static int run_case(const shape *s, layout b_layout, bool a_in_registers, uint32_t selector) {
  static test_case t;
  uint64_t seed = 5 + selector;
  memset(&t, 0, sizeof t);
  t.s = s;
  t.b_layout = b_layout;
  t.a_in_registers = a_in_registers;
  t.selector = selector;
  t.a_type = hd_sim_type_find(s->a);
  t.b_type = hd_sim_type_find(s->b);
  t.bits = hd_sim_type(t.a_type)->bits;
  t.group = t.bits == 32 ? 2 : 4;
  t.columns = s->sparse ? s->k / 2 : s->k;
  make_matrices(&t, &seed);
  make_a(&t);
  make_b(&t);
  make_meta(&t);
  hd_strbuf text = {0};
  harness h;
  write_text(&t, &text);
  harness_start(&h, "k", 128, IMAGE, 1);
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "image", t.image, sizeof t.image, false));
  harness_param(&h, HD_ARG_B, harness_buffer(&h, "lanes", t.lane, sizeof t.lane, false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "out", t.out, sizeof t.out, true));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  int bad = status == HEDDLE_OK ? compare(&t) : 64 * N;
  if (bad) {
    fprintf(stderr, "wgmma%s k%u %s.%s.%s, A in %s, B %s, selector %u: status %d, %d of %d wrong\n",
            s->sparse ? ".sp" : "", s->k, s->d, s->a, s->b, a_in_registers ? "registers" : "memory",
            layout_names[b_layout], selector, status, bad, 64 * N);
    harness_print(&h);
  }
  hd_strbuf_free(&text);
  harness_stop(&h);
  return bad;
}

/* A row of B must fit into the span. Only 16-bit types can be transposed. */
static bool layout_fits(const shape *s, layout b_layout) {
  uint32_t bits = hd_sim_type(hd_sim_type_find(s->a))->bits, row = s->k * bits / 8;
  if (b_layout >= MN_NONE)
    return bits == 16;
  return b_layout == NONE || row <= 16u << b_layout;
}

static void each_shape(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++) {
    uint32_t n_sel = shapes[i].sparse && shapes[i].k < 64 ? 2 : 1;
    for (int l = NONE; l <= MN_SW32; l++)
      for (int regs = 0; regs < 2 && layout_fits(&shapes[i], (layout)l); regs++)
        for (uint32_t sel = 0; sel < n_sel; sel++)
          bad += run_case(&shapes[i], (layout)l, regs, sel);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_shape)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
