/* Small kernels, one for each rule. A case gives only the body of the kernel. */
#ifndef MICRO_H
#define MICRO_H

#include "sim_harness.h"

/* Registers at the start of a body: %rd0 = a (256 read-only words, word i holds i), %rd1 = d (256
 * words, not yet written), %rd2 = w (workspace of zeros), %r0 = tid, %r1 = shared base, %r2 =
 * cluster rank, %r3 = ctaid, %p0: tid 0. Shared memory: 4096 bytes. */
typedef struct micro {
  const char *name, *rules; /* NULL: correct; after a bracket: at least one seed finds it */
  int cluster, grid;        /* 0 means 1 */
  bool dependent;
  const char *body;
} micro;

#define STORE_MINE "st.shared.b32 [%r4], %r0;\n"
#define MBAR(n) "@%p0 mbarrier.init.shared::cta.b64 [%r1+2048], " n ";\n"
#define PUBLISH "fence.mbarrier_init.release.cluster; bar.sync 0;\n"
#define CLUSTER "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
#define RELAXED "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;\n"
#define SPIN(address, parity) \
  "{ .reg .pred P; W: mbarrier.try_wait.parity.shared::cta.b64 P, [" address "], " parity ";\n" \
  "@!P bra W; }\n"
#define SPIN_CLUSTER(address, parity)                                                              \
  "{ .reg .pred P; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 P, [" address       \
  "], " parity ";\n@!P bra W; }\n"
#define BULK_OUT "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 256;\n"
#define BULK_WAIT "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group.read 0;\n"
#define REMOTE "mapa.shared::cluster.u32 %r9, %r1, 0;\n" /* shared memory of rank 0 */

/* Runs a case once. found: whether one of the rules has a finding. */
heddle_status micro_run(const micro *c, hd_sim_mode mode, uint64_t seed, uint32_t off,
                        const char *rules, bool *found, bool print);
/* Runs each case in every mode with several seeds. Returns the number of runs with an unexpected
 * result, and prints them. */
int micro_verify(const micro *cases, size_t n);

#endif
