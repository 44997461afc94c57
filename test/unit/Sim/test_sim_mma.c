/* Every simulated mma and mma.sp. The fragments are built with the ISA's formulas in logical
 * columns. The result must equal the product of the matrices exactly. */
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

enum { MAX_K = 128, WORDS = 16, SPARSE = 1, PLAIN = 2 };

typedef struct shape {
  const char *kind, *d, *a, *b; /* kind: ".kind::f8f6f4", for example */
  uint32_t k, flags, n_selectors;
  const char *scale; /* type of the block scales, ue8m0; NULL: none */
  uint32_t n_scales; /* along k */
} shape;

static const shape shapes[] = {
    {"", "f32", "f16", "f16", 16, 0, 0, NULL, 0},
    {"", "f16", "f16", "f16", 16, 0, 0, NULL, 0},
    {"", "f32", "bf16", "bf16", 8, 0, 0, NULL, 0},
    {"", "f32", "tf32", "tf32", 8, 0, 0, NULL, 0},
    {"", "f32", "tf32", "tf32", 4, 0, 0, NULL, 0},
    {"", "s32", "s8", "u8", 32, 0, 0, NULL, 0},
    {"", "s32", "u8", "u8", 16, 0, 0, NULL, 0},
    {"", "s32", "s4", "s4", 64, 0, 0, NULL, 0},
    {"", "f32", "e4m3", "e5m2", 32, 0, 0, NULL, 0},
    {"", "f32", "f16", "f16", 32, SPARSE, 2, NULL, 0},
    {"", "f16", "f16", "f16", 32, SPARSE, 2, NULL, 0},
    {"", "f32", "f16", "f16", 16, SPARSE, 4, NULL, 0},
    {"", "f32", "bf16", "bf16", 32, SPARSE, 2, NULL, 0},
    {"", "f32", "bf16", "bf16", 16, SPARSE | PLAIN, 4, NULL, 0},
    {"", "f32", "tf32", "tf32", 16, SPARSE, 2, NULL, 0},
    {"", "f32", "tf32", "tf32", 8, SPARSE, 4, NULL, 0},
    {"", "s32", "s8", "s8", 64, SPARSE, 1, NULL, 0},
    {"", "s32", "u8", "s8", 64, SPARSE, 1, NULL, 0},
    {"", "s32", "s8", "s8", 32, SPARSE, 2, NULL, 0},
    {"", "s32", "s4", "u4", 128, SPARSE, 1, NULL, 0},
    {"", "s32", "u4", "u4", 64, SPARSE, 2, NULL, 0},
    {"", "f32", "e4m3", "e4m3", 64, SPARSE, 1, NULL, 0},
    {"", "f32", "e5m2", "e4m3", 64, SPARSE, 1, NULL, 0},
    {".kind::f8f6f4", "f32", "e3m2", "e2m3", 64, SPARSE, 1, NULL, 0},
    {".kind::f8f6f4", "f16", "e2m1", "e4m3", 64, SPARSE, 1, NULL, 0},
    {".kind::f8f6f4", "f32", "e2m1", "e5m2", 32, 0, 0, NULL, 0},
    {".kind::mxf8f6f4.block_scale.scale_vec::1X", "f32", "e4m3", "e3m2", 64, SPARSE, 1, "ue8m0", 1},
    {".kind::mxf8f6f4.block_scale.scale_vec::1X", "f32", "e5m2", "e2m1", 32, 0, 0, "ue8m0", 1},
    {".kind::mxf4.block_scale.scale_vec::2X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0", 2},
    {".kind::mxf4.block_scale.scale_vec::2X", "f32", "e2m1", "e2m1", 64, 0, 0, "ue8m0", 2},
    {".kind::mxf8f6f4.block_scale", "f32", "e2m3", "e2m1", 64, SPARSE, 1, "ue8m0", 1},
    {".kind::mxf4.block_scale", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0", 2},
    {".kind::mxf4nvf4.block_scale.scale_vec::2X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0",
     2},
    {".kind::mxf4nvf4.block_scale.scale_vec::4X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0",
     4},
    {".kind::mxf4nvf4.block_scale.scale_vec::4X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue4m3",
     4},
};

typedef struct test_case {
  const shape *s;
  uint32_t bits, per_reg, group, selector, n_a, n_b, n_d;
  uint8_t a_type, b_type;
  int a[16][MAX_K], b[MAX_K][8];
  uint32_t kept[16][MAX_K / 2]; /* positions in the row */
  double scale_a[16][4], scale_b[8][4];
  uint32_t byte_a, thread_a, byte_b, thread_b;
  uint32_t in[32][WORDS];
  uint32_t out[32][4];
} test_case;

static uint32_t container(uint8_t type, uint32_t bits, int value) {
  const sim_type_info *t = hd_sim_type(type);
  if (t->cls != 'f')
    return (uint32_t)value & (bits == 32 ? ~0u : (1u << bits) - 1);
  uint32_t code = (uint32_t)hd_sim_encode_bits(type, value, SIM_RN, false);
  return type == SIM_T_E2M1 && bits == 8 ? code << 2 : code;
}

static int small(uint64_t *state, uint8_t type) {
  int v = (int)(next_random(state) % 7) - 3;
  return hd_sim_type(type)->cls == 'u' ? abs(v) : v;
}

static void make_matrices(test_case *t, uint64_t *state) {
  static const uint32_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  uint32_t unit = t->group == 8 ? 2 : 1;
  for (int i = 0; i < 16; i++) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < t->s->k / t->group; g++) {
      const uint32_t *pair = pairs[next_random(state) % 6];
      if (!(t->s->flags & SPARSE))
        for (uint32_t e = 0; e < t->group; e++)
          t->a[i][g * t->group + e] = small(state, t->a_type);
      else if (t->group == 2)
        t->kept[i][n++] = g * 2 + next_random(state) % 2;
      else
        for (uint32_t p = 0; p < 2; p++)
          for (uint32_t e = 0; e < unit; e++)
            t->kept[i][n++] = g * t->group + unit * pair[p] + e;
    }
    for (uint32_t e = 0; e < n; e++)
      t->a[i][t->kept[i][e]] = small(state, t->a_type);
  }
  for (uint32_t k = 0; k < t->s->k; k++)
    for (int j = 0; j < 8; j++)
      t->b[k][j] = small(state, t->b_type);
}

