/* Sim/sim_machine.h: the state of a running launch (private to the folder). */
#ifndef HD_SIM_MACHINE_H
#define HD_SIM_MACHINE_H

#include <stddef.h>

#include "Sim/sim.h"
#include "Sim/sim_program.h"

/* Where each space begins in the generic address space. Shared: + (CTA rank << 24 | offset). */
#define SIM_SHARED_WINDOW 0x7f1000000000ull
#define SIM_PARAM_WINDOW 0x7f2000000000ull
#define SIM_LOCAL_WINDOW 0x7f3000000000ull

enum {
  SIM_RANK_SHIFT = 24,
  SIM_N_BARRIERS = 16,
  SIM_MAX_MBARRIERS = 256,
  SIM_SHARED_LIMIT = 233472 /* 228 KB, the reserved kilobyte included */
};

/* ---- happens-before: vector clocks (sim_clock.c) ---- */

/* An agent makes its accesses in order: a thread, its cp.async groups, its bulk groups (reads
 * of the source; writes of the destination), a warpgroup's wgmma groups, a phase of an mbarrier.
 *
 *    31            13 12             0
 *   +----------------+----------------+
 *   | CTA            | agent of it    |
 *   +----------------+----------------+
 */
typedef uint32_t sim_agent;
enum { SIM_AGENT_SHIFT = 13, SIM_CLOCK_STEP = 16, SIM_NO_AGENT = 0xffffffffu };

typedef struct sim_block {
  uint32_t n_refs;
  uint32_t clock[];
} sim_block;

/* One block per CTA; NULL if all zero; copied on write. */
typedef struct sim_clock {
  sim_block **block;
} sim_clock;

/* What happened before a point of a thread, or before a barrier completed, in three strengths.
 * full: memory is visible. reads: earlier reads are complete (all that R3's remote arrive at
 * default scope orders). order: earlier instructions are complete (relaxed arrivals, commits and
 * landing bytes order no memory). order >= reads >= full. */
enum { SIM_VC_PARTS = 3 };
typedef struct sim_vc {
  sim_clock full, reads, order;
} sim_vc;

/* A vector clock plus the holder's own clock. */
typedef struct sim_view {
  const sim_vc *vc;
  sim_agent self;
  uint32_t self_clock;
} sim_view;

struct sim_machine;
struct sim_cta;

void hd_sim_vc_init(const struct sim_machine *m, sim_vc *vc);
void hd_sim_vc_free(const struct sim_machine *m, sim_vc *vc);
void hd_sim_clock_join(const struct sim_machine *m, sim_clock *into, const sim_clock *from);
void hd_sim_vc_join(const struct sim_machine *m, sim_vc *into, const sim_vc *from);
/* Joins reads and order; of full, only the operations on tensor memory. */
void hd_sim_vc_join_tensor(const struct sim_machine *m, sim_vc *into, const sim_vc *from);
/* into becomes from, which must include into. */
void hd_sim_vc_copy(const struct sim_machine *m, sim_vc *into, const sim_vc *from);
/* into becomes the minimum of both. */
void hd_sim_vc_meet(const struct sim_machine *m, sim_vc *into, const sim_vc *other);
void hd_sim_clock_raise(const struct sim_machine *m, sim_clock *into, sim_agent agent,
                        uint32_t clock);
void hd_sim_vc_raise(const struct sim_machine *m, sim_vc *into, sim_agent agent, uint32_t clock);
/* The same for each lane of a warp. Lanes mostly hold the same blocks: the result of one join is
 * reused for the next lane. Each kind of join needs a sim_lanes of its own. */
typedef struct sim_lanes {
  sim_block **before;   /* owned: the last lane's blocks before the join */
  const sim_vc *made;   /* the last lane's result; NULL: none yet */
  const sim_vc *from;
} sim_lanes;
void hd_sim_lanes_begin(const struct sim_machine *m, sim_lanes *lanes);
void hd_sim_lanes_join(const struct sim_machine *m, sim_lanes *lanes, sim_vc *into,
                       const sim_vc *from);
void hd_sim_lanes_raise(const struct sim_machine *m, sim_lanes *lanes, sim_vc *into,
                        sim_agent agent, uint32_t clock);
