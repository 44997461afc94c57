/* Tensor memory: every shape of tcgen05.ld and .st. Also kernels for one CTA and a pair, with
 * commits, fences and waits: they are correct in every mode, and every injected fault is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcgen05_case.h"

/* ---- ptx/tensor.ptx ---- */

static const tc_kind f16_kind = {"f16", "f16", "f16", "f32", NULL, 0, 0, 0, 1};
static tc_run shared_run;
static float result[128][64];

static void set_up(harness *h, hd_sim_mode mode, uint64_t seed) {
  static const tc_case c = {.kind = &f16_kind, .sparse = true, .m = 128, .n = 64, .group = 1,
                            .a_layout = TC_NONE, .b_layout = TC_SW64};
  tc_run *t = &shared_run;
  tc_make(t, &c, 11);
  for (int row = 0; row < 128; row++)
    memcpy(t->image[0] + 24576 + 16 * row, &t->tensor[0][row][TC_AT_META], 16);
  memset(result, 0xff, sizeof result);
  harness_start(h, "tensor", 128, TC_IMAGE + 16, 1);
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  harness_param(h, HD_ARG_A, harness_buffer(h, "image", t->image[0], TC_IMAGE, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", result, sizeof result, true));
}

static double product(int i, int n) {
  double sum = 0;
  for (uint32_t k = 0; k < shared_run.k; k++)
    sum += shared_run.a[i][k] * shared_run.b[k][n];
  return sum;
}

static int wrong(void) {
  int bad = 0;
  for (int i = 0; i < 128; i++) {
    for (int n = 0; n < 4; n++)
      bad += result[i][n] != 2 * product(i, n) || result[i][4 + n] != 2 * product(i, 60 + n);
    for (int n = 0; n < 2; n++)
      bad += result[i][8 + n] != 3 * product(i, n);
    bad += result[i][10] != 3 * product(i, 0) || memcmp(&result[i][11], &i, 4) != 0;
  }
  return bad;
}

static void sound_in_every_mode(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up, wrong, "tensor.ptx"), 0);
}

#define LOOSE "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%d0, %d1}, "

