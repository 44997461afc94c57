/* Small kernels for the corner cases of the rules: races that occur only sometimes on hardware, and
 * faults that a favourable schedule hides. The result is the same in every mode and with every
 * seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>

#include "micro.h"

#define OTHER "setp.eq.u32 %p7, %r0, 32;\n" /* the first thread of the second warp */
#define ARRIVE(p) "@" p " mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"
#define EXPECT(p) "@" p " mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1+2048], 256;\n"
#define INVAL "@%p0 mbarrier.inval.shared::cta.b64 [%r1+2048];\n"
#define COPY_IN(p)                                                                                 \
  "@" p " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, "  \
  "[%r1+2048];\n"
#define FENCE_INIT "fence.mbarrier_init.release.cluster;\n"
#define TO_RANK_0 "sub.s32 %r10, %r4, %r1; add.s32 %r10, %r10, %r9;\n" /* %r10: rank 0's word */

/* Three CTAs. The first one writes and releases. The second one acquires and passes it on. A
 * separate word tells the third one when to read. It reads the flag twice, because the first value
 * may be an older one (sim_stale.c). */
#define PASS_ON(store)                                                                             \
  "setp.eq.u32 %p5, %r3, 0; setp.eq.u32 %p6, %r3, 1; @!%p0 bra X; @%p5 bra A; @%p6 bra B;\n"       \
  "V: ld.relaxed.gpu.global.b32 %r5, [%rd2+4]; setp.ne.u32 %p4, %r5, 1; @%p4 bra V;\n"             \
  "ld.relaxed.gpu.global.b32 %r5, [%rd2]; ld.acquire.gpu.global.b32 %r5, [%rd2];\n"               \
  "ld.global.b32 %r6, [%rd1]; bra X;\n"                                                           \
  "A: st.global.b32 [%rd1], %r0; mov.b32 %r5, 1; st.release.gpu.global.b32 [%rd2], %r5; bra X;\n"  \
  "B: ld.acquire.gpu.global.b32 %r5, [%rd2]; setp.ne.u32 %p4, %r5, 1; @%p4 bra B;\n"               \
  "mov.b32 %r5, 1; " store " [%rd2], %r5; st.relaxed.gpu.global.b32 [%rd2+4], %r5;\nX:\n"

