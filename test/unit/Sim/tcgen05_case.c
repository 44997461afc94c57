#include "tcgen05_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static double small(uint64_t *state, uint8_t type) {
  int v = (int)(next_random(state) % 7) - 3;
  return hd_sim_type(type)->cls == 'u' ? abs(v) : v;
}

static uint64_t code(uint8_t type, double value) {
  if (hd_sim_type(type)->cls != 'f')
    return (uint64_t)(int64_t)value & 0xff;
  return hd_sim_encode_bits(type, value, SIM_RN, false);
}

static uint32_t width_of(uint8_t type) {
  return type == SIM_T_E2M1                         ? 4
         : type == SIM_T_E3M2 || type == SIM_T_E2M3 ? 6
                                                    : hd_sim_type(type)->bits;
}

static void put_bits(uint8_t *at, uint32_t bit, uint32_t width, uint64_t value) {
  for (uint32_t i = 0; i < width; i++)
    at[(bit + i) / 8] = (uint8_t)(at[(bit + i) / 8] | (value >> i & 1) << (bit + i) % 8);
}

static void choose_places(tc_run *t, uint32_t row, uint64_t *state) {
  static const uint32_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (uint32_t g = 0; g < t->k / t->block; g++) {
    const uint32_t *pair = pairs[next_random(state) % 6];
    uint32_t *place = &t->place[row][g * t->kept], first = g * t->block;
    if (t->block == 2) {
      place[0] = first + next_random(state) % 2;
      continue;
    }
    for (uint32_t e = 0; e < t->kept; e++)
      place[e] = first + (t->block == 4 ? pair[e] : 2 * pair[e / 2] + e % 2);
  }
}

static uint32_t stored_columns(const tc_run *t) { return t->c.sparse ? t->k / 2 : t->k; }

static void make_values(tc_run *t, uint64_t *state) {
  static const double quarters[4] = {0.5, 1, 1.5, 2};
  for (uint32_t i = 0; i < t->c.m; i++) {
    for (uint32_t k = 0; k < t->k / 2; k++)
      t->place[i][k] = k;
    if (t->c.sparse)
      choose_places(t, i, state);
    for (uint32_t c = 0; c < stored_columns(t); c++)
      t->a[i][t->c.sparse ? t->place[i][c] : c] = small(state, t->a_type);
    for (uint32_t j = 0; j < t->c.n; j++)
      t->d[i][j] = (uint32_t)code(t->d_type == SIM_T_S32 ? SIM_T_F32 : t->d_type,
                                  (double)(next_random(state) % 64));
    for (uint32_t j = 0; j < t->c.n && t->d_type == SIM_T_S32; j++)
      t->d[i][j] = next_random(state) % 64;
  }
  for (uint32_t k = 0; k < t->k; k++)
    for (uint32_t j = 0; j < t->c.n; j++)
      t->b[k][j] = small(state, t->b_type);
  for (uint32_t j = 0; j < 4; j++) {
    bool power = t->scale_type == SIM_T_UE8M0;
    for (uint32_t i = 0; i < t->c.m; i++)
      t->scale_a[i][j] = power ? ldexp(1, (int)(next_random(state) % 5) - 2)
                               : quarters[next_random(state) % 4];
    for (uint32_t n = 0; n < t->c.n; n++)
      t->scale_b[n][j] = power ? ldexp(1, (int)(next_random(state) % 5) - 2)
                               : quarters[next_random(state) % 4];
  }
}

/* ---- shared memory ---- */

/* Offset of byte `byte` of row `mn`. Rows have 16, 32, 64 or 128 bytes; their 16-byte chunks are
 * XORed with the row's number. Eight rows are `stride` apart; without swizzle, chunks are `leading`
 * apart. */
static uint32_t k_major_at(tc_layout layout, uint32_t mn, uint32_t byte) {
  uint32_t span = 16u << layout, chunk = byte / 16;
  if (layout == TC_NONE)
    return mn / 8 * 512 + chunk * 128 + mn % 8 * 16 + byte % 16;
  chunk ^= mn % 8 * span / 128 & (span / 16 - 1);
  return mn / 8 * 8 * span + mn % 8 * span + chunk * 16 + byte % 16;
}