void hd_sim_lanes_end(sim_lanes *lanes);
bool hd_sim_clock_has(const sim_clock *clock, sim_agent agent, uint32_t at);
/* Equal blocks; false also for equal clocks in different blocks. */
bool hd_sim_vc_same(const struct sim_machine *m, const sim_vc *a, const sim_vc *b);

/* ---- memory ---- */

typedef struct sim_readers {
  sim_agent agent;
  uint32_t clock, site;
  uint32_t next; /* index + 1 in the machine's pool; 0 = end */
  bool wrote;    /* a strong write that is not ordered before the last one, also strong */
} sim_readers;

enum { SIM_MAX_NOTED = 2 /* with the last writer and, if `more` is 0, the reader */ };
enum { SIM_CELL_WRITTEN = 1, SIM_CELL_ASYNC = 2, SIM_CELL_WROTE = 4, SIM_CELL_MBARRIER = 8 };

/* The history of one cell of memory: its last write, and the reads since then that precede no later
 * read. If the last write is strong, also earlier strong accesses that are not ordered before it
 * (WROTE: some are writes). */
typedef struct sim_cell {
  sim_agent writer;
  uint32_t write_clock, write_site, flags;
  sim_agent reader;
  uint32_t read_clock, read_site, more; /* more: list of further readers */
} sim_cell;

typedef struct sim_memory {
  uint8_t *data;
  uint64_t n_bytes;
  sim_cell *cell; /* NULL: not tracked (read-only buffers) */
  uint8_t shift;
  const hd_sim_buffer *buffer; /* NULL: shared or tensor memory of cta */
  struct sim_cta *cta;
  bool stored, read_as_constant; /* a variable of the module: written, and read by ld.global.nc */
  const uint16_t *column; /* tensor memory: per column, 1 + the first column of its allocation */
} sim_memory;
/* ---- synchronisation objects ---- */

/* A thread's use of an mbarrier: a wait that has passed on the previous phase, an expect_tx without
 * an arrival in the current one, or an arrival. */
typedef struct sim_waited {
  const struct sim_warp *warp;
  const struct sim_insn *insn;
  uint32_t lane;
  sim_agent agent;
  uint32_t clock;
  bool expects, followed; /* expect_tx only; an arrival of the phase is ordered after it */
} sim_waited;

typedef struct sim_mbarrier {
  uint32_t offset;
  bool live;
  uint32_t count, pending, phase; /* phase: how many have completed */
  int64_t tx;                     /* bytes expected and not yet arrived */
  uint32_t in_flight;             /* asynchronous operations that will signal it */
  uint32_t commits, committed;    /* pending tcgen05.commit; as landed, for commits */
  uint32_t landed;                /* the last phase, counted from 1, in which bytes landed */
  sim_agent init_agent;
  uint32_t init_clock;
  sim_vc arriving, done; /* local and cluster-scope releases; done: of completed phases */
  sim_vc arriving_cluster, done_cluster; /* full: releases that need acquire.cluster */
  sim_vc arriving_order, done_order;     /* order that arrivals imply, for tcgen05 fences */
  uint32_t site; /* of the init */
  sim_waited *waited; /* owned */
  uint32_t n_waited, waited_cap;
  bool expecting; /* some of `waited` are expect_tx */
  sim_waited *arrived; /* owned */
  uint32_t n_arrived, arrived_cap;
} sim_mbarrier;

typedef struct sim_barrier {
  uint32_t expected, arrived, generation;
  sim_vc arriving, done;
} sim_barrier;

/* ---- threads, warps, CTAs ---- */

typedef struct sim_fence {
  uint32_t clock;  /* of the thread, when it fenced */
  uint32_t cp_known; /* cp.async groups that it had waited for */
  uint8_t what;    /* SIM_FENCE_... */
} sim_fence;
enum { /* REMOTE: shared memory of the cluster's other CTAs */
  SIM_FENCE_SHARED = 1,
  SIM_FENCE_GLOBAL = 2,
  SIM_FENCE_INIT = 4,
  SIM_FENCE_TENSOR = 8,
  SIM_FENCE_REMOTE = 16
};

/* What threads released, each at a scope. */
typedef struct sim_release {
  sim_agent agent;
  uint8_t scope;
  sim_vc vc;
} sim_release;
typedef struct sim_releases {
  sim_release *at; /* owned */
  uint32_t n, cap;
} sim_releases;