static const micro cases[] = {
    /* mbarriers */
    {"invalidated, another may still arrive", "mbarrier", 0, 0, false,
     MBAR("2") PUBLISH OTHER ARRIVE("%p7") INVAL},
    {"invalidated, the arrival that ended its phase not waited for", "mbarrier", 0, 0, false,
     MBAR("1") PUBLISH OTHER ARRIVE("%p7") INVAL},
    {"invalidated behind all arrivals", NULL, 0, 0, false,
     MBAR("2") PUBLISH OTHER ARRIVE("%p7") "bar.sync 0;\n" INVAL},
    {"invalidated, then data", NULL, 0, 0, false,
     MBAR("2") PUBLISH INVAL "bar.sync 0;\nst.shared.b32 [%r4+2048], %r0;\n"},
    {"invalidated while others write there", "race|mbarrier", 0, 0, false,
     MBAR("2") PUBLISH INVAL "st.shared.b32 [%r4+2048], %r0;\n"},
    {"initialised where another has just written", "race|mbarrier", 0, 0, false,
     "@%p1 st.shared.b32 [%r4+1920], %r0;\n" MBAR("1")},
    {"bytes expected alone, then the arrival", NULL, 0, 0, false,
     MBAR("1") PUBLISH EXPECT("%p0") ARRIVE("%p0") COPY_IN("%p0") SPIN("%r1+2048", "0")},
    {"bytes expected beside the arrival that may end the phase", "phase", 0, 0, false,
     MBAR("1") PUBLISH OTHER EXPECT("%p7") COPY_IN("%p7") ARRIVE("%p0") SPIN("%r1+2048", "0")},
    {"bytes expected, the phase before not waited for", "phase|arrivals", 0, 0, false,
     MBAR("1") PUBLISH OTHER ARRIVE("%p0") EXPECT("%p7") "bar.sync 0;\n" ARRIVE("%p0")
         COPY_IN("%p0")},
    {"waits at another CTA's mbarrier", "mbarrier", 2, 2, false,
     MBAR("1") FENCE_INIT CLUSTER REMOTE "@%p2 bra X;\n" SPIN("%r9+2048", "1") "X: " CLUSTER},
    {"invalidates another CTA's mbarrier", "mbarrier", 2, 2, false,
     MBAR("1") FENCE_INIT CLUSTER REMOTE
     "@%p2 bra X;\n@%p0 mbarrier.inval.shared::cta.b64 [%r9+2048];\nX: " CLUSTER},
    /* named barriers */
    {"arrives twice in a round", "barrier", 0, 0, false,
     "@%p1 bra X;\nbar.arrive 1, 64;\nbar.arrive 1, 64;\nX:\n"},
    {"arrives, then waits in the same round", "barrier", 0, 0, false,
     "@%p1 bra X;\nbar.arrive 1, 64;\nbar.sync 1, 64;\nX:\n"},
    {"arrives for two rounds, not told that the first is over", "barrier|phase", 0, 0, false,
     "@%p1 bra C;\nbar.arrive 1, 64;\nbar.arrive 1, 64;\nbra X;\n"
     "C: bar.sync 1, 64;\nbar.sync 1, 64;\nX:\n"},
    {"arrives for the second round behind a wait that does not tell", "barrier|phase", 0, 0, false,
     "@%p1 bra C;\nbar.arrive 1, 64;\nbar.sync 2, 64;\nbar.arrive 1, 64;\nbra X;\n"
     "C: bar.arrive 2, 64;\nbar.sync 1, 64;\nbar.sync 1, 64;\nX:\n"},
    {"arrives for two rounds, told between", NULL, 0, 0, false,
     "@%p1 bra C;\nbar.arrive 1, 64;\nbar.sync 2, 64;\nbar.arrive 1, 64;\nbra X;\n"
     "C: bar.sync 1, 64;\nbar.arrive 2, 64;\nbar.sync 1, 64;\nX:\n"},
    {"lanes of a warp at two barriers", "barrier", 0, 0, false,
     "and.b32 %r5, %r0, 1;\nbar.sync %r5;\n"},
    {"lanes of a warp at a barrier for two numbers of threads", "barrier", 0, 0, false,
     "and.b32 %r5, %r0, 1;\nmad.lo.u32 %r5, %r5, 32, 32;\nbarrier.sync 1, %r5;\n"},
    {"all at one barrier, by a register", NULL, 0, 0, false,
     "mov.b32 %r5, 3;\nmov.b32 %r6, 64;\nbar.sync %r5, %r6;\nbarrier.sync %r5, %r6;\n"},
    /* start and end of a cluster */
    {"arrives at a CTA that may have left", "R4", 2, 2, false,
     MBAR("64") FENCE_INIT CLUSTER REMOTE
     "@%p2 bra X; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048];\nX:\n"},
    {"arrives at a CTA that waits for it", NULL, 2, 2, false,
     MBAR("64") FENCE_INIT CLUSTER REMOTE
     "@%p2 bra C; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
     "C: " SPIN("%r1+2048", "0") "X:\n"},
    {"stores into a CTA that may not have begun", "R4", 2, 2, false,
     REMOTE "@%p2 bra X;\n" TO_RANK_0 "st.shared::cluster.b32 [%r10], %r0;\nX: " CLUSTER},
    {"CTAs that arrive and leave, and two that wait", NULL, 4, 4, false,
     STORE_MINE "mapa.shared::cluster.u32 %r9, %r4, 3; setp.lt.u32 %p5, %r2, 2;\n"
                "setp.ne.u32 %p6, %r2, 2; barrier.cluster.arrive.aligned; @%p5 bra X;\n"
                "barrier.cluster.wait.aligned; @%p6 bra Y; ld.shared::cluster.b32 %r6, [%r9];\n"
                "Y: " CLUSTER "X:\n"},
    /* proxies */
    {"a remote write, fenced for the cluster's memory", NULL, 2, 2, false,
     CLUSTER REMOTE TO_RANK_0
     "@!%p2 st.shared::cluster.b32 [%r10], %r0; fence.proxy.async.shared::cluster;\n" CLUSTER
     "@!%p2 bra X;\n" BULK_OUT BULK_WAIT "X:\n"},
    {"a remote write, fenced for the own memory", "R2", 2, 2, false,
     CLUSTER REMOTE TO_RANK_0
     "@!%p2 st.shared::cluster.b32 [%r10], %r0; fence.proxy.async.shared::cta;\n" CLUSTER
     "@!%p2 bra X;\n" BULK_OUT BULK_WAIT "X:\n"},
    {"data read behind a relaxed wait", "race", 0, 0, false,
     MBAR("32") PUBLISH
     "@%p1 bra C;\n" STORE_MINE "mbarrier.arrive.shared::cta.b64 _, [%r1+2048]; bra X;\n"
     "C: { .reg .pred P;\n"
     "W: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 P, [%r1+2048], 0; @!P bra W; }\n"
     "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5]; X:\n"},
    {"a bulk store's D read behind a wait for its reads alone", "race|R1|R2", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT
                "@%p0 ld.global.b32 %r5, [%rd1];\n"},
    {"a bulk store's D read behind a wait for all of it", NULL, 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT
                "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n"
                "@%p0 ld.global.b32 %r5, [%rd1];\n"},
    /* the predecessor grid */
    {"one warp waits for the grid ahead, both meet", NULL, 0, 0, true,
     "@%p1 bra L; griddepcontrol.wait;\nL: bar.sync 0; st.global.b32 [%rd5], %r0;\n"},
    {"one warp waits for the grid ahead", "R8", 0, 0, true,
     "@%p1 bra L; griddepcontrol.wait;\nL: st.global.b32 [%rd5], %r0;\n"},
    {"a bulk store before griddepcontrol.wait", "R8", 0, 0, true,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT "griddepcontrol.wait;\n"},
    {"counts in the workspace before griddepcontrol.wait", "R8", 0, 0, true,
     "@%p0 red.relaxed.gpu.global.add.u32 [%rd2], 1; griddepcontrol.wait;\n"},
    /* global memory, between CTAs */
    {"a flag that is polled for", NULL, 0, 2, false,
     "setp.ne.u32 %p6, %r3, 0; @!%p0 bra X; @%p6 bra A;\n"
     "W: ld.acquire.gpu.global.b32 %r5, [%rd2]; setp.eq.u32 %p5, %r5, 0; @%p5 bra W;\n"
     "ld.global.b32 %r6, [%rd1]; bra X;\n"
     "A: st.global.b32 [%rd1], %r0; mov.b32 %r5, 1; st.release.gpu.global.b32 [%rd2], %r5;\nX:\n"},
    {"a flag that is polled for, at the CTA's scope", "R7", 0, 2, false,
     "setp.ne.u32 %p6, %r3, 0; @!%p0 bra X; @%p6 bra A;\n"
     "W: ld.acquire.cta.global.b32 %r5, [%rd2]; setp.eq.u32 %p5, %r5, 0; @%p5 bra W; bra X;\n"
     "A: mov.b32 %r5, 1; st.release.gpu.global.b32 [%rd2], %r5;\nX:\n"},
    {"passed on by a release", NULL, 0, 3, false, PASS_ON("st.release.gpu.global.b32")},
    {"passed on by a relaxed store", "R7", 0, 3, false, PASS_ON("st.relaxed.gpu.global.b32")},
    {"passed on by a relaxed addition", NULL, 0, 3, false,
     PASS_ON("red.relaxed.gpu.global.add.u32")},
    {"counted by both CTAs, at the CTA's scope", "R7", 0, 2, false,
     "@%p0 red.relaxed.cta.global.add.u32 [%rd2], 1;\n"},
    {"counted by both warps, at the CTA's scope", NULL, 0, 1, false,
     "red.relaxed.cta.global.add.u32 [%rd2], 1;\n"},
    {"counted within the cluster, at its scope", NULL, 2, 2, false,
     "red.relaxed.cluster.global.add.u32 [%rd2], 1;\n"},
    {"counted by two clusters, at the cluster's scope", "R7", 2, 4, false,
     "red.relaxed.cluster.global.add.u32 [%rd2], 1;\n"},
    {"added to by all, read by one that waits for nobody", "R7", 0, 2, false,
     "@%p0 red.relaxed.gpu.global.add.u32 [%rd2], 1; setp.ne.u32 %p6, %r3, 0;\n"
     "@!%p0 bra X; @%p6 bra X; ld.global.b32 %r5, [%rd2]; X:\n"},
    {"added to by all, set by one that waits for nobody", "R7", 0, 2, false,
     "@%p0 red.relaxed.gpu.global.add.u32 [%rd2], 1; setp.ne.u32 %p6, %r3, 0;\n"
     "@!%p0 bra X; @%p6 bra X; st.global.b32 [%rd2], %r0; X:\n"},
};