static uint32_t mn_major_at(tc_layout layout, uint32_t mn, uint32_t k, uint32_t bytes) {
  if (layout == TC_MN_NONE)
    return mn * bytes / 16 * 1024 + k / 8 * 128 + k % 8 * 16 + mn * bytes % 16;
  if (layout == TC_MN_WIDE) {
    uint32_t chunk = mn % 32 / 8 ^ k % 4;
    return mn / 32 * 2048 + k / 4 * 512 + k % 4 * 128 + chunk * 32 + mn % 8 * 4;
  }
  uint32_t span = 32u << (layout - TC_MN_SW32), wide = span / bytes;
  uint32_t chunk = mn % wide * bytes / 16 ^ (k % 8 * span / 128 & (span / 16 - 1));
  return mn / wide * 64 * span + k / 8 * 8 * span + k % 8 * span + chunk * 16 + mn * bytes % 16;
}

/* The constant half of a descriptor. */
static uint64_t fields_of(tc_layout layout) {
  static const struct {
    uint64_t leading, stride, mode;
  } f[] = {{128, 512, 0},   {16, 256, 6},    {16, 512, 4},   {16, 1024, 2}, {128, 1024, 0},
           {2048, 256, 6}, {4096, 512, 4}, {8192, 1024, 2}, {2048, 512, 1}};
  return f[layout].leading >> 4 << 16 | f[layout].stride >> 4 << 32 | 1ull << 46 |
         f[layout].mode << 61;
}

/* Stores element e of row mn. 16 values of a 4- or 6-bit type are packed at the beginning of 16
 * bytes. */
static void put_shared(const tc_run *t, uint8_t *base, tc_layout layout, uint8_t type, uint32_t mn,
                       uint32_t e, double value) {
  uint32_t width = width_of(type), per = 128 / t->chunk_bits;
  uint32_t at = layout >= TC_MN_NONE ? mn_major_at(layout, mn, e, width / 8)
                                     : k_major_at(layout, mn, e / per * 16);
  put_bits(base + at, layout >= TC_MN_NONE ? 0 : e % per * width, width, code(type, value));
}

static void place_shared(tc_run *t) {
  for (uint32_t i = 0; i < t->c.m; i++)
    for (uint32_t e = 0; e < stored_columns(t); e++)
      put_shared(t, t->image[i / t->rows], t->c.a_layout, t->a_type, i % t->rows, e,
                 t->a[i][t->c.sparse ? t->place[i][e] : e]);
  uint32_t each = t->c.n / t->c.group;
  for (uint32_t n = 0; n < t->c.n; n++)
    for (uint32_t k = 0; k < t->k; k++)
      put_shared(t, t->image[n / each] + TC_B_AT, t->c.b_layout, t->b_type, n % each, k,
                 t->b[k][n]);
}

/* ---- tensor memory ---- */

static bool is_half(const tc_run *t) {
  return t->rows == 64 && (t->c.group == 1 || t->c.sparse);
}
static bool is_split(const tc_run *t) { return t->rows == 64 && !is_half(t); }

static uint32_t lane_of(const tc_run *t, uint32_t row) {
  return (is_half(t) ? row % 16 + row / 16 * 32 : row) + (t->c.shift_lanes ? 16 : 0);
}

static uint32_t *cell_of_d(const tc_run *t, uint32_t (*tensor)[128][TC_COLUMNS], uint32_t row,
                           uint32_t n) {
  uint32_t half = t->c.n / 2, cta = row / t->rows, r = row % t->rows;
  return is_split(t) ? &tensor[cta][r + 64 * (n / half)][n % half] : &tensor[cta][lane_of(t, r)][n];
}

static void place_a(tc_run *t) {
  uint32_t width = width_of(t->a_type), shift = t->bits != 8 || width == 8 ? 0 : width == 4 ? 2 : 1;
  for (uint32_t i = 0; i < t->c.m; i++) {
    for (uint32_t e = 0; e < stored_columns(t); e++) {
      uint64_t bits = code(t->a_type, t->a[i][t->c.sparse ? t->place[i][e] : e]) << shift;
      uint32_t lane = lane_of(t, i % t->rows), cta = i / t->rows;
      put_bits((uint8_t *)&t->tensor[cta][lane][TC_AT_A], e * t->bits, t->bits, bits);
      if (is_split(t))
        put_bits((uint8_t *)&t->tensor[cta][lane + 64][TC_AT_A], e * t->bits, t->bits, bits);
    }
  }
}

static uint32_t nibble_of(const tc_run *t, const uint32_t *place) {
  if (t->block == 2)
    return place[0] % 2 ? 0xe : 0x4;
  return t->block == 4 ? place[0] % 4 | place[1] % 4 << 2
                       : place[0] % 8 / 2 | place[2] % 8 / 2 << 2;
}

