/* Tensor stores from slots that are filled again: clipped and unswizzled as the ISA defines,
 * correct in every mode and with every seed, and every injected fault is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "sim_harness.h"

enum { ROWS = 13, COLUMNS = 18, PITCH = 20, POISON = 0x5a };

static uint32_t out[ROWS + 3][PITCH];

/* All elements of the tensor are written. The pitch and the rows after the tensor are not. */
static int wrong(void) {
  uint32_t poison;
  memset(&poison, POISON, sizeof poison);
  int n = 0;
  for (uint32_t r = 0; r < ROWS + 3; r++)
    for (uint32_t c = 0; c < PITCH; c++)
      n += out[r][c] != (r < ROWS && c < COLUMNS ? 64 * r + c : poison);
  return n;
}

static void set_up(harness *h, hd_sim_mode mode, uint64_t seed) {
  memset(out, POISON, sizeof out);
  harness_start(h, "out", 32, 640, 1);
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  hd_tmap *map = harness_tmap(h);
  *map = (hd_tmap){.base = harness_buffer(h, "d", out, sizeof out, true),
                   .elem = HEDDLE_F32, .rank = 2, .dim = {COLUMNS, ROWS}, .stride = {0, PITCH * 4},
                   .box = {8, 8}, .swizzle = HD_SWIZZLE_32};
}

static void sound_in_every_mode(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up, wrong, "out.ptx"), 0);
}

static const injected faults[] = {
    {"no proxy fence", "R2", {{"fence", NULL}}},
    {"fence behind the lanes' meeting", "R2",
     {{"fence", NULL}, {"written", "bar.warp.sync -1; fence.proxy.async.shared::cta;"}}},
    {"copied out before the lanes met", "R2", {{"written", NULL}}},
    {"filled again without a wait", "R6|R2", {{"wait", NULL}}},
    {"one copy too many pending", "R6|R2", {{"wait", "cp.async.bulk.wait_group.read 2;"}}},
    {"only one lane has waited", "R6|R2", {{"waited", NULL}}},
    {"one slot for both", "R6|R2", {{"slot", "mov.b32 %r8, 0;"}}},
    {"never committed", "R6|R2", {{"commit", NULL}}},
    {"every lane copies", "R3", {{"store",
     "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r9, %r10}], [%r8];"}}},
    {"the end before the last copies", "R6", {{"last", NULL}}},
    {"the end with one copy to come", "R6", {{"last", "cp.async.bulk.wait_group.read 1;"}}},
    {"half of the slot never written", "uninitialised", {{"second", NULL}}},
    {"a slot at no multiple of 128 bytes", "alignment",
     {{"base", "mov.u32 %r1, smem; add.s32 %r1, %r1, 64;"}}},
};

static void every_error_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up, "out.ptx", faults, HD_COUNT(faults)), 0);
}

/* A slot written without the map's swizzle gives wrong numbers, but no finding. */
static void swizzle_counts(void **state) {
  (void)state;
  static const edit flat = {"swizzle", "mov.b32 %r6, %r4;"};
  harness h;
  set_up(&h, HD_SIM_LATE, 1);
  assert_int_equal(harness_run(&h, "out.ptx", &flat, 1), HEDDLE_OK);
  assert_int_not_equal(wrong(), 0);
  harness_stop(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_in_every_mode),
      cmocka_unit_test(every_error_is_found),
      cmocka_unit_test(swizzle_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
