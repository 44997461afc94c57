/* Small kernels for collectives, scopes and fences: whether the executing lane is in its
 * membermask, what a fence of a scope orders, and what a proxy fence does not release. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>

#include "micro.h"

#define SHFL(mask) "shfl.sync.idx.b32 %r6, %r0, 0, 31, " mask ";\n"
#define ELECT(mask) "elect.sync %r6|%p5, " mask ";\n"
#define HALF_MASK /* %r7: the mask of the lane's half of its warp; %p5: the lower half */ \
  "mov.u32 %r5, %laneid; setp.lt.u32 %p5, %r5, 16; selp.b32 %r7, 65535, -65536, %p5;\n"

/* Two CTAs, of a cluster or of the grid. Rank 0 writes its word and sets a flag; the other one
 * waits for the flag and reads the word. `before`, `after`: the ordering on either side. */
#define FLAG(rank, store, before, after, load)                                              \
  "setp.ne.u32 %p6, " rank ", 0; @!%p0 bra X; @%p6 bra R;\n"                                \
  "st.global.b32 [%rd1], %r0; mov.b32 %r5, 1;\n" before store " [%rd2], %r5; bra X;\n"      \
  "R: " load " %r5, [%rd2]; setp.ne.u32 %p5, %r5, 1; @%p5 bra R;\n" after                   \
  "ld.global.b32 %r6, [%rd1]; X:\n"
#define RELAXED_FLAG(rank, scope, before, after) \
  FLAG(rank, "st.relaxed." scope ".global.b32", before, after, "ld.relaxed." scope ".global.b32")

/* The same between thread 0 and thread 32 of a CTA, with a flag in shared memory. */
#define CTA_FLAG(before, store, load, after)                                                  \
  "@%p0 st.shared.b32 [%r1+512], 0; bar.sync 0; setp.eq.u32 %p6, %r0, 32;\n"                  \
  "@!%p0 bra M; st.shared.b32 [%r1], %r0; mov.b32 %r5, 1;\n" before store                     \
  " [%r1+512], %r5; bra X; M: @!%p6 bra X;\n"                                                 \
  "R: " load " %r5, [%r1+512]; setp.ne.u32 %p5, %r5, 1; @%p5 bra R;\n" after                  \
  "ld.shared.b32 %r6, [%r1]; X:\n"

