/* Grids of two and three dimensions, and reductions of tensor boxes by their CTAs. Instructions
 * that need several devices are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim_harness.h"

#define HEAD(params)                                                                               \
  ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"      \
  ".visible .entry grid(" params ")\n{\n.reg .pred %p<4>; .reg .b32 %r<32>; .reg .b64 %rd<8>;\n"

static heddle_status run(harness *h, const char *text) {
  return harness_run_text(h, text, strlen(text));
}

/* ---- the position of a CTA ---- */

enum { X = 4, Y = 3, Z = 2 };

static const char places[] = HEAD(
    ".param .u64 p0") "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; "
                      "mov.u32 %r2, %ctaid.z;\n"
                      "mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mov.u32 %r5, %nctaid.z;\n"
                      "mad.lo.u32 %r6, %r2, %r4, %r1; mad.lo.u32 %r6, %r6, %r3, %r0;\n"
                      "mul.wide.u32 %rd1, %r6, 4; add.s64 %rd0, %rd0, %rd1;\n"
                      "mov.u32 %r7, %clusterid.x; mov.u32 %r8, %clusterid.y; mov.u32 %r9, "
                      "%clusterid.z;\n"
                      "mov.u32 %r10, %nclusterid.x; shl.b32 %r8, %r8, 4; shl.b32 %r9, %r9, 8; "
                      "shl.b32 %r10, %r10, 12;\n"
                      "shl.b32 %r5, %r5, 16; or.b32 %r7, %r7, %r8; or.b32 %r7, %r7, %r9; or.b32 "
                      "%r7, %r7, %r10;\n"
                      "or.b32 %r7, %r7, %r5; st.global.b32 [%rd0], %r7; ret;\n}\n";

static void each_cta_has_its_place(void **state) {
  (void)state;
  uint32_t d[X * Y * Z];
  harness h;
  memset(d, 0xff, sizeof d);
  harness_start(&h, "grid", 1, 0, X);
  h.variant.cluster = 2;
  h.options = (hd_sim_options){.grid_y = Y, .grid_z = Z, .seed = 3, .mode = HD_SIM_RANDOM};
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", d, sizeof d, true));
  assert_int_equal(run(&h, places), HEDDLE_OK);
  for (uint32_t i = 0; i < X * Y * Z; i++)
    assert_int_equal(d[i], i % X / 2 | i / X % Y << 4 | i / X / Y << 8 | X / 2 << 12 | Z << 16);
  harness_stop(&h);
}

/* ---- the order of CTAs ---- */

static const char tickets[] = HEAD(".param .u64 p0, .param .u64 p1")
    "ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; mov.u32 %r0, %ctaid.x;\n"
    "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd0, %rd0, %rd2;\n"
    "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1; st.global.b32 [%rd0], %r1; ret;\n}\n";

/* Returns how many of eight CTAs arrive in the order of their numbers. */
static int n_in_turn(hd_sim_mode mode, uint64_t seed, bool sequential) {
  uint32_t d[8], count = 0;
  int n = 0;
  harness h;
  harness_start(&h, "grid", 1, 0, HD_COUNT(d));
  h.variant.persistent = true;
  h.options = (hd_sim_options){.mode = mode, .seed = seed, .sequential = sequential};
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", d, sizeof d, true));
  harness_param(&h, HD_ARG_WORKSPACE, harness_buffer(&h, "w", &count, sizeof count, true));
  h.buffer[1].undefined = false;
  assert_int_equal(run(&h, tickets), HEDDLE_OK);
  for (uint32_t i = 0; i < HD_COUNT(d); i++)
    n += d[i] == i;
  harness_stop(&h);
  return n;
}

static void clusters_come_in_turn_where_asked(void **state) {
  (void)state;
  int free_ones = 0;
  for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
      assert_int_equal(n_in_turn((hd_sim_mode)mode, seed, true), 8);
      free_ones += n_in_turn((hd_sim_mode)mode, seed, false) == 8;
    }
  }
  assert_in_range(free_ones, 0, 3);
}

