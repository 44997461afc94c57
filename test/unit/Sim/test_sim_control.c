/* Lanes that diverge and reconverge: loops of different length, jump tables, and collectives after
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sim_harness.h"

static const char text[] =
    ".visible .entry k(.param .u64 p0)\n"
    "{ .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd0, [p0]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 16;\n"
    "add.s64 %rd0, %rd0, %rd1;\n"
    /* the length of the Collatz sequence from tid + 1 */
    "add.s32 %r1, %r0, 1; mov.b32 %r2, 0; setp.ne.s32 %p1, %r1, %r1;\n"
    "LOOP: setp.eq.s32 %p0, %r1, 1; @%p0 bra DONE; add.s32 %r2, %r2, 1; and.b32 %r3, %r1, 1;\n"
    "setp.ne.s32 %p1, %r3, 0; @%p1 bra ODD; shr.u32 %r1, %r1, 1; bra LOOP;\n"
    "ODD: mad.lo.s32 %r1, %r1, 3, 1; bra LOOP;\n"
    "DONE: st.global.b32 [%rd0], %r2;\n"
    /* a jump table with four entries, indexed by tid % 4 */
    "and.b32 %r4, %r0, 3;\n"
    "TABLE: .branchtargets CASE0, CASE1, CASE2, CASE3;\n"
    "brx.idx %r4, TABLE;\n"
    "CASE0: mov.b32 %r5, 100; bra JOIN;\n"
    "CASE1: add.s32 %r5, %r0, 1000; bra JOIN;\n"
    "CASE2: mov.b32 %r5, 7; @%p0 bra JOIN;\n"
    "CASE3: mul.lo.s32 %r5, %r0, %r0;\n"
    "JOIN: st.global.b32 [%rd0+4], %r5;\n"
    /* all lanes have reconverged: sums over the warp */
    "shfl.sync.bfly.b32 %r6, %r2, 16, 31, -1; add.s32 %r7, %r2, %r6;\n"
    "shfl.sync.bfly.b32 %r6, %r7, 8, 31, -1; add.s32 %r7, %r7, %r6;\n"
    "shfl.sync.bfly.b32 %r6, %r7, 4, 31, -1; add.s32 %r7, %r7, %r6;\n"
    "shfl.sync.bfly.b32 %r6, %r7, 2, 31, -1; add.s32 %r7, %r7, %r6;\n"
    "shfl.sync.bfly.b32 %r6, %r7, 1, 31, -1; add.s32 %r7, %r7, %r6;\n"
    "st.global.b32 [%rd0+8], %r7;\n"
    "vote.sync.ballot.b32 %r8, %p1, -1; elect.sync %r9|%p2, -1; selp.b32 %r10, 1, 0, %p2;\n"
    "redux.sync.add.s32 %r11, %r10, -1; xor.b32 %r12, %r8, %r11; popc.b32 %r13, %r11;\n"
    "add.s32 %r14, %r13, %r11; shfl.sync.up.b32 %r15|%p3, %r0, 1, 0, -1;\n"
    "@!%p3 mov.b32 %r15, 500; shfl.sync.idx.b32 %r16, %r15, 3, 31, -1;\n"
    "add.s32 %r14, %r14, %r16; st.global.b32 [%rd0+12], %r14;\n"
    "ret;\n}\n";

static uint32_t collatz(uint32_t n) {
  uint32_t steps = 0;
  for (; n != 1; steps++)
    n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

static uint32_t table(uint32_t tid) {
  switch (tid % 4) {
  case 0: return 100;
  case 1: return tid + 1000;
  case 2: return 7; /* %p0 is true after the loop */
  default: return tid * tid;
  }
}

static void lanes_meet_again(void **state) {
  (void)state;
  for (int mode = HD_SIM_LATE; mode <= HD_SIM_RANDOM; mode++) {
    static uint32_t d[96][4];
    harness h;
    harness_start(&h, "k", 96, 0, 1);
    h.options = (hd_sim_options){.mode = (hd_sim_mode)mode, .seed = 3};
    harness_param(&h, HD_ARG_D, harness_buffer(&h, "d", d, sizeof d, true));
    heddle_status status = harness_run_text(&h, text, strlen(text));
    harness_print(&h);
    assert_int_equal(status, HEDDLE_OK);
    for (uint32_t t = 0; t < 96; t++) {
      uint32_t sum = 0;
      for (uint32_t l = 0; l < 32; l++)
        sum += collatz(t / 32 * 32 + l + 1);
      assert_int_equal(d[t][0], collatz(t + 1));
      assert_int_equal(d[t][1], table(t));
      assert_int_equal(d[t][2], sum);
      assert_int_equal(d[t][3], 1 + 1 + t / 32 * 32 + 2);
    }
    harness_stop(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_meet_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
