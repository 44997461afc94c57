/* Small kernels, one for each rule. Correct variants pass in every mode, and faulty ones are
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "micro.h"

#define BULK_ADD(pred, type) \
  "@" pred " cp.reduce.async.bulk.global.shared::cta.bulk_group.add." type " [%rd2], [%r1], 256;\n"
#define BULK_DONE "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
#define ST_ASYNC(bytes) /* rank 1 stores into rank 0, which expects `bytes` of 256 bytes */ \
  MBAR("1") "fence.mbarrier_init.release.cluster;\n" CLUSTER REMOTE \
  "and.pred %p6, %p0, %p2;\n" \
  "@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], " bytes ";\n" \
  "@%p2 bra C; sub.s32 %r10, %r4, %r1; add.s32 %r10, %r10, %r9; add.s32 %r11, %r9, 2048;\n" \
  "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10], %r0, [%r11]; bra X;\nC: "
#define PEER(fence,                                                                                \
             what) /* rank 1 sends 256 bytes into rank 0, which holds tid's and expects them */    \
  MBAR("1")                                                                                        \
  "fence.mbarrier_init.release.cluster;\n" STORE_MINE fence CLUSTER REMOTE                         \
  "and.pred %p6, %p0, %p2; add.s32 %r11, %r9, 2048; @!%p2 bra S;\n"                                \
  "@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], 256;\n" SPIN(                     \
      "%r1+2048", "0") "ld.shared.b32 %r6, [%r4]; bra X;\n"                                        \
                       "S: @%p0 cp." what " [%r9], [%r1], 256, [%r11];\nX: "
#define FENCED "fence.proxy.async;\n"
#define PEER_COPY \
  "async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
#define PEER_ADD(type) \
  "reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add." type
#define IS_NOT(n) /* tid times n */ \
  "@!%p2 bra Y; mul.lo.s32 %r7, %r0, " n "; setp.ne.u32 %p8, %r6, %r7; @%p8 trap;\nY: "
#define PARTIAL_SUMS(before, after) /* of two CTAs, added by the CTA that counts last */ \
  "mad.lo.s32 %r7, %r3, 64, %r0; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd7, %rd6, %rd2;\n" \
  "st.global.b32 [%rd7+256], %r0; bar.sync 0; mov.b32 %r8, 0; @!%p0 bra L;\n" \
  before "atom.relaxed.gpu.global.add.u32 %r8, [%rd2], 1;" after " st.shared.b32 [%r1], %r8;\n" \
  "L: bar.sync 0; ld.shared.b32 %r8, [%r1]; setp.ne.u32 %p5, %r8, 1; @%p5 bra X;\n" \
  "add.s64 %rd8, %rd2, %rd3; ld.global.b32 %r9, [%rd8+256]; ld.global.b32 %r10, [%rd8+512];\n" \
  "add.s32 %r9, %r9, %r10; st.global.b32 [%rd5], %r9; X:\n"
