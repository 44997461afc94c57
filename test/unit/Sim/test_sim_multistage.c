/* An mma.sp kernel with cp.async stages (sm_80): correct in every mode, and every injected fault is
 * found. */
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
  harness_start(h, "multistage", 128, 3 * 6656, 1);
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  harness_param(h, HD_ARG_A, harness_buffer(h, "a", p->packed, sizeof p->packed, false));
  harness_param(h, HD_ARG_B, harness_buffer(h, "b", p->b_bits, sizeof p->b_bits, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", p->d, sizeof p->d, true));
  harness_param(h, HD_ARG_K, NK);
}

static void sound_in_every_mode(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up, wrong, "multistage.ptx"), 0);
}

static const injected faults[] = {
    {"no wait_group", "race|uninitialised", {{"wait", NULL}}},
    {"wait_group 2", "race|uninitialised", {{"wait", "cp.async.wait_group 2;"}}},
    {"no bar.sync", "race|uninitialised", {{"bar", NULL}}},
    {"no commit_group", "race|uninitialised", {{"commit", NULL}}},
    {"a stage too far",
     "race|uninitialised|bounds",
     {{"loadstage",
       "add.s32 %r22, %r22, 2; rem.u32 %r22, %r22, 3; mad.lo.s32 %r22, %r22, 6656, %r2;"}}},
    {"reads a stage too far",
     "race|uninitialised|bounds",
     {{"stage", "xor.b32 %r22, %r22, 1; mad.lo.s32 %r22, %r22, 6656, %r2;"}}},
    {"B is never copied", "uninitialised", {{"copyb", NULL}}},
};

static void every_error_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up, "multistage.ptx", faults, HD_COUNT(faults)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_in_every_mode),
      cmocka_unit_test(every_error_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