static const micro cases[] = {
    /* PTX ISA, shfl.sync, vote.sync, elect.sync, redux.sync, bar.warp.sync: undefined if the
     * executing thread is not in membermask */
    {"shfl by all", NULL, 0, 0, false, SHFL("-1")},
    {"shfl by a lane that is not in its mask", "membermask", 0, 0, false, SHFL("-2")},
    {"shfl by halves, each with its mask", NULL, 0, 0, false,
     HALF_MASK "and.b32 %r8, %r5, 16; shfl.sync.idx.b32 %r6, %r0, %r8, 31, %r7;\n"
               "add.s32 %r8, %r8, %r0; sub.s32 %r8, %r8, %r5; and.b32 %r9, %r5, 16;\n"
               "setp.ne.u32 %p6, %r6, %r8; @%p6 trap;\n"},
    {"shfl by halves, one late, each with its mask", NULL, 0, 0, false,
     HALF_MASK "@%p5 bra S; add.s32 %r9, %r0, 1;\nS: shfl.sync.idx.b32 %r6, %r0, %r5, 31, %r7;\n"},
    {"the same, by the other half's mask", "membermask", 0, 0, false,
     HALF_MASK "not.b32 %r7, %r7; shfl.sync.idx.b32 %r6, %r0, %r5, 31, %r7;\n"},
    {"shfl of a lane outside of the mask", "shfl", 0, 0, false,
     HALF_MASK "shfl.sync.idx.b32 %r6, %r0, 0, 31, %r7;\n"},
    {"elect by a lane that is not in its mask", "membermask", 0, 0, false, ELECT("1")},
    {"vote by a lane that is not in its mask", "membermask", 0, 0, false,
     "vote.sync.ballot.b32 %r6, %p0, 0x7fffffff;\n"},
    {"redux by a lane that is not in its mask", "membermask", 0, 0, false,
     "redux.sync.add.u32 %r6, %r0, 0xfffffffe;\n"},
    {"bar.warp.sync by a lane that is not in its mask", "membermask", 0, 0, false,
     "bar.warp.sync 0xffff;\n"},
    {"bar.warp.sync by halves", NULL, 0, 0, false,
     HALF_MASK STORE_MINE "bar.warp.sync %r7; xor.b32 %r8, %r4, 4; ld.shared.b32 %r6, [%r8];\n"},
    {"bar.warp.sync by halves, read across", "race", 0, 0, false,
     HALF_MASK STORE_MINE "bar.warp.sync %r7; xor.b32 %r8, %r4, 64; ld.shared.b32 %r6, [%r8];\n"},

    /* fence.mbarrier_init releases the initialisations through a relaxed cluster barrier; a proxy
     * fence is not a release */
    {"an init behind a proxy fence and a relaxed cluster barrier", "R4", 2, 2, false,
     MBAR("64") "fence.proxy.async;\n" RELAXED REMOTE
                "@%p2 bra C; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
                "C: " SPIN("%r1+2048", "0") "X: " CLUSTER},
    {"an init behind a proxy fence and a cluster barrier", NULL, 2, 2, false,
     MBAR("64") "fence.proxy.async;\n" CLUSTER REMOTE
                "@%p2 bra C; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
                "C: " SPIN("%r1+2048", "0") "X: " CLUSTER},

    /* PTX ISA, Release and Acquire Patterns: a fence, then a relaxed store; a relaxed load, then a
     * fence; both scopes include the other thread */
    {"a relaxed flag in shared memory, fences of the CTA", NULL, 0, 0, false,
     CTA_FLAG("fence.acq_rel.cta;", "st.relaxed.cta.shared.b32", "ld.relaxed.cta.shared.b32",
              "fence.acq_rel.cta;")},
    {"the same, no fence before the store", "race", 0, 0, false,
     CTA_FLAG("", "st.relaxed.cta.shared.b32", "ld.relaxed.cta.shared.b32", "fence.acq_rel.cta;")},
    {"the same, no fence behind the load", "race", 0, 0, false,
     CTA_FLAG("fence.acq_rel.cta;", "st.relaxed.cta.shared.b32", "ld.relaxed.cta.shared.b32", "")},
    {"a fence, then a relaxed flag, acquired", NULL, 0, 0, false,
     CTA_FLAG("fence.acq_rel.cta;", "st.relaxed.cta.shared.b32", "ld.acquire.cta.shared.b32", "")},
    {"a released flag, relaxed loads, a fence", NULL, 0, 0, false,
     CTA_FLAG("", "st.release.cta.shared.b32", "ld.relaxed.cta.shared.b32", "fence.acquire.cta;")},
    {"a volatile flag and membar.cta", NULL, 0, 0, false,
     CTA_FLAG("membar.cta;", "st.volatile.shared.b32", "ld.volatile.shared.b32", "membar.cta;")},
    {"a relaxed flag between CTAs of a cluster, fences of the cluster", NULL, 2, 2, false,
     RELAXED_FLAG("%r2", "cluster", "fence.acq_rel.cluster;", "fence.acq_rel.cluster;")},
    {"the same, fences of the GPU", NULL, 2, 2, false,
     RELAXED_FLAG("%r2", "gpu", "fence.acq_rel.gpu;", "fence.sc.gpu;")},
    {"the same, the first fence of the CTA", "race|R7", 2, 2, false,
     RELAXED_FLAG("%r2", "cluster", "fence.acq_rel.cta;", "fence.acq_rel.cluster;")},
    {"the same, the second fence of the CTA", "race|R7", 2, 2, false,
     RELAXED_FLAG("%r2", "cluster", "fence.acq_rel.cluster;", "fence.acq_rel.cta;")},
    {"a relaxed flag between clusters, fences of the cluster", "R7", 0, 2, false,
     RELAXED_FLAG("%r3", "gpu", "fence.acq_rel.cluster;", "fence.acq_rel.cluster;")},
    {"a flag released and acquired at the cluster's scope", NULL, 2, 2, false,
     FLAG("%r2", "st.release.cluster.global.b32", "", "", "ld.acquire.cluster.global.b32")},
    {"a flag released at the GPU's scope, acquired at the cluster's", NULL, 2, 2, false,
     FLAG("%r2", "st.release.gpu.global.b32", "", "", "ld.acquire.cluster.global.b32")},
    {"a flag released at the cluster's scope, acquired by another", "R7", 0, 2, false,
     FLAG("%r3", "st.release.cluster.global.b32", "", "", "ld.acquire.gpu.global.b32")},
    {"a proxy fence is no release", "race", 0, 0, false,
     CTA_FLAG("fence.proxy.async;", "st.relaxed.cta.shared.b32", "ld.acquire.cta.shared.b32", "")},
};

/* --- weak values (sim_stale.c) --------------------------------------------------------------- */

