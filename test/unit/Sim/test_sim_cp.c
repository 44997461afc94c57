/* tcgen05.cp: every shape, multicast, decompression and swizzle, read back by lane. Also a pair of
 * CTAs: allocation, copy and commit for both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "Support/strbuf.h"
#include "sim_harness.h"

enum { IMAGE = 16384, COLUMNS = 32, AT = 8 };

/* first: lane 32 w + l gets source row first[w] + l; if first is -1, the lane gets none. */
typedef struct shape {
  const char *name;
  uint32_t bytes;
  int first[4];
  bool four; /* 4x256b: row w goes to one of warp w's 32 lanes */
} shape;

static const shape shapes[] = {{"128x256b", 32, {0, 32, 64, 96}, false},
                               {"4x256b", 32, {0, 1, 2, 3}, true},
                               {"128x128b", 16, {0, 32, 64, 96}, false},
                               {"64x128b.warpx2::02_13", 16, {0, 32, 0, 32}, false},
                               {"64x128b.warpx2::01_23", 16, {0, 0, 32, 32}, false},
                               {"32x128b.warpx4", 16, {0, 0, 0, 0}, false}};
static const char *const formats[] = {"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"};
static const uint64_t fields[] = {0x0000402000080000, 0xc000401000010000, 0x8000402000010000,
                                  0x4000404000010000}; /* no swizzle; 32, 64, 128 bytes */

static uint8_t image[2][IMAGE];
static uint32_t out[2][128][COLUMNS];

static uint32_t address(unsigned swizzle, uint32_t row, uint32_t byte) {
  uint32_t span = 16u << swizzle, chunk = byte / 16;
  if (swizzle == 0)
    return row / 8 * 512 + chunk * 128 + row % 8 * 16 + byte % 16;
  return row * span + (chunk ^ (row % 8 * span / 128 & (span / 16 - 1))) * 16 + byte % 16;
}