/* The nibble of a group: two 2-bit positions, or 4 or e for one of two. */
static uint32_t nibble(const test_case *t, uint32_t row, uint32_t group) {
  const uint32_t *kept = &t->kept[row][group * t->group / 2];
  uint32_t unit = t->group == 8 ? 2 : 1;
  if (t->group == 2)
    return kept[0] % 2 ? 0xe : 0x4;
  return kept[0] % t->group / unit | kept[unit] % t->group / unit << 2;
}

static void set_bits(uint32_t *word, uint32_t at, uint32_t value) { *word |= value << at; }

/* ISA: row = g or g + 8, by register; col = lane-in-group * elements of a register, times 2 if
 * compressed. The second half of the registers is half a row further. */
static void make_a(test_case *t) {
  bool sparse = t->s->flags & SPARSE;
  for (uint32_t l = 0; l < 32; l++) {
    for (uint32_t i = 0; i < t->n_a * t->per_reg; i++) {
      uint32_t reg = i / t->per_reg, row = l / 4 + (reg % 2 ? 8 : 0);
      uint32_t first = l % 4 * t->per_reg * (sparse ? 2 : 1) + (reg >= 2 ? t->s->k / 2 : 0);
      uint32_t col = sparse ? t->kept[row][first / 2 + i % t->per_reg] : first + i % t->per_reg;
      set_bits(&t->in[l][reg], i % t->per_reg * t->bits,
               container(t->a_type, t->bits, t->a[row][col]));
    }
  }
}