static const micro cases[] = {
    {"store past the end", "bounds", 0, 0, false, "st.global.b32 [%rd5+1024], %r0;\n"},
    {"load before the start", "bounds", 0, 0, false, "ld.global.b32 %r5, [%rd4+-256];\n"},
    {"store to a read-only buffer", "bounds", 0, 0, false, "st.global.b32 [%rd4], %r0;\n"},
    {"shared store past the end", "bounds", 0, 0, false, "st.shared.b32 [%r4+4096], %r0;\n"},
    {"misaligned", "alignment", 0, 0, false, "ld.global.b32 %r5, [%rd4+2];\n"},
    {"misaligned vector", "alignment", 0, 0, false, "ld.global.v2.b32 {%r5, %r6}, [%rd4+4];\n"},
    {"shared never written", "uninitialised", 0, 0, false, "ld.shared.b32 %r5, [%r4];\n"},
    {"output never written", "uninitialised", 0, 0, false, "ld.global.b32 %r5, [%rd5];\n"},
    {"variables of the module", NULL, 0, 0, false,
     "ld.global.u32 %r5, [table+4]; mov.u64 %rd6, table; ld.global.u32 %r6, [%rd6+12];\n"
     "ld.const.f32 %f1, [half]; ld.const.f32 %f2, [half+4]; mul.f32 %f3, %f1, %f2;\n"
     "ld.global.u64 %rd7, [zero]; cvt.u32.u64 %r8, %rd7; cvt.rzi.u32.f32 %r7, %f3;\n"
     "add.s32 %r5, %r5, %r6; add.s32 %r5, %r5, %r7; add.s32 %r5, %r5, %r8;\n"
     "setp.ne.s32 %p8, %r5, -1; @%p8 st.global.b32 [%rd4], %r5;\n"},
    {"past a variable's end", "bounds", 0, 0, false, "ld.global.u32 %r5, [table+16];\n"},
    {"store to a constant", "bounds", 0, 0, false,
     "mov.u64 %rd6, half; @%p0 st.global.b32 [%rd6], %r0;\n"},
    {"a constant table, by the read-only path", NULL, 0, 0, false,
     "ld.global.nc.u32 %r5, [table+4];\n"},
    {"a table by the read-only path, which the kernel writes", "R7", 0, 0, false,
     "ld.global.nc.u32 %r5, [table+4];\n@%p0 st.global.b32 [table+8], %r5;\n"},
    {"a variable, written by all", "R7|race", 0, 0, false, "st.global.b32 [table], %r0;\n"},
    {"register without a value", "undefined", 0, 0, false, "st.global.b32 [%rd5], %r40;\n"},
    {"undefined through arithmetic", "undefined", 0, 0, false,
     "add.s32 %r41, %r40, 1; st.global.b32 [%rd5], %r41;\n"},
    {"undefined but not chosen", NULL, 0, 0, false,
     "setp.ge.u32 %p5, %r0, 0; selp.b32 %r41, %r0, %r40, %p5; st.global.b32 [%rd5], %r41;\n"},
    {"neighbour's word with a barrier", NULL, 0, 0, false,
     STORE_MINE "bar.sync 0; xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5]; "
                "st.global.b32 [%rd5], %r6;\n"},
    {"neighbour's word without", "race|uninitialised", 0, 0, false,
     STORE_MINE "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5];\n"},
    {"other lane's word with bar.warp.sync", NULL, 0, 0, false,
     STORE_MINE "bar.warp.sync -1; xor.b32 %r5, %r4, 4; ld.shared.b32 %r6, [%r5];\n"},
    {"other lane's word without", "race", 0, 0, false,
     STORE_MINE "xor.b32 %r5, %r4, 4; ld.shared.b32 %r6, [%r5];\n"},
    {"halves of a word by two lanes", NULL, 0, 0, false,
     "shl.b32 %r5, %r0, 1; add.s32 %r5, %r5, %r1; cvt.u16.u32 %h0, %r0; st.shared.b16 [%r5], "
     "%h0;\n"},
    {"half the CTA at a barrier", "deadlock", 0, 0, false, "@%p1 bra X; bar.sync 0; X:\n"},
    {"barrier of a part of a warp", "aligned|deadlock|barrier", 0, 0, false, "@%p0 bar.sync 0;\n"},
    {"named barrier of 32 threads, odd count", "barrier", 0, 0, false, "bar.sync 1, 33;\n"},
    {"mbarrier invalidated behind all waits", NULL, 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n" SPIN(
         "%r1+2048", "0") "bar.sync 0;\n@%p0 mbarrier.inval.shared::cta.b64 [%r1+2048];\n"},
    {"mbarrier invalidated while others may wait", "mbarrier", 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n@%p1 bra Z;\n" SPIN(
         "%r1+2048", "0") "@%p0 mbarrier.inval.shared::cta.b64 [%r1+2048];\nZ:\n"},
    {"mbarrier invalidated while a copy is on its way", "mbarrier", 0, 0, false,
     MBAR("1") PUBLISH
     "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], 256;\n"
     "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, "
     "[%r1+2048];\n@%p0 mbarrier.inval.shared::cta.b64 [%r1+2048];\n"},
    {"bulk store, fenced", NULL, 0, 0, false,
     STORE_MINE "fence.proxy.async.shared::cta; bar.sync 0;\n" BULK_OUT BULK_WAIT},
    {"bulk store without a proxy fence", "R2", 0, 0, false,
     STORE_MINE "bar.sync 0;\n" BULK_OUT BULK_WAIT},
    {"bulk store, fence behind the barrier", "R2", 0, 0, false,
     STORE_MINE "bar.sync 0; fence.proxy.async;\n" BULK_OUT BULK_WAIT},
    {"bulk store, one thread fences", "R2", 0, 0, false,
     STORE_MINE "@%p0 fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT},
    {"bulk store without a barrier", "R2|uninitialised", 0, 0, false,
     STORE_MINE "fence.proxy.async;\n" BULK_OUT BULK_WAIT},
    {"bulk store not waited for", "R6|R1", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT "@%p0 cp.async.bulk.commit_group;\n"
                "st.shared.b32 [%r4], %r0;\n"},
    {"bulk store, source overwritten after the wait", NULL, 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT "bar.sync 0;\n" STORE_MINE},
    {"bulk store, source overwritten before", "R6|R2|race", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT STORE_MINE BULK_WAIT},
    {"bulk store, destination read after .read", "R1|R3|race|uninitialised", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT
                "@%p0 ld.global.b32 %r6, [%rd1];\n"},
    {"mbarrier read as data", "mbarrier", 0, 0, false,
     MBAR("1") "@%p0 ld.shared.b32 %r6, [%r1+2048];\n"},
    {"mbarrier used before its init is visible", "R4|mbarrier", 0, 0, false,
     MBAR("64") "mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"},
    {"data handed over by an mbarrier", NULL, 0, 0, false,
     MBAR("32") PUBLISH
     "@%p1 bra C;\n" STORE_MINE "mbarrier.arrive.shared::cta.b64 _, [%r1+2048]; bra X;\n"
     "C: " SPIN("%r1+2048", "0") "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5]; X:\n"},
    {"arrives before it writes", "race|uninitialised", 0, 0, false,
     MBAR("32") PUBLISH
     "@%p1 bra C;\nmbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n" STORE_MINE
     "bra X;\nC: " SPIN("%r1+2048", "0") "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5]; X:\n"},
    {"one arrival too many", "arrivals", 0, 0, false,
     MBAR("63") PUBLISH "mbarrier.arrive.shared::cta.b64 _, [%r1+2048], 2;\n"},
    {"one arrival too few", "deadlock", 0, 0, false,
     MBAR("65") PUBLISH "mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n" SPIN("%r1+2048", "0")},
    {"an arrival that counts for none", "arrivals", 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048], 0;\n"},
    {"more bytes expected than a barrier counts", "tx", 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], 1048576;\n"},
    {"a second arrival, the first phase not waited for", "phase", 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"
                       "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"},
    {"two phases, each waited for by all", NULL, 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n" SPIN(
         "%r1+2048", "0") "bar.sync 0;\n@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"},
    {"waits that the next phase may overtake", "phase|deadlock", 0, 0, false,
     MBAR("1") PUBLISH "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n" SPIN(
         "%r1+2048", "0") "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n"},
    {"a remote store, cluster barriers", NULL, 2, 2, false,
     CLUSTER REMOTE "@%p2 bra S; add.s32 %r9, %r9, %r4; sub.s32 %r9, %r9, %r1;\n"
                    "st.shared::cluster.b32 [%r9], %r0;\nS: " CLUSTER
                    "@!%p2 bra X; ld.shared.b32 %r6, [%r4]; X:\n"},
    {"a remote store, no barrier before the load", "race|uninitialised|R4", 2, 2, false,
     CLUSTER REMOTE "@%p2 bra S; add.s32 %r9, %r9, %r4; sub.s32 %r9, %r9, %r1;\n"
                    "st.shared::cluster.b32 [%r9], %r0;\n"
                    "S: @!%p2 bra X; ld.shared.b32 %r6, [%r4]; X:\n" CLUSTER},
    {"the owner leaves early", "R4", 2, 2, false,
     CLUSTER REMOTE "@%p2 bra X; add.s32 %r9, %r9, %r4; sub.s32 %r9, %r9, %r1;\n"
                    "st.shared::cluster.b32 [%r9], %r0;\nX:\n"},
    {"data through a remote release.cluster", NULL, 2, 2, false,
     MBAR("64") "fence.mbarrier_init.release.cluster;\n" CLUSTER REMOTE
                "@%p2 bra C; sub.s32 %r10, %r4, %r1; add.s32 %r10, %r10, %r9;\n"
                "st.shared::cluster.b32 [%r10], %r0;\n"
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
                "C: " SPIN_CLUSTER("%r1+2048", "0") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"data through a remote arrive at the default scope", "race", 2, 2, false,
     MBAR("64") "fence.mbarrier_init.release.cluster;\n" CLUSTER REMOTE
                "@%p2 bra C; sub.s32 %r10, %r4, %r1; add.s32 %r10, %r10, %r9;\n"
                "st.shared::cluster.b32 [%r10], %r0;\n"
                "mbarrier.arrive.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
                "C: " SPIN("%r1+2048", "0") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"a remote arrive at an unfenced mbarrier", "R4", 2, 2, false,
     MBAR("64") CLUSTER REMOTE
     "@%p2 bra X; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048];\nX: " CLUSTER},
    {"a remote arrive behind a relaxed cluster barrier", NULL, 2, 2, false,
     MBAR("64") "fence.mbarrier_init.release.cluster;\n" RELAXED REMOTE
                "@%p2 bra C; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048]; bra X;\n"
                "C: " SPIN("%r1+2048", "0") "X: " CLUSTER},
    {"the same at an unfenced mbarrier", "R4", 2, 2, false,
     MBAR("64") RELAXED REMOTE
     "@%p2 bra X; mbarrier.arrive.shared::cluster.b64 _, [%r9+2048];\nX: " CLUSTER},
    {"data behind a relaxed cluster barrier", "race", 2, 2, false,
     STORE_MINE RELAXED REMOTE "sub.s32 %r10, %r4, %r1; add.s32 %r10, %r10, %r9;\n"
                               "@%p2 bra X; ld.shared::cluster.b32 %r6, [%r10];\nX: " CLUSTER},
    {"st.async, waited for", NULL, 2, 2, false,
     ST_ASYNC("256") SPIN_CLUSTER("%r1+2048", "0")
         "ld.shared.b32 %r6, [%r4]; setp.ne.u32 %p8, %r6, %r0;\n"
         "@%p8 st.global.b32 [%rd4], %r6;\nX: " CLUSTER},
    {"st.async, waited for at the CTA's scope", "race", 2, 2, false,
     ST_ASYNC("256") SPIN("%r1+2048", "0") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"st.async, not waited for", "race|uninitialised|R1", 2, 2, false,
     ST_ASYNC("256") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"st.async, one store more than expected", "tx|race|R1", 2, 2, false,
     ST_ASYNC("252") SPIN_CLUSTER("%r1+2048", "0") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"st.async, one store fewer than expected", "deadlock", 2, 2, false,
     ST_ASYNC("260") SPIN_CLUSTER("%r1+2048", "0") "ld.shared.b32 %r6, [%r4];\nX: " CLUSTER},
    {"st.async, then the async proxy", "R2", 2, 2, false,
     ST_ASYNC("256") SPIN_CLUSTER("%r1+2048", "0")
         "fence.proxy.async; bar.sync 0;\n" BULK_OUT BULK_WAIT "X: " CLUSTER},
    {"two bulk reductions", NULL, 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0; setp.eq.u32 %p7, %r0, 32;\n" BULK_ADD("%p0", "u32")
         BULK_ADD("%p7", "u32") BULK_DONE
     "bar.sync 0;\nadd.s64 %rd6, %rd2, %rd3;\n"
     "ld.global.b32 %r6, [%rd6]; shl.b32 %r7, %r0, 1; setp.ne.u32 %p8, %r6, %r7;\n"
     "@%p8 st.global.b32 [%rd4], %r6;\n"},
    {"a bulk reduction without its fence", "R2", 0, 0, false,
     STORE_MINE "bar.sync 0;\n" BULK_ADD("%p0", "s32") BULK_DONE},
    {"a bulk reduction, read before it is done", "R1|R3", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_ADD(
         "%p0", "f32") "@%p0 ld.global.b32 %r6, [%rd2];\n" BULK_DONE},
    {"a bulk reduction, never waited for", "R6", 0, 0, false,
     STORE_MINE "fence.proxy.async; bar.sync 0;\n" BULK_ADD("%p0", "f16")},
    {"multicast", NULL, 2, 2, false,
     MBAR("1") "fence.mbarrier_init.release.cluster;\n" CLUSTER
               "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], 256;\n"
               "and.pred %p6, %p0, %p2; mov.b16 %h0, 3;\n"
               "@%p6 "
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
               "cluster "
               "[%r1], [%rd0], 256, [%r1+2048], %h0;\n" SPIN(
                   "%r1+2048",
                   "0") "ld.shared.b32 %r6, [%r4]; mad.lo.s32 %r7, %r3, 64, %r0; mul.wide.u32 "
                        "%rd6, %r7, 4;\n"
                        "add.s64 %rd6, %rd6, %rd1; st.global.b32 [%rd6], %r6;\n" CLUSTER},
    {"multicast to a CTA that may have left", "R4|R1", 2, 2, false,
     MBAR("1") "fence.mbarrier_init.release.cluster;\n" CLUSTER
               "and.pred %p6, %p0, %p2; mov.b16 %h0, 2;\n"
               "@%p6 "
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
               "cluster "
               "[%r1], [%rd0], 256, [%r1+2048], %h0;\n"},
    {"partial sums, acq_rel", NULL, 0, 2, false,
     "mad.lo.s32 %r7, %r3, 64, %r0; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd7, %rd6, %rd2;\n"
     "st.global.b32 [%rd7+256], %r0; bar.sync 0; mov.b32 %r8, 0;\n"
     "@%p0 atom.acq_rel.gpu.global.add.u32 %r8, [%rd2], 1; @%p0 st.shared.b32 [%r1], %r8;\n"
     "bar.sync 0; ld.shared.b32 %r8, [%r1]; setp.ne.u32 %p5, %r8, 1; @%p5 bra X;\n"
     "add.s64 %rd8, %rd2, %rd3; ld.global.b32 %r9, [%rd8+256]; ld.global.b32 %r10, [%rd8+512];\n"
     "add.s32 %r9, %r9, %r10; st.global.b32 [%rd5], %r9; X:\n"},
    {"partial sums, relaxed with fences", NULL, 0, 2, false,
     PARTIAL_SUMS("fence.acq_rel.gpu;", "fence.acq_rel.gpu;")},
    {"partial sums, no fence before", "R7", 0, 2, false, PARTIAL_SUMS("", "fence.acq_rel.gpu;")},
    {"partial sums, released and acquired", NULL, 0, 2, false,
     PARTIAL_SUMS("fence.release.gpu;", "fence.acquire.gpu;")},
    {"partial sums, acquired instead of released", "R7", 0, 2, false,
     PARTIAL_SUMS("fence.acquire.gpu;", "fence.acquire.gpu;")},
    {"partial sums, released instead of acquired", "R7", 0, 2, false,
     PARTIAL_SUMS("fence.release.gpu;", "fence.release.gpu;")},
    {"partial sums, cta scope", "R7", 0, 2, false,
     "mad.lo.s32 %r7, %r3, 64, %r0; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd7, %rd6, %rd2;\n"
     "st.global.b32 [%rd7+256], %r0; bar.sync 0; mov.b32 %r8, 0;\n"
     "@%p0 atom.acq_rel.cta.global.add.u32 %r8, [%rd2], 1; @%p0 st.shared.b32 [%r1], %r8;\n"
     "bar.sync 0; ld.shared.b32 %r8, [%r1]; setp.ne.u32 %p5, %r8, 1; @%p5 bra X;\n"
     "add.s64 %rd8, %rd2, %rd3; ld.global.b32 %r9, [%rd8+256]; ld.global.b32 %r10, [%rd8+512];\n"
     "X:\n"},
    {"two CTAs write one word", "R7", 0, 2, false, "st.global.b32 [%rd5], %r0;\n"},
    {"a CTA waits for one that never comes", "deadlock", 0, 1, false,
     "W: ld.acquire.gpu.global.b32 %r5, [%rd2]; setp.eq.u32 %p5, %r5, 0; @%p5 bra W;\n"},
    {"... and asks by atom", "deadlock", 0, 1, false,
     "W: atom.acquire.gpu.global.cas.b32 %r5, [%rd2], 1, 2;\n"
     "setp.ne.u32 %p5, %r5, 1; @%p5 bra W;\n"},
    {"... of several words", "deadlock", 0, 1, false,
     "W: ld.relaxed.gpu.global.b32 %r5, [%rd2]; ld.relaxed.gpu.global.b32 %r6, [%rd2+4];\n"
     "or.b32 %r5, %r5, %r6; setp.eq.u32 %p5, %r5, 0; @%p5 bra W;\n"},
    {"a CTA asks by atom, and is answered", NULL, 0, 2, false,
     "setp.ne.u32 %p6, %r3, 0; @%p6 bra A; @%p1 bra X;\n"
     "W: atom.acquire.gpu.global.cas.b32 %r5, [%rd2], 1, 1; setp.ne.u32 %p5, %r5, 1; @%p5 bra W;\n"
     "bra X; A: @%p0 st.release.gpu.global.b32 [%rd2], 1; X:\n"},
    {"strong loads of one word after the other", NULL, 0, 1, false,
     "mov.b32 %r6, 0; mov.b64 %rd6, %rd2;\n"
     "L: ld.relaxed.gpu.global.b32 %r5, [%rd6]; add.s64 %rd6, %rd6, 4; add.s32 %r6, %r6, 1;\n"
     "setp.lt.u32 %p5, %r6, 16; @%p5 bra L;\n"},
    {"atoms that change nothing, one after the other", NULL, 0, 1, false,
     "mov.b32 %r6, 0; mov.b64 %rd6, %rd2;\n"
     "L: atom.relaxed.gpu.global.or.b32 %r5, [%rd6], 0;\n"
     "add.s64 %rd6, %rd6, 4; add.s32 %r6, %r6, 1;\n"
     "setp.lt.u32 %p5, %r6, 16; @%p5 bra L;\n"},
    {"bulk copy to a CTA of the cluster", NULL, 2, 2, false,
     PEER(FENCED, PEER_COPY) CLUSTER IS_NOT("1")},
    {"reduction into a CTA of the cluster", NULL, 2, 2, false,
     PEER(FENCED, PEER_ADD("u32")) CLUSTER IS_NOT("2")},
    {"bulk copy from a CTA that leaves", "R4", 2, 2, false, PEER(FENCED, PEER_COPY)},
    {"bulk copy within the cluster, without a fence", "R2", 2, 2, false,
     PEER("", PEER_COPY) CLUSTER},
    {"reduction into the cluster, without a fence", "R2", 2, 2, false,
     PEER("", PEER_ADD("u32")) CLUSTER},
    {"grid dependency", NULL, 0, 0, true,
     "griddepcontrol.wait; ld.global.b32 %r5, [%rd4]; st.global.b32 [%rd5], %r5;\n"},
    {"read before griddepcontrol.wait", "R8", 0, 0, true,
     "ld.global.b32 %r5, [%rd4]; griddepcontrol.wait; st.global.b32 [%rd5], %r5;\n"},
    {"write before griddepcontrol.wait", "R8", 0, 0, true,
     "st.global.b32 [%rd5], %r0; griddepcontrol.wait;\n"},
    {"lets the next grid start", NULL, 0, 0, true,
     "griddepcontrol.wait; griddepcontrol.launch_dependents; st.global.b32 [%rd5], %r0;\n"},
    {"lets the next grid start before griddepcontrol.wait", "R8", 0, 0, true,
     "griddepcontrol.launch_dependents; griddepcontrol.wait; st.global.b32 [%rd5], %r0;\n"},
    {"leaves without griddepcontrol.wait", "R8", 0, 0, true, "mov.b32 %r5, 0;\n"},
    {"cp.async, waited for and a barrier", NULL, 0, 0, false,
     "cp.async.ca.shared.global [%r4], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 0;\n"
     "bar.sync 0; xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5];\n"},
    {"cp.async, only waited for", "race|uninitialised", 0, 0, false,
     "cp.async.ca.shared.global [%r4], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 0;\n"
     "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5];\n"},
    {"cp.async.mbarrier.arrive", NULL, 0, 0, false,
     MBAR("64") PUBLISH "cp.async.ca.shared.global [%r4], [%rd4], 4;\n"
                        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+2048];\n" SPIN(
                            "%r1+2048", "0") "xor.b32 %r5, %r4, 128; ld.shared.b32 %r6, [%r5];\n"},
    {"gathered, fenced, stored in bulk", NULL, 0, 0, false,
     "cp.async.ca.shared.global [%r4], [%rd4], 4; cp.async.wait_all; fence.proxy.async; bar.sync "
     "0;\n" BULK_OUT BULK_WAIT},
    {"gathered, fenced before the wait", "R2", 0, 0, false,
     "cp.async.ca.shared.global [%r4], [%rd4], 4; fence.proxy.async; cp.async.wait_all; bar.sync "
     "0;\n" BULK_OUT BULK_WAIT},
    {"cp.async.mbarrier.arrive in flight when a CTA leaves and others run", "R1|phase", 0, 8, false,
     MBAR("32") PUBLISH "cp.async.ca.shared.global [%r4], [%rd4], 4;\n"
                        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+2048];\n" SPIN("%r1+2048",
                                                                                       "0")},
    {"cp.async in flight at the end", "R1", 0, 0, false,
     "cp.async.ca.shared.global [%r4], [%rd4], 4; cp.async.commit_group;\n"},
};

static void each_rule(void **state) {
  (void)state;
  assert_int_equal(micro_verify(cases, HD_COUNT(cases)), 0);
}

/* If a part of its model is off, the simulator must miss the faults that need this part. */
static void a_blind_simulator_misses(void **state) {
  (void)state;
  static const struct {
    const char *rules;
    uint32_t off;
  } parts[] = {{"R2", HD_SIM_NO_PROXIES},
               {"race", HD_SIM_NO_RACES},
               {"phase", HD_SIM_NO_RACES},
               {"uninitialised", HD_SIM_NO_UNDEFINED}};
  for (size_t p = 0; p < HD_COUNT(parts); p++) {
    int missed = 0;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
      bool found;
      if (cases[i].rules && strcmp(cases[i].rules, parts[p].rules) == 0)
        missed += micro_run(&cases[i], HD_SIM_EARLY, 2, parts[p].off, parts[p].rules, &found,
                            false) == HEDDLE_OK;
    }
    assert_true(missed > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rule),
      cmocka_unit_test(a_blind_simulator_misses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
