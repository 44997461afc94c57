/* A tcgen05.mma.sp kernel with a ring of bulk copies, commits that release its stages, and metadata
 * copied on to tensor memory: correct in every mode and with every seed, and every injected fault
 * is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "tcgen05_case.h"

enum { NK = 7, STAGE = 14336 };

static tc_run step[NK];
static uint8_t image[NK * STAGE];
static float result[128][4];

static void make_steps(void) {
  static const tc_kind f16_kind = {"f16", "f16", "f16", "f32", NULL, 0, 0, 0, 1};
  static const tc_case c = {.kind = &f16_kind, .sparse = true, .m = 128, .n = 64, .group = 1,
                            .a_layout = TC_NONE, .b_layout = TC_SW64};
  for (int k = 0; k < NK; k++) {
    uint8_t *at = image + k * STAGE;
    tc_make(&step[k], &c, 20 + (uint64_t)k);
    memcpy(at, step[k].image[0], 8192);
    memcpy(at + 8192, step[k].image[0] + TC_B_AT, 4096);
    for (int row = 0; row < 128; row++)
      memcpy(at + 12288 + 16 * row, &step[k].tensor[0][row][TC_AT_META], 16);
  }
}

static void set_up(harness *h, hd_sim_mode mode, uint64_t seed) {
  memset(result, 0xff, sizeof result);
  harness_start(h, "tensor_ring", 192, 28672 + 48, 1);
  h->options = (hd_sim_options){.mode = mode, .seed = seed};
  harness_param(h, HD_ARG_A, harness_buffer(h, "steps", image, sizeof image, false));
  harness_param(h, HD_ARG_D, harness_buffer(h, "d", result, sizeof result, true));
  harness_param(h, HD_ARG_K, NK);
}

static int wrong(void) {
  int bad = 0;
  for (int i = 0; i < 128; i++) {
    for (int n = 0; n < 4; n++) {
      double sum = 0;
      for (int s = 0; s < NK; s++)
        for (uint32_t k = 0; k < step[s].k; k++)
          sum += step[s].a[i][k] * step[s].b[k][30 + n];
      bad += result[i][n] != sum;
    }
  }
  return bad;
}

static void sound_in_every_mode(void **state) {
  (void)state;
  assert_int_equal(harness_unsound(set_up, wrong, "tensor_ring.ptx"), 0);
}

#define COMMIT "@%p6 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
#define MMA "@%p6 tcgen05.mma.sp.cta_group::1.kind::f16 [%r6], %rd3, %rd4, [%r15], %r13, %p5; "

#define SEE(wait)                                                                                  \
  "@!%p2 bra $GO; $SEE: mbarrier." wait " %p4, [%r3], 0; @!%p4 bra $SEE; bra $READ; $GO:"

static const injected faults[] = {
    {"no fence after mbarrier.init", "R4", {{"initfence", NULL}}},
    {"no barrier after mbarrier.init", "R4|mbarrier|uninitialised|race", {{"initbar", NULL}}},
    {"stage filled before it is empty", "(R3|tx|arrivals", {{"empty", NULL}}},
    {"empty parity inverted", "deadlock|R3|tx", {{"emptyparity", "mov.b32 %r10, %r9;"}}},
    {"stage read before it is full", "(R1|uninitialised", {{"full", NULL}}},
    {"full parity inverted",
     "R1|deadlock|uninitialised",
     {{"fullparity", "not.b32 %r10, %r9; and.b32 %r10, %r10, 1;"}}},
    {"no fence after a stage is full", "R9", {{"after", NULL}}},
    {"one place for the metadata of all stages", "R9", {{"place", "mov.b32 %r15, 0;"}}},
    {"stage never released", "deadlock", {{"release", NULL}}},
    {"stage released before its product",
     "R3|R9",
     {{"mma", "add.s32 %r16, %r11, 16; " COMMIT "[%r16];"}, {"release", MMA}}},
    {"lanes that nobody waits for wait for a stage", "phase", {{"meet", NULL}}},
    {"a stage is not kept for one who waits for it",
     "phase|deadlock",
     {{"see", SEE("try_wait.parity.shared::cta.b64")}}},
    {"the same, and its wait is relaxed",
     "phase|deadlock",
     {{"see", SEE("try_wait.parity.relaxed.cta.shared::cta.b64")}}},
    {"the end is never told", "deadlock", {{"done", NULL}}},
    {"the CTA leaves before the last commits arrive", "R9", {{"emptied", "@%p3 bra $LAST;"}}},
    {"D read before the end", "(R9", {{"wait", NULL}}},
    {"no fence after the end", "R9", {{"afterdone", NULL}}},
    {"no wait::ld", "R9", {{"waitld", NULL}}},
    {"a generic write, read behind a commit alone",
     "race|R1|uninitialised",
     {{"emptyparity", "not.b32 %r10, %r9; st.shared.b32 [%r3+44], %r7;"},
      {"afterdone", "tcgen05.fence::after_thread_sync; ld.shared.b32 %r33, [%r3+44];"}}},
    {"freed while it is read", "R9|tmem", {{"last", NULL}}},
};

static void every_error_is_found(void **state) {
  (void)state;
  assert_int_equal(harness_missed(set_up, "tensor_ring.ptx", faults, HD_COUNT(faults)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_in_every_mode),
      cmocka_unit_test(every_error_is_found),
  };
  make_steps();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