static const injected faults[] = {
    {"no fence.proxy.async", "R2", {{"proxy", NULL}}},
    {"no barrier after the copy", "R2|race|mbarrier|uninitialised|R4", {{"copied", NULL}}},
    {"no fence between the barrier and what reads the copy", "R2", {{"after", NULL}}},
    {"48 columns", "tmem", {{"size", "mov.b32 %r11, 48;"}}},
    {"columns that are not allocated", "tmem|bounds", {{"load1", LOOSE "[%r13+128];"}}},
    {"more columns than there are", "bounds|tmem", {{"load1", LOOSE "[%r13+511];"}}},
    {"another warp's lanes", "tmem", {{"lanes", "mov.b32 %r13, %r12;"}}},
    {"no copy of the metadata", "uninitialised", {{"cp", NULL}}},
    {"the wrong selector", "metadata", {{"idesc", "mov.b32 %r16, 0x08100015;"}}},
    {"a selector that nothing has", "idesc", {{"idesc", "mov.b32 %r16, 0x08100016;"}}},
    {"dense in the descriptor", "idesc", {{"idesc", "mov.b32 %r16, 0x08100010;"}}},
    {"M 192", "idesc", {{"idesc", "mov.b32 %r16, 0x0c100014;"}}},
    {"a product of another shape into the same D", "R9", {{"idesc2", "mov.b32 %r17, 0x080e0014;"}}},
    {"a product that is not ordered by the pipeline",
     "R9",
     {{"second",
       "tcgen05.mma.sp.cta_group::1.kind::f16 [%r12+8], %rd4, %rd5, [%r15], %r16, %p2;"}}},
    {"the metadata copied again under its product",
     "R9",
     {{"second", "tcgen05.cp.cta_group::1.128x128b [%r15], %rd6;"}}},
    {"no commit", "deadlock", {{"commit0", NULL}}},
    {"commit before the second product",
     "R9",
     {{"second", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r8];"},
      {"commit0", "tcgen05.mma.sp.cta_group::1.kind::f16 [%r12], %rd4, %rd5, [%r15], %r17, %p2;"}}},
    {"no wait for the commit", "(R9", {{"wait0", NULL}}},
    {"no wait for the last commit", "(R9", {{"wait1", NULL}}},
    {"no fence after the wait", "R9", {{"after0", NULL}}},
    {"no fence after the last wait", "R9", {{"after2", NULL}}},
    {"no wait::ld", "R9", {{"waitld0", NULL}}},
    {"no last wait::ld", "R9", {{"waitld2", NULL}}},
    {"no fence before the barrier", "R9", {{"before1", NULL}}},
    {"no barrier between load and product", "R9|deadlock", {{"read", NULL}}},
    {"no fence after the barrier", "R9", {{"after1", NULL}}},
    {"stored under a load", "R9", {{"waitld1", NULL}}},
    {"no wait::st", "R9", {{"waitst", NULL}}},
    {"freed while others read", "R9|tmem", {{"last", NULL}}},
    {"freed behind loads that nobody tells of", "(R9", {{"before2", NULL}}},
    {"never freed", "tmem", {{"free", NULL}}},
    {"half of it freed",
     "tmem",
     {{"free", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r12, 64;"}}},
    {"freed twice",
     "tmem",
     {{"again", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r12, %r11;"}}},
    {"allocated after the permit was given back",
     "tmem",
     {{"again", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r10], %r11;"}}},
    {"sizes that increase",
     "tmem",
     {{"relinquish", "mov.b32 %r11, 256; "
                     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r10], %r11;"}}},
    {"a second allocation that never fits",
     "deadlock",
     {{"size", "mov.b32 %r11, 512;"},
      {"relinquish", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r10], %r11;"}}},
};

static void every_error_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up, "tensor.ptx", faults, HD_COUNT(faults)), 0);
}

/* ---- cp by one thread, mma by another: ordered by issue, no wait for completion ---- */

#define CP "@%p2 tcgen05.cp.cta_group::1.128x128b [%r15], %rd6; "
#define BEFORE "tcgen05.fence::before_thread_sync; "
#define AFTER "tcgen05.fence::after_thread_sync; "
#define OTHER "setp.eq.u32 %p2, %r0, 64;"

static void issue_order_between_threads(void **state) {
  (void)state;
  static const struct {
    const char *handover;
    heddle_status status;
  } cases[] = {{CP BEFORE "bar.sync 0; " AFTER OTHER, HEDDLE_OK},
               {CP "bar.sync 0; " AFTER OTHER, HEDDLE_MISMATCH},
               {CP BEFORE "bar.sync 0; " OTHER, HEDDLE_MISMATCH},
               {CP BEFORE AFTER OTHER, HEDDLE_MISMATCH},
               {BEFORE "bar.sync 0; " CP AFTER OTHER, HEDDLE_MISMATCH}};
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    for (int run = 0; run < 6; run++) {
      edit edits[2] = {{"cp", NULL}, {"handover", cases[i].handover}};
      harness h;
      set_up(&h, (hd_sim_mode)(run % 3), (uint64_t)run);
      heddle_status status = harness_run(&h, "tensor.ptx", edits, 2);
      if (status != cases[i].status || (status == HEDDLE_OK && wrong())) {
        fprintf(stderr, "case %zu: status %d, %d wrong\n", i, status, wrong());
        harness_print(&h);
      }
      assert_int_equal(status, cases[i].status);
      assert_true(status == HEDDLE_OK ? wrong() == 0
                                      : harness_found(&h, "R9|uninitialised"));
      harness_stop(&h);
    }
  }
}

/* Relaxed waits observe the phase only. fence::after_thread_sync completes the ordering. */
static void relaxed_waits_suffice(void **state) {
  (void)state;
  static const edit edits[] = {
      {"try0", "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [%r8], 0;"},
      {"try1", "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [%r8], 1;"},
      {"after0", NULL}};
  for (int run = 0; run < 6; run++) {
    for (int n = 2; n <= 3; n++) {
      harness h;
      set_up(&h, (hd_sim_mode)(run % 3), (uint64_t)run);
      heddle_status status = harness_run(&h, "tensor.ptx", edits, n);
      assert_int_equal(status, n == 2 ? HEDDLE_OK : HEDDLE_MISMATCH);
      assert_true(n == 2 ? wrong() == 0 : harness_found(&h, "R9"));
      harness_stop(&h);
    }
  }
}

/* ---- ptx/pair.ptx ---- */

static float pair_result[256][4];

static void set_up_pair(harness *h, hd_sim_mode mode, uint64_t seed) {
  static const tc_case c = {.kind = &f16_kind, .sparse = true, .m = 256, .n = 64, .group = 2,
                            .a_layout = TC_NONE, .b_layout = TC_SW64};
  tc_run *t = &shared_run;
  tc_make(t, &c, 12);
  for (int row = 0; row < 256; row++)
    memcpy(t->image[row / 128] + 24576 + 16 * (row % 128),
           &t->tensor[row / 128][row % 128][TC_AT_META], 16);
  memset(pair_result, 0xff, sizeof pair_result);
  harness_start(h, "pair", 128, TC_IMAGE + 16, 2);
  h->variant.cluster = 2;
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  harness_param(h, HD_ARG_A, harness_buffer(h, "image", t->image, sizeof t->image, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", pair_result, sizeof pair_result, true));
}

static int wrong_pair(void) {
  int bad = 0;
  for (int i = 0; i < 256; i++)
    for (int n = 0; n < 4; n++)
      bad += pair_result[i][n] != product(i, 32 + n);
  return bad;
}

#define COMMIT "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
#define ALLOC "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 "

static const injected pair_errors[] = {
    {"commit for one CTA only", "deadlock", {{"commit", COMMIT ".b64 [%r9];"}}},
    {"commit for the other CTA only", "deadlock|R9", {{"mask", "mov.b16 %h, 2;"}}},
    {"commit for a CTA that the cluster lacks", "bounds", {{"mask", "mov.b16 %h, 7;"}}},
    {"no fence.proxy.async", "R2", {{"proxy", NULL}}},
    {"a CTA barrier where the cluster's belongs", "R2|R4|R9|race|uninitialised|mbarrier",
     {{"arrive0", "bar.sync 0;"}, {"wait0", NULL}}},
    {"no fence between the barrier and what reads shared memory", "R2|R4", {{"after0", NULL}}},
    {"no wait for the commit", "(R9", {{"wait", NULL}}},
    {"no fence after the wait", "R9", {{"after", NULL}}},
    {"no wait::ld", "R9", {{"waitld", NULL}}},
    {"one CTA allocates", "deadlock",
     {{"size", "mov.b32 %r12, 128; setp.ne.u32 %p5, %r2, 0; @%p5 bra $ALLOCATED;"}}},
    {"the CTAs allocate different sizes", "tmem",
     {{"size", "shl.b32 %r12, 64, %r2;"}}},
    {"never freed", "tmem", {{"free", NULL}}},
    {"freed and left while the pair computes", "(R4|R9|tmem",
     {{"wait", NULL}, {"arrive1", "bar.sync 0; @%p1 bra $END; tcgen05.dealloc.cta_group::2.sync"
                                  ".aligned.b32 %r13, %r12; bra $END;"}}},
};

static void a_pair_is_sound(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up_pair, wrong_pair, "pair.ptx"), 0);
}

static void every_error_of_a_pair_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up_pair, "pair.ptx", pair_errors, HD_COUNT(pair_errors)), 0);
}

/* ---- refusals ---- */

/* Lines that replace the second product, and the expected status of the run. */
static void refused_by_name(void **state) {
  (void)state;
  static const struct {
    heddle_status status;
    const char *text;
  } lines[] = {
      {HEDDLE_UNSUPPORTED, "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r12], %rd4, %rd5, [%r15], "
                           "%r16, %p2;"},
      {HEDDLE_UNSUPPORTED, "tcgen05.mma.sp.cta_group::1.kind::f16.ashift [%r12], [%r12], %rd5, "
                           "[%r15], %r16, %p2;"},
      {HEDDLE_UNSUPPORTED, "tcgen05.shift.cta_group::1.down [%r12];"},
      {HEDDLE_UNSUPPORTED,
       "tcgen05.ld.red.sync.aligned.32x32b.x2.max.u32 {%d0, %d1}, %d2, [%r12];"},
      {HEDDLE_UNSUPPORTED, "tcgen05.ld.sync.aligned.16x256b.x64.b32 {%d0}, [%r12];"},
      {HEDDLE_UNSUPPORTED, "tcgen05.cp.cta_group::1.64x128b [%r15], %rd6;"},
      {HEDDLE_INVALID, "tcgen05.mma.sp.cta_group::1.kind::f16 [%r12], %rd4, %rd5, %r16, %p2;"},
      {HEDDLE_INVALID, "tcgen05.mma.sp.cta_group::1.kind::i8 [%r12], %rd4, %rd5, [%r15], %r16, "
                       "%p2, 3;"},
      {HEDDLE_INVALID, "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale [%r12], %rd4, %rd5, "
                       "[%r15], %r16, [%r12], [%r12], %p2;"},
      {HEDDLE_INVALID, "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 "
                       "[%r8];"},
      {HEDDLE_INVALID, "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%d0, %d1}, [%r12];"},
  };
  for (size_t i = 0; i < HD_COUNT(lines); i++) {
    harness h;
    edit e = {"second", lines[i].text};
    set_up(&h, HD_SIM_LATE, 1);
    heddle_status status = harness_run(&h, "tensor.ptx", &e, 1);
    if (status != lines[i].status)
      fprintf(stderr, "status %d: %s\n", status, lines[i].text);
    assert_int_equal(status, lines[i].status);
    harness_stop(&h);
  }
  harness h; /* a pair without a cluster */
  set_up_pair(&h, HD_SIM_LATE, 1);
  h.variant.cluster = 1;
  assert_int_equal(harness_run(&h, "pair.ptx", NULL, 0), HEDDLE_INVALID);
  harness_stop(&h);
}

/* ---- ld and st of every shape ---- */

typedef struct shape {
  const char *name;
  uint32_t lanes, registers, columns; /* of .x1: registers per thread, columns per lane */
} shape;

static const shape shapes[] = {{"32x32b", 32, 1, 1},
                               {"16x32bx2", 16, 1, 1}, /* and again from the split on */
                               {"16x64b", 16, 1, 2},
                               {"16x128b", 16, 2, 4},
                               {"16x256b", 16, 4, 8}};

/* The thread and register of column `column` of a lane (0-31 or 0-15), from the ISA's figures. */
static void holder(const shape *s, uint32_t lane, uint32_t column, uint32_t *thread,
                   uint32_t *reg) {
  uint32_t half = lane / 8, quad = 4 * (lane % 8);
  switch (s->columns + (s->lanes == 32 ? 100 : 0)) {
  case 101: *thread = lane, *reg = column; return;
  case 1: *thread = lane, *reg = column; return;
  case 2: *thread = quad + column % 2 * 2 + half, *reg = column / 2; return;
  case 4: *thread = quad + column % 4, *reg = column / 4 * 2 + half; return;
  default: *thread = quad + column / 2 % 4, *reg = column / 8 * 4 + half * 2 + column % 2; return;
  }
}

enum { COLUMNS = 128, SPLIT = 64 };
static uint32_t memory[128][COLUMNS], registers[128][128], after[128][COLUMNS];

static void vector(hd_strbuf *out, uint32_t n) {
  hd_strbuf_add(out, "{");
  for (uint32_t i = 0; i < n; i++)
    hd_strbuf_printf(out, "%s%%d%u", i ? ", " : "", i);
  hd_strbuf_add(out, "}");
}

static void global(hd_strbuf *out, const char *what, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (what[0] == 'l')
      hd_strbuf_printf(out, "ld.global.b32 %%d%u, [%s+%u];\n", i, what + 2, 4 * i);
    else
      hd_strbuf_printf(out, "st.global.b32 [%s+%u], %%d%u;\n", what + 2, 4 * i, i);
}

/* Stores all of tensor memory with 32x32b and loads it with the shape, or the reverse. `upper`:
 * only lanes 16 to 31 of the 32. */
static void write_text(hd_strbuf *out, const shape *s, uint32_t n, bool store, bool packed,
                       bool upper) {
  const char *split = s->columns == 1 && s->lanes == 16 ? ", 64" : "";
  hd_strbuf_add(out, ".version 8.7\n.target sm_100a\n.address_size 64\n"
                     ".extern .shared .align 1024 .b8 smem[];\n"
                     ".visible .entry k(.param .u64 p0, .param .u64 p1)\n"
                     "{ .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b32 %d<128>; .reg .b64 %rd<8>;\n"
                     "ld.param.u64 %rd0, [p0]; ld.param.u64 %rd1, [p1]; mov.u32 %r0, %tid.x;\n"
                     "mul.wide.u32 %rd2, %r0, 512; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, "
                     "%rd2;\nmov.u32 %r1, smem; shr.u32 %r2, %r0, 5; setp.ne.u32 %p0, %r2, 0;\n"
                     "@%p0 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], "
                     "128;\nA: bar.sync 0; ld.shared.b32 %r3, [%r1]; shl.b32 %r4, %r2, 21;\n"
                     "add.s32 %r4, %r4, %r3;\n");
  if (upper)
    hd_strbuf_add(out, "add.s32 %r5, %r4, 0x100000;\n");
  else
    hd_strbuf_add(out, "mov.b32 %r5, %r4;\n");
  global(out, "l %rd3", store ? n * s->registers : COLUMNS);
  if (store) {
    hd_strbuf_printf(out, "tcgen05.st.sync.aligned.%s.x%u%s.b32 [%%r5]%s, ", s->name, n,
                     packed ? ".unpack::16b" : "", split);
    vector(out, n * s->registers);
  } else {
    hd_strbuf_add(out, "tcgen05.st.sync.aligned.32x32b.x128.b32 [%r4], ");
    vector(out, COLUMNS);
  }
  hd_strbuf_add(out, ";\ntcgen05.wait::st.sync.aligned;\n");
  hd_strbuf_printf(out, "tcgen05.ld.sync.aligned.%s.x%u%s.b32 ", store ? "32x32b" : s->name,
                   store ? 128 : n, packed && !store ? ".pack::16b" : "");
  vector(out, store ? COLUMNS : n * s->registers);
  hd_strbuf_printf(out, ", [%%r%d]%s;\ntcgen05.wait::ld.sync.aligned;\n", store ? 4 : 5,
                   store ? "" : split);
  global(out, "s %rd4", store ? COLUMNS : n * s->registers);
  hd_strbuf_add(out, "tcgen05.fence::before_thread_sync; bar.sync 0; @%p0 bra E;\n"
                     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;\nE: ret;\n}\n");
}

/* Compares the registers with memory or, if `store`, memory with the registers. */
static int mismatches(const shape *s, uint32_t n, bool store, bool packed, bool upper) {
  uint32_t scale = packed ? 2 : 1, columns = n * s->columns;
  bool split = s->columns == 1 && s->lanes == 16;
  int bad = 0;
  for (uint32_t warp = 0; warp < 4; warp++) {
    for (uint32_t i = 0; i < s->lanes * columns * (split ? 2 : 1); i++) {
      uint32_t lane = i % s->lanes, column = i / s->lanes % columns,
               second = i / s->lanes / columns;
      uint32_t thread, reg, low = scale * column + second * SPLIT;
      holder(s, lane, column, &thread, &reg);
      thread += 32 * warp + 16 * second;
      const uint32_t *cell = &(store ? after : memory)[32 * warp + lane + (upper ? 16 : 0)][low];
      uint32_t want = packed ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
      bad += registers[thread][reg] != want;
    }
  }
  return bad;
}

static int run_shape(const shape *s, uint32_t n, bool store, bool packed, bool upper) {
  hd_strbuf text = {0};
  harness h;
  uint64_t seed = 3;
  for (uint32_t i = 0; i < 128 * COLUMNS; i++) {
    memory[i / COLUMNS][i % COLUMNS] = next_random(&seed);
    registers[i / 128][i % 128] = store ? next_random(&seed) : 0;
  }
  write_text(&text, s, n, store, packed, upper);
  harness_start(&h, "k", 128, 16, 1);
  h.options.off = store ? HD_SIM_NO_UNDEFINED : 0; /* reads memory that was not stored */
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "in", store ? registers : memory,
                                             sizeof memory, false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "out", store ? after : registers,
                                             sizeof after, true));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  int bad = status == HEDDLE_OK ? mismatches(s, n, store, packed, upper) : 1;
  if (bad) {
    fprintf(stderr, "%s.%s.x%u%s%s: status %d, %d wrong\n", store ? "st" : "ld", s->name, n,
            packed ? " packed" : "", upper ? " from lane 16" : "", status, bad);
    harness_print(&h);
  }
  hd_strbuf_free(&text);
  harness_stop(&h);
  return bad;
}

static void every_shape_of_ld_and_st(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(shapes); i++) {
    const shape *s = &shapes[i];
    uint32_t limit = s->columns == 1 && s->lanes == 16 ? SPLIT : COLUMNS;
    for (uint32_t n = 1; n * s->columns <= limit && n * s->registers <= 128; n *= 2) {
      for (int form = 0; form < 8; form++) {
        bool packed = form & 2, upper = form & 4;
        if ((packed && 2 * n * s->columns > limit) || (upper && s->lanes == 32))
          continue;
        bad += run_shape(s, n, form & 1, packed, upper);
      }
    }
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sound_in_every_mode),
                                     cmocka_unit_test(every_error_is_found),
                                     cmocka_unit_test(issue_order_between_threads),
                                     cmocka_unit_test(relaxed_waits_suffice),
                                     cmocka_unit_test(a_pair_is_sound),
                                     cmocka_unit_test(every_error_of_a_pair_is_found),
                                     cmocka_unit_test(refused_by_name),
                                     cmocka_unit_test(every_shape_of_ld_and_st)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