/* 16-bit types and tf32: a lane has the nibbles of its row for one half of k, and above them those
 * of the row 8 below. Of 16 lanes, 0-7 have the first half and 8-15 the second. Narrower types: 64
 * bits, one row per lane. */
static void place_meta(tc_run *t) {
  for (uint32_t i = 0; i < t->c.m; i++) {
    for (uint32_t g = 0; g < t->k / t->block; g++) {
      uint32_t nibble = nibble_of(t, &t->place[i][g * t->kept]), r = i % t->rows;
      uint32_t lane = t->bits < 16 ? r : r - r % 16 + r % 8 + (g >= 4 ? 8 : 0);
      uint32_t bit = t->bits < 16 ? 4 * g : 32 * t->c.selector + (r % 16 >= 8 ? 16 : 0) + g % 4 * 4;
      put_bits((uint8_t *)&t->tensor[i / t->rows][lane_of(t, lane)][TC_AT_META], bit, 4, nibble);
    }
  }
}

static void place_scales(tc_run *t) {
  uint32_t span = is_split(t) ? t->c.n / 2 : t->c.n;
  for (uint32_t j = 0; j < t->c.kind->n_scales; j++) {
    for (uint32_t i = 0; i < t->c.m; i++)
      for (uint32_t warp = 0; warp < 4; warp++)
        put_bits((uint8_t *)&t->tensor[i / t->rows][warp * 32 + i % 32]
                                      [TC_AT_SCALE_A + i % t->rows / 32],
                 8 * (t->c.scale_a_id + j), 8, code(t->scale_type, t->scale_a[i][j]));
    for (uint32_t n = 0; n < t->c.n; n++)
      for (uint32_t warp = 0; warp < 4; warp++)
        for (uint32_t cta = 0; cta < t->c.group; cta++)
          if (!is_split(t) || warp / 2 == n / span)
            put_bits((uint8_t *)&t->tensor[cta][warp * 32 + n % span % 32]
                                          [TC_AT_SCALE_B + n % span / 32],
                     8 * (t->c.scale_b_id + j), 8, code(t->scale_type, t->scale_b[n][j]));
  }
}

void tc_make(tc_run *t, const tc_case *c, uint64_t seed) {
  memset(t, 0, sizeof *t);
  t->c = *c;
  t->a_type = hd_sim_type_find(c->kind->a);
  t->b_type = hd_sim_type_find(c->kind->b);
  t->d_type = hd_sim_type_find(c->kind->d);
  t->scale_type = c->kind->scale ? hd_sim_type_find(c->kind->scale) : SIM_T_NONE;
  bool packed = strncmp(c->kind->kind, "mxf4", 4) == 0;
  t->bits = t->chunk_bits = packed ? 4 : hd_sim_type(t->a_type)->bits;
  t->k = 256 / t->bits * (c->sparse ? 2 : 1);
  t->block = t->bits == 32 ? 2 : t->bits == 4 ? 8 : 4;
  t->kept = t->block / 2;
  t->rows = c->m / c->group;
  make_values(t, &seed);
  place_shared(t);
  if (c->a_in_tensor)
    place_a(t);
  if (c->sparse)
    place_meta(t);
  if (c->kind->n_scales)
    place_scales(t);
  for (uint32_t i = 0; i < c->m; i++)
    for (uint32_t n = 0; n < c->n; n++)
      *cell_of_d(t, t->tensor, i, n) = t->d[i][n];
}

/* ---- the kernel ---- */

static uint32_t idesc_of(const tc_run *t) {
  const tc_kind *k = t->c.kind;
  uint32_t bits = k->code_a << 7 | k->code_b << 10 | (uint32_t)t->c.sparse << 2 |
                  (uint32_t)t->c.negate_a << 13 | (uint32_t)(t->c.a_layout >= TC_MN_NONE) << 15 |
                  (uint32_t)(t->c.b_layout >= TC_MN_NONE) << 16 | t->c.n >> 3 << 17;
  if (!k->n_scales)
    return bits | t->c.selector | k->code_d << 4 | t->c.m >> 4 << 24;
  return bits | t->c.scale_b_id << 4 | (uint32_t)(t->scale_type == SIM_T_UE8M0) << 23 |
         t->c.m >> 7 << 27 | t->c.scale_a_id << 29;
}

static void list_registers(hd_strbuf *out) {
  hd_strbuf_add(out, "{");
  for (int i = 0; i < TC_COLUMNS; i++)
    hd_strbuf_printf(out, "%s%%d%d", i ? ", " : "", i);
  hd_strbuf_add(out, "}");
}