static void make_b(test_case *t) {
  for (uint32_t l = 0; l < 32; l++) {
    for (uint32_t i = 0; i < t->n_b * t->per_reg; i++) {
      uint32_t reg = i / t->per_reg;
      uint32_t k = l % 4 * t->per_reg + i % t->per_reg + reg * 4 * t->per_reg;
      set_bits(&t->in[l][4 + reg], i % t->per_reg * t->bits,
               container(t->b_type, t->bits, t->b[k][l / 4]));
    }
  }
}

/* 16-bit types and tf32: threads 2 sel + h (or thread sel) hold rows g and g + 8 of 4 groups. Other
 * types: the low bit of the thread selects row g + 8, the high bit the second half of the row. */
static void make_meta(test_case *t) {
  uint32_t n_groups = t->s->k / t->group, sel = t->selector;
  for (uint32_t row = 0; row < 16 && (t->s->flags & SPARSE); row++) {
    for (uint32_t g = 0; g < n_groups; g++) {
      uint32_t lane = row % 8 * 4, bit;
      if (t->bits >= 16) {
        lane += n_groups == 8 ? 2 * sel + g / 4 : sel;
        bit = g % 4 * 4 + (row >= 8 ? 16 : 0);
      } else {
        lane += (row >= 8) + (n_groups == 16 ? 2 * (g / 8) : 2 * sel);
        bit = g % 8 * 4;
      }
      set_bits(&t->in[lane][8], bit, nibble(t, row, g));
    }
  }
}

static double scale_code(uint64_t *state, const char *type, uint32_t *code) {
  uint8_t elem = hd_sim_type_find(type);
  *code = elem == SIM_T_UE8M0 ? 126 + next_random(state) % 4 : 0x30 + 8 * (next_random(state) % 3);
  return hd_sim_decode_bits(elem, *code);
}

/* A's scales: rows g and g + 8 are in the two lanes of the pair that thread-id selects. B's scales:
 * column g is in lane thread-id of four. The blocks ascend from the byte that byte-id selects. */
static void make_scales(test_case *t, uint64_t *state) {
  uint32_t n = t->s->n_scales, code;
  if (!n)
    return;
  t->byte_a = n == 1 ? next_random(state) % 4 : n == 2 ? 2 * (next_random(state) % 2) : 0;
  t->byte_b = n == 1 ? next_random(state) % 4 : n == 2 ? 2 * (next_random(state) % 2) : 0;
  t->thread_a = next_random(state) % 2;
  t->thread_b = next_random(state) % 4;
  for (uint32_t j = 0; j < n; j++) {
    for (uint32_t i = 0; i < 16; i++) {
      t->scale_a[i][j] = scale_code(state, t->s->scale, &code);
      set_bits(&t->in[i % 8 * 4 + 2 * t->thread_a + i / 8][9], 8 * (t->byte_a + j), code);
    }
    for (uint32_t i = 0; i < 8; i++) {
      t->scale_b[i][j] = scale_code(state, t->s->scale, &code);
      set_bits(&t->in[4 * i + t->thread_b][10], 8 * (t->byte_b + j), code);
    }
  }
}

static void add_list(hd_strbuf *out, const char *prefix, uint32_t n) {
  hd_strbuf_add(out, "{");
  for (uint32_t i = 0; i < n; i++)
    hd_strbuf_printf(out, "%s%s%u", i ? ", " : "", prefix, i);
  hd_strbuf_add(out, "}, ");
}

