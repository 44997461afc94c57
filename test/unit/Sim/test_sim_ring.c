/* A wgmma.sp kernel with a TMA ring: correct in every mode and with every seed, and every injected
 * fault is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sim_harness.h"
#include "sim_problem.h"

static problem shared_problem;

static int wrong(void) { return problem_wrong(&shared_problem); }

static void set_up(harness *h, hd_sim_mode mode, uint64_t seed) {
  problem *p = &shared_problem;
  problem_make(p);
  harness_start(h, "ring", 160, 14336 + 32, 1);
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  hd_tmap *map = harness_tmap(h);
  harness_param(h, HD_ARG_A, harness_buffer(h, "a", p->packed, sizeof p->packed, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", p->d, sizeof p->d, true));
  harness_param(h, HD_ARG_K, NK);
  *map = (hd_tmap){.base = harness_buffer(h, "b", p->b_bits, sizeof p->b_bits, false),
                   .elem = HEDDLE_BF16, .rank = 2, .dim = {K, N}, .stride = {0, K * 2},
                   .box = {64, N}, .swizzle = HD_SWIZZLE_128};
}

static void sound_in_every_mode(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up, wrong, "ring.ptx"), 0);
}

static const injected faults[] = {
    {"no fence after mbarrier.init", "R4", {{"initfence", NULL}}},
    {"no barrier after mbarrier.init", "R4|mbarrier", {{"initbar", NULL}}},
    {"stage filled before it is empty", "(R3|tx|arrivals", {{"emptyloop", NULL}}},
    {"empty parity inverted", "deadlock|R3", {{"emptyparity", "mov.b32 %r9, %r8;"}}},
    {"full parity inverted",
     "R1|deadlock|uninitialised",
     {{"fullparity", "not.b32 %r9, %r8; and.b32 %r9, %r9, 1;"}}},
    {"stage read before it is full", "(R1|uninitialised", {{"fullloop", NULL}}},
    {"16 bytes too few expected",
     "tx|deadlock",
     {{"expect", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 6640;"}}},
    {"16 bytes too many expected",
     "deadlock",
     {{"expect", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 6672;"}}},
    {"nothing expected",
     "tx|R1|deadlock|uninitialised",
     {{"expect", "mbarrier.arrive.shared::cta.b64 _, [%r10];"}}},
    {"no wgmma.fence", "R5", {{"fence", NULL}}},
    {"no wait_group", "R5|R3", {{"wait", NULL}}},
    {"wait_group 1", "R3|R5", {{"wait", "wgmma.wait_group.sync.aligned 1;"}}},
    {"one lane releases before the others have met it", "R3", {{"meet", NULL}}},
    {"no commit_group", "R5|R3", {{"commit", NULL}}},
    {"metadata without a value", "undefined", {{"meta", NULL}}},
    {"accumulators without a value",
     "undefined",
     {{"first",
       "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
       "%rd13, %rd12, %r16, 0, 1, 1, 1, 0, 0;"}}},
    {"another shape on accumulators in flight",
     "R5",
     {{"second", "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, "
                 "%rd15, %rd14, %r16, 1, 1, 1, 1, 0, 0;"}}},
    {"a reserved bit of a descriptor",
     "descriptor",
     {{"descriptor", "or.b64 %rd12, %rd11, 0x4010004000010000;"}}},
    {"bit 14 of a descriptor's address", "descriptor",
     {{"descriptor", "or.b64 %rd12, %rd11, 0x4000004000014000;"}}},
    {"stage never released", "deadlock", {{"release", NULL}}},
    {"three arrivals empty a stage",
     "R3|arrivals",
     {{"empty0", "mbarrier.init.shared::cta.b64 [%r3+16], 3;"},
      {"empty1", "mbarrier.init.shared::cta.b64 [%r3+24], 3;"}}},
    {"five arrivals empty a stage",
     "deadlock",
     {{"empty0", "mbarrier.init.shared::cta.b64 [%r3+16], 5;"},
      {"empty1", "mbarrier.init.shared::cta.b64 [%r3+24], 5;"}}},
    {"consumer a stage ahead",
     "R1|R3|uninitialised",
     {{"consume_stage", "xor.b32 %r18, %r7, 1; mad.lo.s32 %r11, %r18, 7168, %r2;"}}},
    {"producer a stage ahead",
     "R1|R3|uninitialised",
     {{"produce_stage", "xor.b32 %r18, %r7, 1; mad.lo.s32 %r11, %r18, 7168, %r2;"}}},
    {"A is never copied", "deadlock|uninitialised", {{"copya", NULL}}},
};

static void every_error_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up, "ring.ptx", faults, HD_COUNT(faults)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_in_every_mode),
      cmocka_unit_test(every_error_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