typedef struct sim_thread {
  sim_vc vc;
  uint32_t clock;
  sim_fence *fence;
  uint32_t n_fences, fence_cap;
  uint32_t cp_issued, cp_waited; /* cp.async operations, counted from 1 */
  uint32_t *cp_group;            /* how many had been issued at each commit */
  uint32_t n_cp_groups, cp_group_cap;
  uint32_t bulk_issued, bulk_committed; /* operations of the open group; committed groups */
  uint32_t cluster_generation; /* of its last barrier.cluster.arrive */
  bool cluster_arrived;
  uint16_t came; /* bits: barriers that it arrived at in their current round */
  sim_releases fenced; /* by its last fence of each scope, for its next strong writes */
  sim_releases seen;   /* by its relaxed reads, for its next acquire fence */
  struct sim_issuer *issuer; /* of tcgen05 instructions; NULL: the program has none */
} sim_thread;

/* What a blocked group of lanes waits for. */
typedef enum sim_wait_kind {
  SIM_WAIT_NONE,
  SIM_WAIT_MBARRIER,
  SIM_WAIT_BARRIER,
  SIM_WAIT_CLUSTER,
  SIM_WAIT_WGMMA,
  SIM_WAIT_CP_ASYNC,
  SIM_WAIT_BULK,
  SIM_WAIT_LANES,
  SIM_WAIT_TENSOR,
  SIM_WAIT_REGISTERS,
  SIM_WAIT_MEMORY
} sim_wait_kind;

/* A recorded state of lanes that poll memory (sim_poll.c). */
typedef struct sim_poll {
  const sim_insn *insn; /* the polling instruction; NULL: no state yet */
  uint64_t state, progress; /* progress: of the machine; a change resets the poll */
  uint32_t n, until;        /* polls since the state was taken, and until it is retaken */
} sim_poll;

/* Lanes of a warp at one pc. */
typedef struct sim_group {
  uint32_t pc, mask;
  sim_wait_kind wait;
  uint64_t stamp; /* what hd_sim_moved returned when it blocked */
  bool entered;   /* its arrival at the barrier is counted */
  bool give_up;   /* the scheduler lets its try_wait return false once */
  uint32_t generation;
  uint64_t address;
  const sim_mbarrier *mbarrier; /* that it waits for (SIM_WAIT_MBARRIER) */
  uint32_t detail;
  sim_poll poll;
} sim_group;

/* A setmaxnreg that a warp has executed, and the clock of its first thread then. */
typedef struct sim_resize {
  const sim_insn *insn;
  uint32_t clock;
} sim_resize;

typedef struct sim_warp {
  struct sim_machine *machine;
  struct sim_cta *cta;
  uint32_t index, lanes, exited; /* lanes: those that exist */
  sim_group group[32];
  uint32_t n_groups, current;
  uint64_t *reg;      /* [n_regs][32] */
  uint32_t *undefined; /* [n_regs] lanes without a value */
  uint32_t *busy;     /* [n_regs] last wgmma group that uses it; 0 none */
  uint32_t *touched;  /* [n_regs] fence epoch of the last generic access */
  uint8_t *busy_as;   /* [n_regs] 'd', 'a' or 'm' */
  uint32_t fence_epoch, wgmma_issued, wgmma_committed, wgmma_waited;
  uint32_t registers; /* per thread, set by setmaxnreg */
  uint32_t n_resized;
  sim_resize resize[2]; /* the last two: the n-th at n % 2 */
  uint32_t busy_shape, refusals; /* refusals: try_waits that returned false */
  struct sim_mover *mover; /* its tcgen05.ld and .st; NULL: the program has none */
  bool dirty; /* lanes have made accesses or acquired since they last synchronised */
  bool waited; /* lanes have passed mbarriers since their last .sync instruction */
  uint64_t cp_landed; /* cp.async completed of those that it waited for */
  uint64_t steps, n_stores; /* st of its threads */
} sim_warp;

typedef struct sim_cta {
  struct sim_machine *machine;
  uint32_t index, rank, cluster_first; /* rank in its cluster */
  uint32_t n_threads, n_warps, n_live;
  uint32_t free_registers; /* per thread, summed over the warps that released them */
  sim_warp *warp;
  sim_thread *thread;
  sim_memory shared;
  uint8_t *local; /* n_threads * local_bytes */
  sim_barrier barrier[SIM_N_BARRIERS];
  sim_mbarrier *mbarrier;
  uint32_t n_mbarriers;
  struct sim_wgmma *wgmma; /* one per warpgroup */
  struct sim_tensor *tensor; /* tensor memory; NULL: the program does not use it */
  uint32_t *remote;        /* [agents of the cluster]: last access from another CTA, for the exit */
  bool done;
} sim_cta;