static void write_text(const test_case *t, hd_strbuf *out) {
  const shape *s = t->s;
  bool f32 = strcmp(s->d, "f32") == 0;
  hd_strbuf_printf(out,
                   ".version 8.7\n.target %s\n.address_size 64\n"
                   ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{ .reg .b32 %%r<4>, %%a<4>, "
                   "%%b<4>, %%m, %%x, %%y; .reg .%s %%d<4>; .reg .b64 %%rd<4>;\n"
                   "ld.param.u64 %%rd0, [p0]; ld.param.u64 %%rd1, [p1]; mov.u32 %%r0, %%tid.x;\n"
                   "mul.wide.u32 %%rd2, %%r0, 64; add.s64 %%rd0, %%rd0, %%rd2;\n"
                   "mul.wide.u32 %%rd2, %%r0, 16; add.s64 %%rd1, %%rd1, %%rd2;\n"
                   "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%rd0];\n"
                   "ld.global.v4.b32 {%%b0, %%b1, %%b2, %%b3}, [%%rd0+16];\n"
                   "ld.global.b32 %%m, [%%rd0+32]; ld.global.b32 %%x, [%%rd0+36];\n"
                   "ld.global.b32 %%y, [%%rd0+40];\n",
                   s->kind[0] ? "sm_120a" : "sm_90", f32 ? "f32" : "b32");
  for (uint32_t i = 0; i < 4; i++)
    hd_strbuf_printf(out, "mov.%s %%d%u, %s;\n", f32 ? "f32" : "b32", i, f32 ? "0f00000000" : "0");
  const char *sp = !(s->flags & SPARSE) ? "" : s->flags & PLAIN ? ".sp" : ".sp::ordered_metadata";
  hd_strbuf_printf(out, "mma%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s%s%s ", sp, s->k,
                   s->kind, s->d, s->a, s->b, s->d, s->scale ? "." : "", s->scale ? s->scale : "");
  add_list(out, "%d", t->n_d);
  add_list(out, "%a", t->n_a);
  add_list(out, "%b", t->n_b);
  add_list(out, "%d", t->n_d);
  out->text[out->len -= 2] = 0;
  if (s->flags & SPARSE)
    hd_strbuf_printf(out, ", %%m, %u", t->selector);
  if (s->scale)
    hd_strbuf_printf(out, ", %%x, {%u, %u}, %%y, {%u, %u}", t->byte_a, t->thread_a, t->byte_b,
                     t->thread_b);
  hd_strbuf_printf(out, ";\nst.global.v4.%s [%%rd1], {%%d0, %%d1, %%d2, %%d3};\nret;\n}\n",
                   f32 ? "f32" : "b32");
}

static double element_of_d(const test_case *t, uint32_t row, uint32_t col) {
  uint32_t lane = row % 8 * 4 + col / 2, i = (row >= 8 ? 2 : 0) + col % 2;
  if (strcmp(t->s->d, "f16") == 0)
    return hd_sim_decode_bits(SIM_T_F16, t->out[lane][i / 2] >> 16 * (i % 2) & 0xffff);
  return hd_sim_decode_bits(strcmp(t->s->d, "s32") == 0 ? SIM_T_S32 : SIM_T_F32, t->out[lane][i]);
}

static int compare(const test_case *t) {
  int bad = 0;
  for (uint32_t i = 0; i < 16; i++) {
    for (uint32_t j = 0; j < 8; j++) {
      double sum = 0;
      for (uint32_t k = 0; k < t->s->k; k++) {
        uint32_t block = k * t->s->n_scales / t->s->k;
        double scale = t->s->n_scales ? t->scale_a[i][block] * t->scale_b[j][block] : 1;
        sum += t->a[i][k] * t->b[k][j] * scale;
      }
      bad += element_of_d(t, i, j) != sum;
    }
  }
  return bad;
}

static heddle_status run_text(const test_case *t, harness *h) {
  hd_strbuf text = {0};
  write_text(t, &text);
  harness_start(h, "k", 32, 0, 1);
  harness_param(h, HD_ARG_A, harness_buffer(h, "in", (void *)t->in, sizeof t->in, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "out", (void *)t->out, sizeof t->out, true));
  heddle_status status = harness_run_text(h, text.text, text.len);
  hd_strbuf_free(&text);
  return status;
}

static test_case *make_case(const shape *s, uint32_t selector, uint64_t seed) {
  static test_case t;
  memset(&t, 0, sizeof t);
  t.s = s;
  t.selector = selector;
  t.a_type = hd_sim_type_find(s->a);
  t.b_type = hd_sim_type_find(s->b);
  t.bits = strstr(s->kind, "mxf4") ? 4 : hd_sim_type(t.a_type)->bits;
  t.per_reg = 32 / t.bits;
  t.group = t.bits == 32 ? 2 : t.bits == 4 ? 8 : 4;
  t.n_a = s->k * t.bits * 16 / (s->flags & SPARSE ? 2 : 1) / 1024;
  t.n_b = s->k * t.bits * 8 / 1024;
  t.n_d = strcmp(s->d, "f16") == 0 ? 2 : 4;
  make_matrices(&t, &seed);
  make_a(&t);
  make_b(&t);
  make_meta(&t);
  make_scales(&t, &seed);
  return &t;
}

static int run_case(const shape *s, uint32_t selector, uint64_t seed) {
  test_case *t = make_case(s, selector, seed);
  harness h;
  heddle_status status = run_text(t, &h);
  int bad = status == HEDDLE_OK ? compare(t) : 128;
  if (bad) {
    fprintf(stderr, "mma m16n8k%u %s %s.%s.%s flags %u selector %u: status %d, %d of 128 wrong\n",
            s->k, s->kind, s->d, s->a, s->b, s->flags, selector, status, bad);
    harness_print(&h);
  }
  harness_stop(&h);
  return bad;
}

static void each_shape(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++)
    for (uint32_t sel = 0; sel < (shapes[i].n_selectors ? shapes[i].n_selectors : 1); sel++)
      for (uint64_t seed = 1; seed <= 3; seed++)
        bad += run_case(&shapes[i], sel, seed);
  assert_int_equal(bad, 0);
}