static void write_start(const tc_run *t, hd_strbuf *out) {
  bool pair = t->c.group == 2;
  hd_strbuf_printf(
      out,
      ".version 8.7\n.target sm_100a\n.address_size 64\n"
      ".extern .shared .align 1024 .b8 smem[];\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)%s\n"
      "{ .reg .pred %%p<4>; .reg .b32 %%r<32>; .reg .b32 %%d<%d>; .reg .b64 %%rd<16>;\n"
      ".reg .b16 %%rs<2>;\n"
      "ld.param.u64 %%rd0, [p0]; ld.param.u64 %%rd1, [p1]; ld.param.u64 %%rd2, [p2];\n"
      "mov.u32 %%r0, %%tid.x; mov.u32 %%r1, smem; mov.u32 %%r2, %%ctaid.x;\n"
      "mul.wide.u32 %%rd3, %%r2, %d; add.s64 %%rd3, %%rd3, %%rd0;\n"
      "mul.wide.u32 %%rd4, %%r0, 16; add.s64 %%rd3, %%rd3, %%rd4;\n"
      "shl.b32 %%r3, %%r0, 4; add.s32 %%r3, %%r3, %%r1; mov.b32 %%r4, 0;\n"
      "C: ld.global.v4.b32 {%%r5, %%r6, %%r7, %%r8}, [%%rd3];\n"
      "st.shared.v4.b32 [%%r3], {%%r5, %%r6, %%r7, %%r8};\n"
      "add.s64 %%rd3, %%rd3, 2048; add.s32 %%r3, %%r3, 2048; add.s32 %%r4, %%r4, 1;\n"
      "setp.lt.u32 %%p0, %%r4, %d; @%%p0 bra C;\n"
      "add.s32 %%r9, %%r1, %d;\n" /* mbarrier; 8 bytes after it, the address of the allocation */
      "shr.u32 %%r10, %%r0, 5; setp.ne.u32 %%p1, %%r10, 0; @%%p1 bra A;\n"
      "add.s32 %%r11, %%r9, 8;\n"
      "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%r11], %d;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned;\n"
      "setp.ne.u32 %%p0, %%r0, 0; @%%p0 bra A;\n"
      "mbarrier.init.shared::cta.b64 [%%r9], 1; fence.mbarrier_init.release.cluster;\n"
      "A: fence.proxy.async; bar.sync 0;\n"
      "ld.shared.b32 %%r12, [%%r9+8];\n"
      "mul.wide.u32 %%rd5, %%r2, 65536; mul.wide.u32 %%rd6, %%r0, 512;\n"
      "add.s64 %%rd5, %%rd5, %%rd6; add.s64 %%rd7, %%rd5, %%rd1; add.s64 %%rd8, %%rd5, %%rd2;\n",
      pair ? " .reqnctapercluster 2" : "", TC_COLUMNS, TC_IMAGE, TC_IMAGE / 2048, TC_IMAGE,
      t->c.group, TC_COLUMNS, t->c.group);
  for (int i = 0; i < TC_COLUMNS; i += 4)
    hd_strbuf_printf(out, "ld.global.v4.b32 {%%d%d, %%d%d, %%d%d, %%d%d}, [%%rd7+%d];\n", i, i + 1,
                     i + 2, i + 3, 4 * i);
  hd_strbuf_add(out, "shl.b32 %r13, %r10, 21; add.s32 %r13, %r13, %r12;\n"
                     "tcgen05.st.sync.aligned.32x32b.x128.b32 [%r13], ");
  list_registers(out);
  hd_strbuf_add(out, ";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;\n");
  hd_strbuf_add(out, "tcgen05.fence::before_thread_sync;\n");
  hd_strbuf_add(out, pair ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
                          : "bar.sync 0;\n");
  hd_strbuf_add(out, "tcgen05.fence::after_thread_sync;\n");
}