/* CTA 0 writes 9 and then a flag. CTA 1 waits for the flag and then reads: any other value
 * traps. */
#define PASS(store, raise, ask, look)                                                            \
  "setp.ne.u32 %p6, %r3, 0; @!%p0 bra X; @%p6 bra R; mov.b32 %r7, 9; mov.b32 %r5, 1;\n" store   \
  " [%rd1], %r7;\n" raise " [%rd2], %r5; bra X;\n"                                              \
  "R: " ask " %r5, [%rd2]; setp.ne.u32 %p5, %r5, 1; @%p5 bra R;\n" look                          \
  "setp.ne.u32 %p5, %r6, 9; @%p5 trap; X:\n"
#define SET "st.relaxed.gpu.global.b32"
#define LOOK "ld.relaxed.gpu.global.b32 %r6, [%rd1];\n"
#define ASK "ld.relaxed.gpu.global.b32"

static const micro weak[] = {
    {"relaxed data behind a relaxed flag", "trap", 0, 2, false, PASS(SET, SET, ASK, LOOK)},
    {"relaxed data behind a flag that only its reader orders", "trap", 0, 2, false,
     PASS(SET, SET, "ld.acquire.gpu.global.b32", LOOK)},
    {"relaxed data behind a flag that only its writer orders", "trap", 0, 2, false,
     PASS(SET, "st.release.gpu.global.b32", ASK, LOOK)},
    {"volatile data behind a volatile flag", "trap", 0, 2, false,
     PASS("st.volatile.global.b32", "st.volatile.global.b32", "ld.volatile.global.b32",
          "ld.volatile.global.b32 %r6, [%rd1];\n")},
};
static const micro strong[] = {
    {"relaxed data behind a flag released and acquired", NULL, 0, 2, false,
     PASS(SET, "st.release.gpu.global.b32", "ld.acquire.gpu.global.b32", LOOK)},
    {"relaxed data between fences", NULL, 0, 2, false,
     PASS(SET, "fence.acq_rel.gpu; " SET, ASK, "fence.acq_rel.gpu; " LOOK)},
    {"an atom sees the last value", NULL, 0, 2, false,
     PASS(SET, SET, ASK, "atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 0;\n")},
    {"no thread goes back to an older value", NULL, 0, 2, false,
     "setp.ne.u32 %p6, %r3, 0; @!%p0 bra X; @%p6 bra R; mov.b32 %r5, 1;\n" SET
     " [%rd2], %r5; bra X;\nR: " ASK " %r5, [%rd2]; setp.ne.u32 %p5, %r5, 1; @%p5 bra R;\n" ASK
     " %r6, [%rd2]; setp.ne.u32 %p5, %r6, 1; @%p5 trap; X:\n"},
    {"the own value is the last one", NULL, 0, 0, false,
     "mov.b32 %r5, 3; st.relaxed.gpu.global.b32 [%rd5], %r5;\n"
     "ld.relaxed.gpu.global.b32 %r6, [%rd5]; setp.ne.u32 %p5, %r6, 3; @%p5 trap;\n"},
    {"behind a barrier of the CTA", NULL, 0, 0, false,
     "mov.b32 %r5, 9; @%p0 st.relaxed.gpu.global.b32 [%rd1], %r5; bar.sync 0;\n" LOOK
     "setp.ne.u32 %p5, %r6, 9; @%p5 trap;\n"},
};

static int missed_in(hd_sim_mode mode, uint64_t n_seeds) {
  int missed = 0;
  for (size_t i = 0; i < HD_COUNT(weak); i++) {
    bool found = false, once = false;
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
      micro_run(&weak[i], mode, seed, 0, weak[i].rules, &found, false);
      once = once || found;
    }
    if (!once && mode != HD_SIM_EARLY)
      fprintf(stderr, "%s (mode %s): not found\n", weak[i].name, hd_sim_mode_name(mode));
    missed += !once;
  }
  return missed;
}

static void an_older_value_may_be_seen(void **state) {
  (void)state;
  assert_int_equal(missed_in(HD_SIM_LATE, 1), 0);
  assert_int_equal(missed_in(HD_SIM_RANDOM, 16), 0);
  assert_int_equal(missed_in(HD_SIM_EARLY, 4), (int)HD_COUNT(weak)); /* no value is old */
  assert_int_equal(micro_verify(strong, HD_COUNT(strong)), 0);
}

static void each_case(void **state) {
  (void)state;
  assert_int_equal(micro_verify(cases, HD_COUNT(cases)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_case),
                                     cmocka_unit_test(an_older_value_may_be_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