static void each_edge(void **state) {
  (void)state;
  assert_int_equal(micro_verify(cases, HD_COUNT(cases)), 0);
}

/* Two warpgroups that start with 64 registers per thread and execute `first` and `second`. */
static heddle_status run_pool(const char *directive, const char *first, const char *second,
                              const char *rule) {
  harness h;
  char text[1024];
  int n = snprintf(text, sizeof text,
                   ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry pool()\n"
                   ".maxntid 256, 1, 1\n%s{\n.reg .pred %%p<2>; .reg .b32 %%r<2>;\n"
                   "mov.u32 %%r0, %%tid.x; setp.ge.u32 %%p0, %%r0, 128; @%%p0 bra S;\n"
                   "%s bra X;\nS: %s\nX: ret;\n}\n",
                   directive, first, second);
  harness_start(&h, "pool", 256, 0, 1);
  heddle_status status = harness_run_text(&h, text, (size_t)n);
  if (rule && !harness_found(&h, rule)) {
    harness_print(&h);
    status = HEDDLE_OK;
  }
  harness_stop(&h);
  return status;
}

#define SET(what, n) "setmaxnreg." what ".sync.aligned.u32 " n ";"

static void registers_come_from_the_pool(void **state) {
  (void)state;
  static const char known[] = ".maxnreg 64\n";
  assert_int_equal(run_pool(known, SET("dec", "24"), SET("inc", "104"), NULL), HEDDLE_OK);
  assert_int_equal(run_pool("", SET("dec", "24"), SET("inc", "112"), NULL), HEDDLE_OK);
  assert_int_equal(run_pool(known, SET("dec", "24"), SET("inc", "112"), "deadlock"),
                   HEDDLE_MISMATCH);
  assert_int_equal(run_pool(known, "bar.sync 0;" SET("dec", "24"), SET("inc", "104") "bar.sync 0;",
                            "deadlock"), HEDDLE_MISMATCH);
  assert_int_equal(run_pool(".maxnreg 257\n", "", "", NULL), HEDDLE_INVALID);
  assert_int_equal(run_pool(known, SET("inc", "24"), "", "registers"), HEDDLE_MISMATCH);
  assert_int_equal(run_pool(known, SET("dec", "72"), "", "registers"), HEDDLE_MISMATCH);
}

/* Executed by a part of a warpgroup, by its warps at two instructions, and twice without a barrier
 * between. */
static void a_warpgroup_resizes_together(void **state) {
  (void)state;
  static const char known[] = ".maxnreg 64\n", again[] = SET("dec", "24") SET("dec", "24"),
                    meeting[] = SET("dec", "32") "bar.sync 1, 128;" SET("dec", "24");
  assert_int_equal(run_pool(known, "setp.ge.u32 %p1, %r0, 64; @%p1 bra X;" SET("dec", "24"), "",
                            "registers"), HEDDLE_MISMATCH);
  assert_int_equal(run_pool(known, "setp.ge.u32 %p1, %r0, 64; @%p1 bra Z;" SET("dec", "24")
                            "bra X; Z:" SET("dec", "24"), "", "registers"), HEDDLE_MISMATCH);
  assert_int_equal(run_pool(known, again, "", "registers"), HEDDLE_MISMATCH);
  assert_int_equal(run_pool(known, meeting, "", NULL), HEDDLE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_edge),
                                     cmocka_unit_test(registers_come_from_the_pool),
                                     cmocka_unit_test(a_warpgroup_resizes_together)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