static void write_mma(const tc_run *t, hd_strbuf *out) {
  const tc_kind *k = t->c.kind;
  uint32_t lane = t->c.shift_lanes ? 16u << 16 : 0;
  hd_strbuf_printf(
      out,
      "or.b32 %%r14, %%r0, %%r2; setp.ne.u32 %%p0, %%r14, 0; @%%p0 bra W;\n"
      "shr.u32 %%r15, %%r1, 4; and.b32 %%r15, %%r15, 16383; cvt.u64.u32 %%rd9, %%r15;\n"
      "or.b64 %%rd10, %%rd9, 0x%llx; add.s64 %%rd11, %%rd9, %d; or.b64 %%rd11, %%rd11, 0x%llx;\n"
      "add.s32 %%r16, %%r12, %u; mov.b32 %%r17, 0x%x; setp.ne.u32 %%p2, %%r14, %d;\n"
      "mov.b32 %%r18, 0x%x; mov.b32 %%r19, 0;\n"
      "tcgen05.mma%s.cta_group::%u.kind::%s",
      (unsigned long long)fields_of(t->c.a_layout), TC_B_AT / 16,
      (unsigned long long)fields_of(t->c.b_layout), lane, idesc_of(t), t->c.accumulate ? 1 : 0,
      t->c.disabled, t->c.sparse ? ".sp" : "", t->c.group, k->kind);
  if (k->n_scales)
    hd_strbuf_printf(out, ".block_scale.scale_vec::%uX", k->n_scales);
  if (t->c.a_in_tensor)
    hd_strbuf_printf(out, " [%%r16], [%%r16+%d], %%rd11, ", TC_AT_A);
  else
    hd_strbuf_add(out, " [%r16], %rd10, %rd11, ");
  if (t->c.sparse)
    hd_strbuf_printf(out, "[%%r16+%d], ", TC_AT_META);
  hd_strbuf_add(out, "%r17, ");
  if (k->n_scales)
    hd_strbuf_printf(out, "[%%r12+%d], [%%r12+%d], ", TC_AT_SCALE_A, TC_AT_SCALE_B);
  else if (t->c.disabled)
    hd_strbuf_add(out, t->c.group == 1 ? "{%r18, %r19, %r19, %r19}, "
                                       : "{%r18, %r19, %r19, %r19, %r19, %r19, %r19, %r19}, ");
  hd_strbuf_add(out, "%p2");
  if (t->c.scale_d)
    hd_strbuf_printf(out, ", %u", t->c.scale_d);
  hd_strbuf_add(out, ";\n");
}

void tc_write_text(const tc_run *t, hd_strbuf *out) {
  bool pair = t->c.group == 2;
  write_start(t, out);
  write_mma(t, out);
  if (pair)
    hd_strbuf_add(out, "mov.b16 %rs0, 3;\n"
                       "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                       ".multicast::cluster.b64 [%r9], %rs0;\n");
  else
    hd_strbuf_add(out, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
                       "[%r9];\n");
  hd_strbuf_add(out, "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0; @!%p3 bra W;\n"
                     "tcgen05.fence::after_thread_sync;\n"
                     "tcgen05.ld.sync.aligned.32x32b.x128.b32 ");
  list_registers(out);
  hd_strbuf_add(out, ", [%r13];\ntcgen05.wait::ld.sync.aligned;\n");
  for (int i = 0; i < TC_COLUMNS; i += 4)
    hd_strbuf_printf(out, "st.global.v4.b32 [%%rd8+%d], {%%d%d, %%d%d, %%d%d, %%d%d};\n", 4 * i, i,
                     i + 1, i + 2, i + 3);
  hd_strbuf_add(out, "tcgen05.fence::before_thread_sync;\n");
  hd_strbuf_add(out, pair ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
                          : "bar.sync 0;\n");
  hd_strbuf_printf(out, "@%%p1 bra E;\n"
                        "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%r12, %d;\nE: ret;\n}\n",
                   t->c.group, TC_COLUMNS);
}

/* ---- the product ---- */

static double expected(const tc_run *t, uint32_t i, uint32_t n) {
  uint32_t n_scales = t->c.kind->n_scales;
  double sum = 0;
  for (uint32_t k = 0; k < t->k; k++) {
    double a = t->c.negate_a ? -t->a[i][k] : t->a[i][k], scale = 1;
    if (n_scales)
      scale = t->scale_a[i][k * n_scales / t->k] * t->scale_b[n][k * n_scales / t->k];
    sum += a * t->b[k][n] * scale;
  }
  if (t->c.accumulate)
    sum += ldexp(hd_sim_decode_bits(t->d_type, t->d[i][n]), -(int)t->c.scale_d);
  return sum;
}

int tc_compare(const tc_run *t) {
  int bad = 0;
  for (uint32_t i = 0; i < t->c.m; i++) {
    for (uint32_t n = 0; n < t->c.n; n++) {
      uint32_t got = *cell_of_d(t, (uint32_t (*)[128][TC_COLUMNS])t->out, i, n);
      bool kept = lane_of(t, i) < 32 && i < t->rows && (t->c.disabled >> lane_of(t, i) & 1);
      double want = kept ? hd_sim_decode_bits(t->d_type, t->d[i][n]) : expected(t, i, n);
      bad += hd_sim_decode_bits(t->d_type, got) != want;
    }
  }
  return bad;
}