/* byte-id and thread-id outside the ISA's table of scale vectors. */
static void bad_scale_selectors_are_found(void **state) {
  (void)state;
  unsigned n_found = 0, n_bad = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++)
    for (uint32_t id = 0; id < 32 && shapes[i].n_scales; id++) {
      test_case *t = make_case(&shapes[i], 0, 1);
      t->byte_a = t->byte_b = id % 4;
      t->thread_a = id % 8 / 4;
      t->thread_b = id / 4;
      bool bad = id % 4 % shapes[i].n_scales || t->thread_b > 3;
      harness h;
      run_text(t, &h);
      n_bad += bad;
      n_found += harness_found(&h, "scales");
      assert_int_equal(harness_found(&h, "scales"), bad);
      harness_stop(&h);
    }
  assert_true(n_bad > 50 && n_found == n_bad);
}

/* Scale vectors and scale types that no kind supports. */
static void bad_scale_types_are_refused(void **state) {
  (void)state;
  static const shape bad[] = {
      {".kind::mxf8f6f4.block_scale.scale_vec::2X", "f32", "e4m3", "e3m2", 64, SPARSE, 1, "ue8m0",
       2},
      {".kind::mxf8f6f4.block_scale", "f32", "e4m3", "e3m2", 64, SPARSE, 1, "ue4m3", 1},
      {".kind::mxf4.block_scale.scale_vec::4X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0", 4},
      {".kind::mxf4nvf4.block_scale", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue8m0", 2},
      {".kind::mxf4nvf4.block_scale.scale_vec::2X", "f32", "e2m1", "e2m1", 128, SPARSE, 1, "ue4m3",
       2}};
  for (size_t i = 0; i < HD_COUNT(bad); i++) {
    harness h;
    assert_int_equal(run_text(make_case(&bad[i], 0, 1), &h), HEDDLE_UNSUPPORTED);
    harness_stop(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_shape),
                                     cmocka_unit_test(bad_scale_selectors_are_found),
                                     cmocka_unit_test(bad_scale_types_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