/* The byte that a copy must write for byte i of chunk `source`. */
static uint8_t made(const uint8_t *source, uint32_t i, int format) {
  uint32_t bits = format == 1 ? 6 : 4, value = 0;
  if (format == 0)
    return source[i];
  for (uint32_t b = 0; b < bits; b++)
    value |= (uint32_t)(source[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
  return (uint8_t)(format == 1 ? value << 1 : value << 2);
}

static int mismatches(const shape *s, int format, unsigned swizzle, uint32_t lane_of_four,
                      uint32_t cta) {
  int bad = 0;
  for (uint32_t lane = 0; lane < 128; lane++) {
    for (uint32_t c = 0; c < COLUMNS; c++) {
      bool holds = c >= AT && c < AT + s->bytes / 4 && (!s->four || lane % 32 == lane_of_four);
      uint32_t row = (uint32_t)s->first[lane / 32] + (s->four ? 0 : lane % 32), want = lane;
      for (uint32_t b = 0; b < 4 && holds; b++) {
        uint32_t byte = 4 * (c - AT) + b;
        const uint8_t *chunk = image[cta] + address(swizzle, row, byte / 16 * 16);
        want = (b ? want : 0) | (uint32_t)made(chunk, byte % 16, format) << (8 * b);
      }
      bad += out[cta][lane][c] != want;
    }
  }
  return bad;
}

static void vector(hd_strbuf *text) {
  hd_strbuf_add(text, "{");
  for (int i = 0; i < COLUMNS; i++)
    hd_strbuf_printf(text, "%s%%d%d", i ? ", " : "", i);
  hd_strbuf_add(text, "}");
}

static void write_text(hd_strbuf *text, const shape *s, int format, unsigned swizzle,
                       uint32_t lane_of_four, uint32_t group) {
  const char *sync = group == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
                                : "bar.sync 0;\n";
  hd_strbuf_printf(
      text,
      ".version 8.7\n.target sm_100a\n.address_size 64\n"
      ".extern .shared .align 1024 .b8 smem[];\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1)\n"
      "{ .reg .pred %%p<4>; .reg .b32 %%r<24>; .reg .b32 %%d<%d>; .reg .b64 %%rd<12>; .reg .b16 "
      "%%h;\n"
      "ld.param.u64 %%rd0, [p0]; ld.param.u64 %%rd1, [p1]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, "
      "smem;\n"
      "mov.u32 %%r2, %%ctaid.x; mul.wide.u32 %%rd2, %%r2, %d; add.s64 %%rd2, %%rd2, %%rd0;\n"
      "mul.wide.u32 %%rd3, %%r0, 16; add.s64 %%rd2, %%rd2, %%rd3; shl.b32 %%r3, %%r0, 4;\n"
      "add.s32 %%r3, %%r3, %%r1; mov.b32 %%r4, 0;\n"
      "C: ld.global.v4.b32 {%%r5, %%r6, %%r7, %%r8}, [%%rd2];\n"
      "st.shared.v4.b32 [%%r3], {%%r5, %%r6, %%r7, %%r8};\n"
      "add.s64 %%rd2, %%rd2, 2048; add.s32 %%r3, %%r3, 2048; add.s32 %%r4, %%r4, 1;\n"
      "setp.lt.u32 %%p0, %%r4, 8; @%%p0 bra C;\n"
      "add.s32 %%r9, %%r1, %d; add.s32 %%r10, %%r9, 8; shr.u32 %%r11, %%r0, 5;\n"
      "setp.ne.u32 %%p1, %%r11, 0; @%%p1 bra A;\n"
      "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%r10], %d;\n"
      "setp.ne.u32 %%p0, %%r0, 0; @%%p0 bra A;\n"
      "mbarrier.init.shared::cta.b64 [%%r9], 1; fence.mbarrier_init.release.cluster;\n"
      "A: fence.proxy.async; bar.sync 0; ld.shared.b32 %%r12, [%%r10];\n"
      "shl.b32 %%r13, %%r11, 21; add.s32 %%r13, %%r13, %%r12;\n",
      COLUMNS, IMAGE, IMAGE, group, COLUMNS);
  for (int i = 0; i < COLUMNS; i++)
    hd_strbuf_printf(text, "mov.b32 %%d%d, %%r0;\n", i);
  hd_strbuf_add(text, "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r13], ");
  vector(text);
  hd_strbuf_printf(
      text,
      ";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;\n%s"
      "tcgen05.fence::after_thread_sync;\n"
      "or.b32 %%r14, %%r0, %%r2; setp.ne.u32 %%p0, %%r14, 0; @%%p0 bra W;\n"
      "shr.u32 %%r15, %%r1, 4; and.b32 %%r15, %%r15, 16383; cvt.u64.u32 %%rd4, %%r15;\n"
      "or.b64 %%rd4, %%rd4, 0x%llx; add.s32 %%r16, %%r12, %u;\n"
      "tcgen05.cp.cta_group::%u.%s%s [%%r16], %%rd4;\n",
      sync, (unsigned long long)fields[swizzle], AT + (s->four ? lane_of_four << 16 : 0), group,
      s->name, formats[format]);
  if (group == 2)
    hd_strbuf_add(text, "mov.b16 %h, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one"
                        ".shared::cluster.multicast::cluster.b64 [%r9], %h;\n");
  else
    hd_strbuf_add(text,
                  "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\n");
  hd_strbuf_add(text, "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra W;\n"
                      "tcgen05.fence::after_thread_sync;\n"
                      "tcgen05.ld.sync.aligned.32x32b.x32.b32 ");
  vector(text);
  hd_strbuf_add(text, ", [%r13];\ntcgen05.wait::ld.sync.aligned;\n"
                      "mul.wide.u32 %rd5, %r2, 16384; mul.wide.u32 %rd6, %r0, 128;\n"
                      "add.s64 %rd5, %rd5, %rd6; add.s64 %rd5, %rd5, %rd1;\n");
  for (int i = 0; i < COLUMNS; i++)
    hd_strbuf_printf(text, "st.global.b32 [%%rd5+%d], %%d%d;\n", 4 * i, i);
  hd_strbuf_printf(text, "tcgen05.fence::before_thread_sync; %s@%%p1 bra E;\n"
                         "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%r12, %d;\nE: ret;\n}\n",
                   sync, group, COLUMNS);
}

static int run_copy(const shape *s, int format, unsigned swizzle, uint32_t group) {
  hd_strbuf text = {0};
  harness h;
  uint64_t seed = swizzle + 5;
  uint32_t lane_of_four = s->four ? 31 - swizzle : 0;
  for (uint32_t i = 0; i < 2 * IMAGE; i++)
    image[i / IMAGE][i % IMAGE] = (uint8_t)next_random(&seed);
  write_text(&text, s, format, swizzle, lane_of_four, group);
  harness_start(&h, "k", 128, IMAGE + 16, group);
  h.variant.cluster = (int)group;
  h.options.seed = swizzle;
  h.options.mode = (hd_sim_mode)(swizzle % 3);
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "image", image, sizeof image, false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "out", out, sizeof out, true));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  int bad = status != HEDDLE_OK;
  for (uint32_t cta = 0; cta < group && !bad; cta++)
    bad += mismatches(s, format, swizzle, lane_of_four, cta);
  if (bad) {
    fprintf(stderr, "%s%s, swizzle %u, group %u: status %d, %d wrong\n", s->name, formats[format],
            swizzle, group, status, bad);
    harness_print(&h);
  }
  hd_strbuf_free(&text);
  harness_stop(&h);
  return bad;
}

static void every_copy(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++)
    for (int format = 0; format < 3; format++)
      for (unsigned swizzle = 0; swizzle < 4; swizzle++)
        for (uint32_t group = 1; group <= 2; group++)
          bad += run_copy(&shapes[i], format, swizzle, group);
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_copy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