typedef struct sim_cluster {
  sim_barrier barrier;
} sim_cluster;

/* ---- asynchronous operations ---- */

struct sim_async;
typedef sim_step sim_complete(struct sim_machine *m, struct sim_async *op);

typedef struct sim_async {
  sim_complete *complete;
  uint64_t number; /* among all asynchronous work */
  const sim_insn *insn;
  sim_warp *warp;
  uint32_t lane, mask;
  sim_vc vc; /* of the issuer, when it was issued */
  sim_agent self;
  uint32_t self_clock;
  sim_cta *target; /* the CTA whose shared memory is accessed */
  sim_mbarrier *mbarrier;
  uint32_t shared, n_bytes;
  uint64_t global;
  const hd_tmap *tmap;
  int32_t coord[5];
  uint32_t group; /* of a bulk store */
  struct sim_tensor_op *tensor; /* of tcgen05, or NULL */
  /* cp.async: what each lane copies, its number, and its clock when it was issued */
  uint32_t lane_shared[32], lane_bytes[32], lane_number[32], lane_clock[32];
  bool awaited; /* a warp waits for it (cp.async) */
  uint64_t lane_global[32];
} sim_async;

typedef struct sim_machine {
  heddle_context *ctx;
  const sim_program *program;
  const hd_launch_plan *plan;
  const hd_values *values;
  hd_sim_options options;
  hd_arena *arena;
  hd_sim_report *report;
  hd_sim_finding *finding;
  uint32_t n_findings, finding_cap;
  uint64_t noted[SIM_MAX_NOTED]; /* hashes of the current cell's pairs, without its address */
  uint32_t n_noted;
  bool stop;
  uint64_t random;
  uint8_t *waited; /* [n_insns] try_wait: 1 executed, 2 has returned false */

  uint32_t grid[3]; /* CTAs are numbered along x first; clusters lie along x */
  uint32_t n_ctas, cluster_size, n_threads, n_warps, n_warpgroups;
  uint32_t agents_per_cta, agent_cp, agent_bulk_read, agent_bulk_write, agent_wgmma,
      agent_mbarrier, agent_sent, agent_tensor, agent_mover, agent_barrier, agent_grid;
  sim_cta **cta;                /* NULL: not started */
  uint32_t live_from, live_to; /* CTAs before these are done, those from live_to on not started */
  sim_cluster *cluster;

  sim_memory *buffer;
  uint32_t n_buffers;
  uint8_t *param;

  sim_async **pending;
  uint32_t n_pending, pending_cap;
  uint64_t n_issued; /* asynchronous work, so far */
  uint64_t progress, shortages; /* shortages: failed allocations before the run */

  sim_readers *readers;
  uint32_t n_readers, reader_cap, free_readers;
  struct sim_sync_word *word; /* sim_scope.h */
  uint32_t n_words, word_cap;
  struct sim_tile *tile; /* scratch of the tensor-core arithmetic */
} sim_machine;

/* ---- findings (sim_report.c) ---- */

/* Records a finding with "thread (cta, warp, lane)" and the instruction; same rule and lines only
 * once. rule: "R5", by the ISA; "R5:heddle", by a rule of Heddle's own; "R3:measured". Returns
 * SIM_STOP when the run must end. */