static void a_grid_of_half_clusters_is_refused(void **state) {
  (void)state;
  uint32_t d[X];
  harness h;
  harness_start(&h, "grid", 1, 0, 3);
  h.variant.cluster = 2;
  h.options.grid_y = 2; /* six CTAs, but clusters lie along x */
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", d, sizeof d, true));
  assert_int_equal(run(&h, places), HEDDLE_INVALID);
  harness_stop(&h);
}

/* ---- cp.reduce.async.bulk.tensor ---- */

enum { COLS = 6, ROWS = 3, PITCH = 8, BOX_X = 8, BOX_Y = 4 };

/* Thread i writes element i of the row-major box, at its address with a swizzle of 32 bytes. */
static const char reduction[] =
    HEAD(".param .align 64 .b8 p0[128]") "mov.b64 %rd0, p0; cvta.param.u64 %rd0, %rd0; mov.u32 "
                                         "%r0, %tid.x; mov.u32 %r1, smem;\n"
                                         "shl.b32 %r2, %r0, 2; shr.u32 %r3, %r2, 3; and.b32 %r3, "
                                         "%r3, 16; xor.b32 %r2, %r2, %r3;\n"
                                         "add.s32 %r2, %r2, %r1; cvt.rn.f32.u32 %r4, %r0; "
                                         "st.shared.b32 [%r2], %r4;\n"
                                         "fence.proxy.async; bar.sync 0; setp.ne.u32 %p0, %r0, 0; "
                                         "@%p0 bra E; mov.b32 %r5, 0;\n"
                                         "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add."
                                         "tile.bulk_group [%rd0, {%r5, %r5}], [%r1];\n"
                                         "cp.async.bulk.commit_group; cp.async.bulk.wait_group "
                                         "0;\nE: ret;\n}\n";

static heddle_status reduce(harness *h, float *d, size_t n_bytes, heddle_elem elem) {
  for (size_t i = 0; i < n_bytes / sizeof *d; i++)
    d[i] = 100;
  harness_start(h, "grid", BOX_X * BOX_Y, 4 * BOX_X * BOX_Y, 1);
  h->options.grid_y = 2;
  uint64_t base = harness_buffer(h, "d", d, n_bytes, true);
  h->buffer[0].undefined = false;
  *harness_tmap(h) = (hd_tmap){.base = base, .elem = elem, .rank = 2, .dim = {COLS, ROWS},
                               .stride = {0, 4 * PITCH}, .box = {BOX_X, BOX_Y},
                               .swizzle = HD_SWIZZLE_32};
  return run(h, reduction);
}

/* Both CTAs of the grid add their boxes. Memory outside of the tensor does not change. */
static void boxes_are_added(void **state) {
  (void)state;
  float d[PITCH * BOX_Y];
  harness h;
  heddle_status status = reduce(&h, d, sizeof d, HEDDLE_F32);
  if (status != HEDDLE_OK)
    harness_print(&h);
  assert_int_equal(status, HEDDLE_OK);
  for (int y = 0; y < BOX_Y; y++)
    for (int x = 0; x < PITCH; x++)
      assert_true(d[y * PITCH + x] == (x < COLS && y < ROWS ? 100 + 2 * (y * BOX_X + x) : 100));
  harness_stop(&h);
}

static void bytes_are_not_added(void **state) {
  (void)state;
  float d[PITCH * BOX_Y];
  harness h;
  assert_int_equal(reduce(&h, d, sizeof d, HEDDLE_E4M3), HEDDLE_MISMATCH);
  assert_true(harness_found(&h, "tensor-map"));
  harness_stop(&h);
}

/* ---- several devices ---- */

static void multimem_is_refused(void **state) {
  (void)state;
  harness h;
  harness_start(&h, "grid", 1, 0, 1);
  assert_int_equal(
      run(&h, HEAD("") "multimem.red.relaxed.sys.global.add.u32 [%rd0], %r0; ret;\n}\n"),
      HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(h.ctx, 0)->rule, "ptx.multimem");
  harness_stop(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_cta_has_its_place),
      cmocka_unit_test(clusters_come_in_turn_where_asked),
      cmocka_unit_test(a_grid_of_half_clusters_is_refused),
      cmocka_unit_test(boxes_are_added),
      cmocka_unit_test(bytes_are_not_added),
      cmocka_unit_test(multimem_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