sim_step hd_sim_find(sim_machine *m, const char *rule, const sim_warp *warp, uint32_t lane,
                     const sim_insn *insn, const sim_insn *other, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* The same, and ends the run. */
sim_step hd_sim_fault(sim_machine *m, const char *rule, const sim_warp *warp, uint32_t lane,
                      const sim_insn *insn, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* "cta 0 warp 3 lane 5", "wgmma of cta 0 warpgroup 1", ... into out. */
const char *hd_sim_agent_name(const sim_machine *m, sim_agent agent, char out[96]);

uint64_t hd_sim_random(sim_machine *m);

/* ---- registers ---- */

#define SIM_LANES(l, mask)                                                                         \
  for (uint32_t l##_left = (mask), l = l##_left ? (uint32_t)__builtin_ctz(l##_left) : 0; l##_left; \
       l##_left &= l##_left - 1, l = l##_left ? (uint32_t)__builtin_ctz(l##_left) : 0)

sim_step hd_sim_exec_nothing(sim_warp *w, const sim_insn *in, uint32_t mask);
/* Executes an instruction lane by lane. */
static inline sim_step hd_sim_each_lane(sim_warp *w, const sim_insn *in, uint32_t mask,
                                        sim_step (*lane)(sim_warp *, const sim_insn *, uint32_t)) {
  SIM_LANES(l, mask)
  if (lane(w, in, l) == SIM_STOP)
    return SIM_STOP;
  return SIM_NEXT;
}

/* The 32 values of an operand: the register itself, or buf filled in. */
const uint64_t *hd_sim_read(sim_warp *w, const sim_opnd *o, uint64_t buf[32]);
/* One lane's value. */
uint64_t hd_sim_read_lane(sim_warp *w, const sim_opnd *o, uint32_t lane);
/* One lane's address: [register or symbol + immediate]. */
uint64_t hd_sim_address(sim_warp *w, const sim_opnd *o, uint32_t lane);
/* Where an operand's lanes are written; scratch for a sink. */
uint64_t *hd_sim_dst(sim_warp *w, const sim_opnd *o, uint64_t scratch[32]);
/* Lanes of an operand (vectors and addresses included) without a value. */
uint32_t hd_sim_undefined(const sim_warp *w, const sim_opnd *o);
void hd_sim_define(sim_warp *w, const sim_opnd *o, uint32_t lanes, uint32_t undefined);
/* Poison and fence book-keeping of a generic access to all registers of an operand (R5). */
sim_step hd_sim_touch(sim_warp *w, const sim_insn *insn, const sim_opnd *o);

static inline sim_thread *hd_sim_thread(const sim_warp *w, uint32_t lane) {
  return &w->cta->thread[w->index * 32 + lane];
}
/* The number of an agent in its CTA. */
static inline uint32_t hd_sim_local(sim_agent agent) {
  return agent & ((1u << SIM_AGENT_SHIFT) - 1);
}
/* The offset of a shared-memory address in its CTA. */
static inline uint32_t hd_sim_offset(uint64_t address) {
  return (uint32_t)address & ((1u << SIM_RANK_SHIFT) - 1);
}
static inline sim_agent hd_sim_agent(const sim_cta *cta, uint32_t local) {
  return cta->index << SIM_AGENT_SHIFT | local;
}
static inline sim_agent hd_sim_thread_agent(const sim_warp *w, uint32_t lane) {
  return hd_sim_agent(w->cta, w->index * 32 + lane);
}
static inline sim_view hd_sim_view(const sim_warp *w, uint32_t lane) {
  const sim_thread *t = hd_sim_thread(w, lane);
  return (sim_view){&t->vc, hd_sim_thread_agent(w, lane), t->clock};
}

/* Adds the lanes' clocks, including their own accesses, to `into`; advances their clocks. */
void hd_sim_publish(sim_machine *m, sim_vc *into, sim_warp *w, uint32_t mask);
void hd_sim_acquire(sim_machine *m, sim_warp *w, uint32_t mask, const sim_vc *from);

/* ---- synchronisation of the lanes of a warp (sim_meet.c) ---- */

/* bar.warp.sync: orders each lane after all accesses of all lanes. */
void hd_sim_lanesync(sim_warp *w, uint32_t mask);
/* Any .sync instruction: what one lane has waited for is complete for all lanes. */
void hd_sim_meet(sim_warp *w, uint32_t mask);

/* ---- memory accesses (sim_memory.c, sim_shadow.c) ---- */

enum { SIM_READ, SIM_WRITE, SIM_ATOMIC };

/* One access: its agent, the events before it, and its proxy. */
typedef struct sim_access {
  sim_machine *m;
  const sim_warp *warp;
  uint32_t lane;
  const sim_insn *insn;
  sim_view view;
  sim_agent agent; /* recorded */
  uint32_t clock;
  uint8_t kind;
  bool async;  /* through the async proxy */
  bool late;   /* asynchronous, though generic: st.async */
  bool quiet;  /* reading unwritten memory is not an error: the caller handles it */
  struct sim_tensor_op *tensor; /* of a tcgen05 operation on tensor memory, or NULL */
} sim_access;

sim_access hd_sim_access(sim_warp *w, uint32_t lane, const sim_insn *insn, uint8_t kind);

/* Finds the memory of [address, address + n): checks bounds and alignment, or faults. */
sim_step hd_sim_resolve(const sim_access *a, uint8_t space, uint64_t address, uint32_t n_bytes,
                        uint32_t align, sim_memory **memory, uint64_t *offset);
/* Global memory only. */
sim_step hd_sim_resolve_global(const sim_access *a, uint64_t address, uint64_t n_bytes,
                               uint32_t align, sim_memory **memory, uint64_t *offset);
/* Compares the access with the history and adds it. */
sim_step hd_sim_check(const sim_access *a, sim_memory *memory, uint64_t offset, uint64_t n_bytes);
/* Splits a shared-memory address into CTA and offset, or faults. */
sim_step hd_sim_shared(const sim_access *a, uint64_t address, sim_cta **cta, uint32_t *offset);
/* Notes an access from another CTA of the cluster, which must be ordered after `cta` has begun and
 * before it exits. */
sim_step hd_sim_reach(const sim_access *a, sim_cta *cta);
/* n aligned bytes of the CTA's shared memory, checked. */
sim_step hd_sim_chunk(sim_access *a, sim_cta *cta, uint32_t address, uint32_t n,
                      const uint8_t **at);
/* sim_scope.c */
void hd_sim_releases_free(const sim_machine *m, sim_releases *releases);
sim_exec hd_sim_exec_fence;

/* ---- synchronisation (sim_mbarrier.c, sim_barrier.c) ---- */

/* Frees what an mbarrier owns. */
void hd_sim_mbarrier_free(const sim_machine *m, sim_mbarrier *b);
sim_mbarrier *hd_sim_mbarrier_at(sim_cta *cta, uint32_t offset);
/* Finds a live mbarrier that is visible to the accessor (R4), or faults. */
sim_step hd_sim_mbarrier_use(const sim_access *a, sim_cta *cta, uint32_t offset,
                             sim_mbarrier **out);
void hd_sim_mbarrier_advance(sim_machine *m, sim_cta *cta, sim_mbarrier *b);
/* n_bytes of the operation have arrived. */
sim_step hd_sim_mbarrier_complete_tx(sim_machine *m, const sim_async *op, uint32_t n_bytes);
static inline sim_agent hd_sim_mbarrier_agent(const sim_machine *m, const sim_cta *cta,
                                              const sim_mbarrier *b) {
  return hd_sim_agent(cta, m->agent_mbarrier + (uint32_t)(b - cta->mbarrier));
}
/* The agent of st.async from other CTAs: only an acquire at cluster scope orders them. */
static inline sim_agent hd_sim_sent_agent(const sim_machine *m, const sim_cta *cta,
                                          const sim_mbarrier *b) {
  return hd_sim_agent(cta, m->agent_sent + (uint32_t)(b - cta->mbarrier));
}

/* sim_phase.c. Checks an arrival by a thread whose clocks are `vc`. */
sim_step hd_sim_phase_arrive(sim_machine *m, const sim_warp *w, uint32_t lane, const sim_insn *in,
                             const sim_vc *vc, const sim_cta *cta, sim_mbarrier *b);
/* The same for the arrival, or the bytes, of an operation; releases the order before its issue. */
sim_step hd_sim_phase_land(sim_machine *m, const sim_async *op);
/* An expect_tx without an arrival: the current phase must not complete before it. */
sim_step hd_sim_phase_expect(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_cta *cta,
                             sim_mbarrier *b);
/* Notes that an arrival of the lane is ordered after earlier expect_tx. */
void hd_sim_phase_follow(sim_warp *w, uint32_t lane, sim_mbarrier *b);
/* Checks a wait of the lane that passes. */
sim_step hd_sim_phase_passed(sim_warp *w, const sim_insn *in, uint32_t lane, sim_cta *cta,
                             sim_mbarrier *b);
/* Checks the current phase, which is about to complete. */
void hd_sim_phase_over(sim_machine *m, const sim_cta *cta, sim_mbarrier *b);

sim_async *hd_sim_async_new(sim_warp *w, uint32_t lane, const sim_insn *insn,
                            sim_complete *complete);
/* An operation that writes to `shared` of a CTA of the cluster and signals its mbarrier; the caller
 * pushes it. */
sim_step hd_sim_async_signal(sim_warp *w, const sim_insn *in, uint32_t lane, uint64_t shared,
                             uint64_t barrier, sim_complete *complete, sim_async **out);
/* The CTAs of the cluster that .multicast::cluster names: bits of *mask. */
sim_step hd_sim_multicast(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_opnd *o,
                          uint32_t *mask);
/* The access that an operation makes when it completes. */
sim_access hd_sim_async_access(sim_machine *m, const sim_async *op, sim_agent agent,
                               uint32_t clock, uint8_t kind, bool async);
/* Moves or reduces n_bytes of a bulk copy, after both ends were checked. */
void hd_sim_async_move(const sim_async *op, uint8_t *to, const uint8_t *from);
sim_step hd_sim_async_push(sim_machine *m, sim_async *op);
/* Completes an operation; SIM_WAIT if it cannot complete yet. */
sim_step hd_sim_async_run(sim_machine *m, uint32_t index);
void hd_sim_async_free(sim_machine *m, sim_async *op);
/* Decoder and execution of tensor copies (sim_tensor.c). */
sim_complete hd_sim_tensor_load, hd_sim_tensor_store;
uint32_t hd_sim_element_bytes(heddle_elem elem);
uint32_t hd_sim_box_bytes(const hd_tmap *map);

/* ---- wgmma (sim_wgmma.c) ---- */

typedef struct sim_wgmma_op {
  const sim_insn *insn;
  uint64_t desc_a, desc_b;
  bool scale_d;
  uint32_t warps, group; /* bit per warp that has issued it */
  uint64_t number;       /* among all asynchronous work */
  sim_vc vc;
} sim_wgmma_op;

typedef struct sim_wgmma {
  sim_cta *cta;
  uint32_t index, n_done, n_ops, cap; /* ops[0..n_done) are complete */
  sim_wgmma_op *op;
} sim_wgmma;

/* Completes the oldest operation that all four warps have issued; false: there is none. */
bool hd_sim_wgmma_step(sim_machine *m, sim_wgmma *queue, sim_step *step);
bool hd_sim_wgmma_ready(const sim_wgmma *queue);

/* Completes the cluster barrier if it is ready, after an arrival or an exit. */
void hd_sim_cluster_advance(sim_machine *m, uint32_t cluster);
/* The lanes `stay` become a group of their own, at pc. */
void hd_sim_split(sim_warp *w, uint32_t stay, uint32_t pc);
/* Reduces *mask to the lanes that execute a collective now, all with one membermask (the operand),
 * and splits off the others. SIM_WAIT: every mask has missing lanes. */
sim_step hd_sim_members(sim_warp *w, const sim_insn *in, const sim_opnd *o, uint32_t *mask);

/* ---- the run (sim_run.c, sim_cta.c, sim_schedule.c) ---- */

/* Whether the lanes of a strong load or atom have come back to it in the same state while nothing
 * else changed. They then repeat it until something changes. */
bool hd_sim_goes_round(sim_warp *w, const sim_insn *in);
/* Changes when what the group waits for changes. */
uint64_t hd_sim_moved(const sim_warp *w, const sim_group *g);
void hd_sim_block(sim_warp *w, sim_wait_kind wait, uint64_t address, uint32_t detail);
static inline void hd_sim_progress(sim_machine *m) { m->progress++; }
/* Calls the caller's trace, if any (sim_report.c). */
void hd_sim_trace(const sim_warp *w, hd_sim_event_kind kind, const sim_insn *in, uint32_t lanes,
                  uint64_t number);
/* Cells without history; owned. NULL, with a diagnostic, if out of memory. */
sim_cell *hd_sim_cells(heddle_context *ctx, uint64_t n_bytes, uint8_t shift);
/* Starts a CTA (false: no memory); frees one. */
bool hd_sim_cta_new(sim_machine *m, uint32_t index);
void hd_sim_cta_free(sim_machine *m, sim_cta *cta);
/* Frees what a finished CTA no longer needs. */
void hd_sim_cta_retire(sim_machine *m, sim_cta *cta);
/* Lanes exit. */
sim_step hd_sim_exit(sim_warp *w, const sim_insn *insn, uint32_t mask);
sim_step hd_sim_resized_alike(sim_warp *w, const sim_insn *in); /* sim_setmaxnreg.c */
/* Runs all CTAs to their end. */
void hd_sim_schedule(sim_machine *m);

#endif
