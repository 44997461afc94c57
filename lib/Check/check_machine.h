/* Check/check_machine.h: executes a kernel's roles on one cluster, warp by warp, and compares every
 * access with the history of its address.
 *
 * Time is a vector clock. Its components:
 *
 *   13 a warp  TIME    operations of the warp, and that they are seen: initialisations, arrivals
 *              ORDER   operations of the warp, which only come before: its waits
 *              READS   its generic reads; each lane's are its own, so that a warp (and the one
 *                      lane that arrives for it) knows of them only after its lanes have met
 *              LANES   its generic writes: likewise
 *              FENCED  its generic writes that a fence.proxy_async followed
 *              INITS   its barriers' initialisations that a fence.barrier_init followed
 *              WGMMA   its wgmma groups that are complete
 *              OUT     its groups of copies out that have read their slots
 *              COPIED  its cp.async groups that are complete, FENCED_COPIES those fenced afterwards
 *              MMA     its tcgen05.mma and cp that a commit has told of
 *              LOADS, STORES  its tcgen05.ld and st that were waited for and fenced (R9)
 *     (part by part, each of all warps: the last ones are joined only where they matter)
 *   1 a slot of an mbarrier: phases that are complete; where a pair of CTAs multiplies together,
 *     one more: of those, phases whose bytes may be read, by what another CTA issues, too
 *   1 in all: 1 where the predecessor kernel is known to have ended (grid.wait)
 *
 * An access is over, for a warp, when the warp's clock holds its component at its value. That is a
 * property of the sync alone, so that one run decides for every schedule: provided that no arrival
 * or wait can meet another phase than here, which hd_ck_barrier_... check as rule `phase`. */
#ifndef HD_CHECK_MACHINE_H
#define HD_CHECK_MACHINE_H

#include "Check/check.h"
#include "Check/check_program.h"

enum { HD_CK_CELL = 128, HD_CK_NEAR = 12, HD_CK_MAX_DEPTH = 8 };
enum { HD_CK_STRIP = 16 /* rows of A that a warp stores */ };
enum { HD_CK_BOX_UNIT = 16 /* bytes: where a box of a tensor map may begin in a row */ };
enum { HD_CK_PARTS = 64 /* of a tile that are told apart */ };
/* Of a batch the matrix stands above the number of A's block, and above B's column. */
enum { HD_CK_MATRIX_BLOCKS = 30, HD_CK_MATRIX_COLUMNS = 40, HD_CK_MATRICES = 256 };
enum { HD_CK_MATRIX_BIT = 56 /* of a tag of B */ };
enum { HD_CK_MAX_SLABS = 2 /* of 64 rows: the lanes of tensor memory */, HD_CK_PAIR = 2 };

/* Components of a warp. ORDER CLOCK. */
enum {
  HD_CK_TIME,
  HD_CK_ORDER,
  HD_CK_READS,
  HD_CK_LANES,
  HD_CK_FENCED,
  HD_CK_INITS,
  HD_CK_WGMMA,
  HD_CK_OUT,
  HD_CK_COPIED,
  HD_CK_FENCED_COPIES,
  HD_CK_MMA,
  HD_CK_LOADS,
  HD_CK_STORES,
  HD_CK_N_PARTS
};

/* All columns in the first group; offsets below 0, beyond n, and decreasing ones. */
enum { HD_CK_ONE_GROUP = 0, HD_CK_WILD = -1 };

/* Values of an instance. -1: not decided by the launch. */
typedef struct hd_ck_instance {
  int64_t m, n, k, ld;
  int64_t t; /* columns of D, where columns are combined */
  int64_t g; /* products of a batch */
  bool shared; /* strides of a batch are 0, but for D's */
  int64_t routing; /* of groups: sizes of 0, 1, and about a tile, from the routing-th on; or */

  int32_t grid, block; /* CTAs of the grid; first block of the cluster that runs */
  bool far; /* larger than pitches that the kernel fixes may allow: asked for overflow alone */
  bool late; /* who shares a tile with a CTA counts behind it */
} hd_ck_instance;

typedef enum hd_ck_frag_state {
  HD_CK_FRAG_NONE,
  HD_CK_FRAG_UNDEFINED, /* frag.undef: registers without a value */
  HD_CK_FRAG_READY,     /* may be used by generic code */
  HD_CK_FRAG_FENCED,    /* passed through wgmma.fence */
  HD_CK_FRAG_IN_FLIGHT, /* result of a wgmma that is not waited for */
  HD_CK_FRAG_LOADING    /* of a tcgen05.ld that is not waited for */
} hd_ck_frag_state;

/* Block scales that accumulators in tensor memory took part with: of `columns` from `col` on, the
 * numbers of the tiles where a row of A, the first and the last columns of B begin. columns 0:
 * none. */
typedef struct hd_ck_tiles {
  int64_t a, b, b_last, col, columns;
} hd_ck_tiles;

/* What a fragment holds. A and metadata: block of the packed order and 16-row strip in it. B:
 * k-block and column (in the order of the buffer's `run`). Accumulators: strip and column, block
 * minus k-block (the same for all that may be summed up), and the k-steps so far; `scaled`: one
 * more than the first row of the strip whose block scales took part, 0: none did. Block scales:
 * k-block, word (as step), first row or column (as col), and how many (as run). -1: nothing yet.
 * Columns from `end` on are sums of whatever the slot of B held there: no D may have them. */
typedef struct hd_ck_content {
  int64_t block, k_block, strip, col, end, scaled;
  int32_t scaled_rows; /* of A that a scale is for: `scaled` counts blocks of so many; 0: of one */
  int32_t run; /* consecutive columns that a lane has; B and accumulators */
  int32_t step, n_steps;
  int64_t last, stride; /* k-block summed up last, and its distance from the one before */
  uint64_t sum;         /* of a hash of every k-step */
  /* Of finish.tile: one more than the strip's first row, its matrix and column; 0: no result. */
  int64_t finished, matrix, col_of_d;
  hd_ck_tiles tiles;
} hd_ck_content;

typedef struct hd_ck_frag {
  hd_ck_frag_state state;
  bool consumed;     /* a wgmma took its registers over */
  bool undefined;    /* FRAG_FENCED without a value */
  uint32_t group;    /* FRAG_IN_FLIGHT: the wgmma group that makes it */
  uint32_t touched;  /* clock of the last access by generic code */
  uint32_t read_by;  /* last wgmma group that reads it as A or metadata, plus 1 */
  int32_t root;      /* number of the value that was loaded; -1 = none */
  int32_t home;      /* value whose registers it has: its own, or what a load was told to reuse */
  const hd_op *made; /* the op that made the value */
  hd_ck_content content;
} hd_ck_frag;

/* A scalar; a cursor is slot | phase << 16 | stages << 32. */
typedef struct hd_ck_value {
  int64_t i;
  hd_ck_frag frag;
} hd_ck_value;

/* A partial that a warp has stored and that is not summed yet; op NULL: there is none. */
typedef struct hd_ck_partial {
  const hd_op *op;
  int64_t offset, part, n, k_lo, k_hi, k_blocks; /* k-blocks [k_lo, k_hi) of them: part of n */
  uint64_t tile; /* hash of strips and columns */
} hd_ck_partial;

/* Bytes of the workspace that a launch uses, as one partial or one counter. */
typedef struct hd_ck_claim {
  const hd_op *op;
  int64_t offset, lo, hi, n;
  int64_t part, k_lo, k_hi; /* of a partial */
  uint64_t tile;
  bool is_counter;
  int64_t times; /* stored, or counted */
} hd_ck_claim;

/* Arrivals of a warp at one counter. */
typedef struct hd_ck_count {
  int32_t warp, total, so_far; /* total: in the whole run */
  int64_t at;                  /* the counter's byte */
  uint64_t parts;              /* it counted so far: bits, as in hd_ck_extents.stored */
} hd_ck_count;

typedef enum hd_ck_warp_state {
  HD_CK_RUNNING,
  HD_CK_AT_BARRIER, /* barrier.wait not satisfied */
  HD_CK_AT_SYNC,    /* cta.sync, role.sync, cluster.sync */
  HD_CK_DONE
} hd_ck_warp_state;

/* A loop that a warp is in. */
typedef struct hd_ck_loop {
  int64_t index, iterations; /* iterations: completed since it was entered */
  uint64_t last_lap;    /* what was executed in the last whole period */
} hd_ck_loop;

typedef struct hd_ck_warp {
  int32_t id, cta, index, role; /* id: in the cluster; index: in the CTA; role: -1 none */
  int32_t at;                   /* next step */
  hd_ck_warp_state state;
  hd_ck_value *env;
  uint32_t *clock;
  uint32_t now, fenced, copies_fenced, inits_fenced;
  uint32_t met; /* what any lane knows of what another of the warp did: until the last meeting */
  uint32_t copies_done, copies_committed;
  const hd_op *copied; /* its last cp.async; NULL: none */
  uint32_t copied_group;
  uint32_t wgmma_committed, wgmma_fence;
  const hd_op *multiplies; /* its last wgmma; NULL: none */
  uint32_t wgmma_group;
  uint32_t *view;                        /* the clock that its tcgen05 operations follow (R9) */
  uint32_t multiplied;                   /* tcgen05.mma and cp so far */
  uint32_t moved[2], waited[2], told[2]; /* tcgen05.ld, st: issued, waited for, fenced */
  bool has_address;                      /* of tensor memory */
  hd_ck_content *sums[HD_CK_PAIR];       /* that its last tcgen05.mma added to, in each CTA of a
                                            pair; HD_CK_MAX_SLABS */
  uint32_t out_done, out_committed; /* groups of copies out, as the issuing lane knows them */
  const hd_op *out; /* the last copy out; NULL: none */
  bool out_open;    /* it is in no group yet */
  const hd_op *remote_op; /* last arrival at another CTA, and when */
  uint32_t remote_time;
  hd_ck_partial partial;
  const hd_op *last; /* the last_arriver that the warp is in */
  uint64_t parts;    /* of the tile that it sums up: those that it counted itself */
  uint32_t n_shared_work; /* role-issued copies so far: their number names the occurrence */
  hd_ck_loop loop[HD_CK_MAX_DEPTH];
  int32_t depth;
  uint64_t lap; /* hash of what was executed since a period of the innermost loop began */
  uint64_t path; /* hash of what was executed: warps of a role must agree */
  uint64_t group_path; /* the same with operands: warps of a warpgroup must agree */
} hd_ck_warp;

typedef enum hd_ck_access_kind {
  HD_CK_READ,        /* by generic code: over when issued (value in a register) */
  HD_CK_WRITE,       /* st.shared */
  HD_CK_COPY,        /* cp.async */
  HD_CK_BULK,        /* bulk copy or TMA: over with a phase */
  HD_CK_SENT,        /* st.async to another CTA: generic, over with a phase */
  HD_CK_WGMMA_READ,  /* over with a wgmma group */
  HD_CK_OUT_READ,    /* over with a group of copies out */
  HD_CK_TENSOR_MMA,  /* all that a tcgen05.mma or cp touches: over with a commit */
  HD_CK_TENSOR_MOVE, /* tcgen05.ld, st: over with their wait */
  HD_CK_TENSOR_FREE  /* tcgen05.dealloc */
} hd_ck_access_kind;

typedef struct hd_ck_access {
  const hd_op *op;
  hd_ck_access_kind kind;
  int32_t warp, slot;
  uint32_t component, value; /* over for who has clock[component] >= value */
  uint32_t occurrence;       /* role-issued work; 0 = other */
  int64_t iteration;
} hd_ck_access;

/* Cells (of 128 bytes) lo to hi of a slot that every access so far took together: who wrote them
 * last, and who has read them since. */
typedef struct hd_ck_span {
  int32_t lo, hi;
  uint32_t near[HD_CK_NEAR]; /* accesses, the writes first: here while they are few, */
  uint32_t *far;             /* else here; owned */
  uint16_t n_writes, n, cap; /* cap: of far; 0 = near counts */
  uint64_t tag; /* what the writes brought to lo: consecutive cells hold consecutive tags */
} hd_ck_span;

/* The spans of one slot, ascending, without a gap. */
typedef struct hd_ck_slot_spans {
  hd_ck_span *span; /* owned */
  int32_t n, cap;
} hd_ck_slot_spans;

typedef struct hd_ck_wait {
  int32_t warp;
  uint32_t time;
  const hd_op *op;
} hd_ck_wait;

/* One slot of an mbarrier of one CTA. */
typedef struct hd_ck_mbarrier {
  uint32_t *arriving, *released; /* clocks: of the running phase's arrivals, of the last phase */
  uint32_t completed, arrived, landing; /* landing: the last phase of bytes or commits, plus 1 */
  int64_t expected, landed;
  const hd_op *init, *last; /* last arrival or copy */
  int32_t init_warp;
  uint32_t init_time, init_fenced; /* 0: not yet */
  bool sent; /* threads of another CTA wrote, or release, what the running phase completes */
  hd_ck_wait *waits; /* owned */
  int32_t n_waits, cap_waits;
} hd_ck_mbarrier;

/* Block scales of A or of B: as their copies say, and how many a row has in a k-block. */
typedef struct hd_ck_scales {
  const hd_op *op; /* NULL: none so far */
  int64_t k_blocks, bytes, each;
  int64_t end; /* of what is copied in tiles; 0: nothing */
} hd_ck_scales;

/* Tensor memory of a CTA. */
typedef struct hd_ck_tensor {
  const hd_op *alloc, *dealloc;
  int32_t warp;
  uint32_t time; /* of alloc */
} hd_ck_tensor;

/* The groups of a launch: their columns, and the tiles before each and behind the last. */
typedef struct hd_ck_groups {
  const hd_op *op; /* group.table */
  int64_t g, n, tiles_m, *first, *end, *before;
} hd_ck_groups;

/* What the kernel says about its operands, over all clusters of a launch; compared with each
 * other, and with the sizes that the instance gave. -1 (or 0 for ends): not said yet. */
typedef struct hd_ck_extents {
  int64_t m, n;       /* as store.tile says */
  int64_t rows_of_d;  /* of those a row of D is made: 2 of pairs, else 1 */
  int64_t units;      /* tiles (in clusters) of the loop over tiles; of stream-K, all there are */
  int64_t n_k_blocks; /* that accumulators held when they were stored */
  int64_t a_end, block_bytes;
  int64_t b_rows, b_row_bytes; /* as the row copies of B say */
  int64_t ldb, ldd, ldsd; /* as the arguments say; 0: there is none */
  const hd_op *a_op, *b_op, *store_op;
  int64_t g;             /* products of a batch, as tile_coord says; 0: none said */
  bool apart_a, apart_b; /* the operand's matrices are a stride apart */
  int64_t stride_b;      /* elements; 0: there is none */
  int64_t matrix[HD_CK_MATRICES]; /* those that B and D were met of, by the number in their tags */
  int32_t n_matrices;             /* beside the first, which is 0 */
  hd_ck_groups *groups;           /* NULL: there are none */
  hd_ck_scales scales[2]; /* of A, of B */
  int64_t boxed[2];       /* bytes of a slot that boxes of f32 scales fill; 0: none do */
  hd_arena arena;
  uint64_t **stored; /* of 16 x 8 (of pairs 8 x 8) blocks of D: bit s, written where part s is the
                        last, or one behind it of the same CTA; bits of parts that there are not,
                        too. A row is NULL before its first store */
  int64_t stored_rows, stored_cols;
  uint8_t *scaled; /* of 128 rows of D by 8 columns: their statistic is stored; NULL: none is */
  hd_ck_claim *claims; /* owned */
  int32_t n_claims, cap_claims;
  int64_t workspace_end;
  const hd_op *workspace_op; /* last user of the workspace */
} hd_ck_extents;

typedef struct hd_ck_machine {
  const hd_ck_program *program;
  const hd_check_options *options;
  hd_check_report *report;
  hd_ck_instance at;
  hd_arena arena;
  hd_ck_warp *warps;
  hd_ck_value *held; /* scratch: as many values as the program has */
  int32_t n_warps, n_components;
  int32_t n_parts; /* no access of this kernel waits for the ones behind them */
  hd_ck_slot_spans *slots; /* of all buffers, CTA by CTA */
  hd_ck_mbarrier *mbarriers;
  hd_ck_tensor *tensors;                  /* CTA by CTA */
  hd_ck_content (*sums)[HD_CK_MAX_SLABS]; /* of all buffers' slots: what accumulators there hold */
  hd_ck_access *accesses; /* the kernel's: given back when the run is over */
  uint32_t n_accesses, cap_accesses;
  hd_ck_count *counts; /* owned */
  int32_t n_counts, cap_counts;
  uint64_t steps_left;
  uint64_t shortages; /* of memory, when it began: one more stops it */
  bool listing;  /* runs scalars alone, to know the counts */
  bool stop;     /* a finding ended the run, or all is known that was asked */
  bool counting; /* asks for the number of tiles alone */
  bool went_on;  /* past a finding that was not asked for: what follows from it says nothing */
  bool dependent, weights_ready;
  hd_ck_extents *extents;
} hd_ck_machine;

/* --- check_machine.c ------------------------------------------------------------------------ */
/* Runs one cluster. */
void hd_ck_run(hd_ck_machine *machine);
void hd_ck_machine_free(hd_ck_machine *machine);
/* Numbers of components. */
static inline uint32_t hd_ck_component(const hd_ck_machine *m, int32_t warp, int32_t part) {
  return (uint32_t)(part * m->n_warps + warp);
}
static inline uint32_t hd_ck_grid_component(const hd_ck_machine *m) {
  return (uint32_t)m->n_components - 1;
}
uint32_t hd_ck_barrier_component(const hd_ck_machine *m, int32_t cta, int32_t slot);
/* From there to the one of bytes that may be read; 0: it is the same. */
static inline uint32_t hd_ck_to_landings(const hd_ck_machine *m) {
  bool apart = m->program->together > 1;
  return apart ? (uint32_t)(m->program->cluster * m->program->n_barrier_slots) : 0;
}
hd_ck_mbarrier *hd_ck_mbarrier_at(hd_ck_machine *m, int32_t cta, int32_t slot);
static inline int32_t hd_ck_slot(int64_t cursor) { return (int32_t)(cursor & 0xffff); }
static inline int32_t hd_ck_phase(int64_t cursor) { return (int32_t)(cursor >> 16 & 1); }
static inline int32_t hd_ck_stages(int64_t cursor) { return (int32_t)(cursor >> 32); }

/* The iteration that a warp is in; -1 outside of loops. */
static inline int64_t hd_ck_iteration(const hd_ck_warp *w) {
  return w->depth ? w->loop[w->depth - 1].index : -1;
}

/* --- check_loop.c --------------------------------------------------------------------------- */
void hd_ck_enter_loop(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_next_iteration(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_values(hd_ck_machine *m, hd_ck_warp *w, const int32_t *from, const int32_t *to,
                       int32_t n);
/* The kernel says how many tiles (in clusters) there are. */
void hd_ck_note_units(hd_ck_machine *m, int64_t units);
/* Enters into the hashes of the way that a warp takes. */
void hd_ck_mix_path(hd_ck_warp *w, uint64_t what);

/* --- check_scalar.c ------------------------------------------------------------------------- */
/* Executes a scalar op; false when the op is not one. */
bool hd_ck_scalar(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* --- check_clock.c -------------------------------------------------------------------------- */
/* A warp's lanes know what all of them did. */
void hd_ck_meet_lanes(hd_ck_machine *m, hd_ck_warp *w);
void hd_ck_join(const hd_ck_machine *m, const uint32_t *from, uint32_t *into);
/* What the warp makes known. */
typedef enum hd_ck_release {
  HD_CK_PUBLISH,     /* everything: all threads synchronise */
  HD_CK_ELECTED,     /* through one lane: reads and writes up to where the warp's lanes met */
  HD_CK_REMOTE,      /* to another CTA under R3: no writes */
  HD_CK_COMMIT,      /* by tcgen05.commit: as REMOTE, and its tcgen05.mma and cp */
  HD_CK_FENCED_INITS /* barriers that were initialised and fenced: a relaxed cluster.sync */
} hd_ck_release;
void hd_ck_release_to(const hd_ck_machine *m, const hd_ck_warp *w, hd_ck_release how,
                      uint32_t *into);
/* What a copy of the warp tells where it lands. */
void hd_ck_release_order(const hd_ck_machine *m, const hd_ck_warp *w, uint32_t *into);

/* --- check_shared.c ------------------------------------------------------------------------- */
/* Bytes [lo, hi) of a slot, and the same again every `pitch` bytes, n times in all; when read,
 * the tag grows by tag_step from one to the next. */
typedef struct hd_ck_range {
  int64_t lo, hi, pitch;
  int32_t n;
  uint64_t tag_step;
} hd_ck_range;
typedef struct hd_ck_region {
  const hd_ck_ring *buffer;
  int32_t cta, slot;
  hd_ck_range range;
} hd_ck_region;
uint32_t hd_ck_access_add(hd_ck_machine *m, const hd_ck_warp *w, hd_ck_access access);
/* Checks the access against the history of the region and enters it. tag: of the first cell. */
void hd_ck_access_write(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id, hd_ck_region region,
                        uint64_t tag);
/* Gives the tag of the first cell; the others must follow it (else finding `data`). */
uint64_t hd_ck_access_read(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id, hd_ck_region region);
/* The same where they need not: `other` is the first byte that does not; INT64_MAX: all do. */
uint64_t hd_ck_access_read_any(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id,
                               hd_ck_region region, int64_t *other);
/* Slot and buffer of operands; false after a finding. */
bool hd_ck_region_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t cursor, hd_ck_region *region);

/* The same in a slot of a buffer that is no ring: the slot's number is an operand. */
bool hd_ck_region_at(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t slot, hd_ck_region *region);

/* --- check_barrier.c ------------------------------------------------------------------------ */
void hd_ck_barrier_commit(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Each executes a sync op. barrier_wait gives false when the warp must stop. */
void hd_ck_barrier_init(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_barrier_fence_inits(hd_ck_machine *m, hd_ck_warp *w);
void hd_ck_barrier_expect(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_barrier_arrive(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
bool hd_ck_barrier_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Bytes of a copy that will land at the slot of a CTA's barrier; gives the phase. */
uint32_t hd_ck_barrier_land(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                            int32_t operand, int32_t cta, int32_t slot, int64_t bytes);
/* All warps have stopped: completes what is complete. False: nothing is. */
bool hd_ck_barriers_advance(hd_ck_machine *m);
/* Nothing goes on: a phase that has all its arrivals, and other bytes than it expects, is why. */
void hd_ck_barriers_check_bytes(hd_ck_machine *m);
/* The cluster has ended: nothing may still be on its way. */
void hd_ck_barriers_finish(hd_ck_machine *m);

/* --- check_copy.c, check_fragment.c, check_wgmma.c, check_store.c --------------------------- */
/* A fragment that nothing was done with, and of nothing. */
extern const hd_ck_frag hd_ck_no_frag;
void hd_ck_copy_bulk(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_tma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* A small number that stands for a matrix of a batch in tags. */
uint64_t hd_ck_matrix_tag(hd_ck_machine *m, const hd_op *op, int64_t g);
void hd_ck_copy_rows(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copies_finish(hd_ck_machine *m);
void hd_ck_load(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_mma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_frag_constant(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_frag_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_wgmma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_wgmma_fence(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_wgmma_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_wgmma_finish(hd_ck_machine *m);
/* B's slot as a matrix instruction (operands `buffer` and `cursor`) reads it; false after a
 * finding. */
bool hd_ck_read_b(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_region region,
                  hd_ck_content *b);
/* Reads a region of shared memory for a matrix instruction; gives the tag. `other` as of
 * hd_ck_access_read_any; NULL: as hd_ck_access_read. */
uint64_t hd_ck_read_matrix(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                           const hd_ck_region *region, int64_t *other);
void hd_ck_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Room for what is stored of a D of x->m by x->n, to see that all of it is. */
void hd_ck_store_begin(hd_ck_extents *x);
/* --- check_combine.c, check_copy_global.c, check_pack.c --------------------------------------- */
void hd_ck_combine(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_global(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_prune_pack(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* A finding, and false, where `value` is negative or no multiple of `unit`. */
bool hd_ck_is_aligned(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const char *what, int64_t value, int64_t unit);
/* The ring of the barrier (an operand) must be the buffer's. False after a finding. */
bool hd_ck_same_ring(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t operand,
                     const hd_ck_region *region);
/* Generic code uses the fragment: it must not be on its way. */
void hd_ck_frag_use(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t operand);
void hd_ck_frag_define(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_frag frag);
int64_t hd_ck_block_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                       const hd_ck_region *region, uint64_t tag);
void hd_ck_columns_of(const hd_ck_machine *m, const hd_ck_region *region, uint64_t tag, bool trans,
                      int64_t k_step, hd_ck_content *content);
hd_ck_content hd_ck_accumulate(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                               const hd_ck_content *acc, const hd_ck_content *a,
                               const hd_ck_content *meta, const hd_ck_content *b);

/* The hash of both k-steps of n k-blocks: first, first + stride, ... */
uint64_t hd_ck_sum_of(int64_t first, int64_t stride, int64_t n);

/* The matrix of a batch that a store of D or a copy out is for, its operand `at`; 0 without one. */
int64_t hd_ck_matrix_of(const hd_ck_warp *w, const hd_ck_step *step, int32_t at);
/* What every store of D must say and hold: the problem's m and n (operands `at` and the next, for
 * matrix g); a strip and a block that exist, of the matrix; the sums of this strip, from column
 * `col` on. False after a finding. */
bool hd_ck_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t at, int64_t g);
bool hd_ck_store_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
bool hd_ck_store_strip(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t *row,
                       int64_t *col, int64_t *g);
void hd_ck_store_fragments(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t row,
                           int64_t col);
/* A 16 x 8 block of D is written; twice is a finding. */
void hd_ck_store_mark(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                      int64_t row, int64_t col);
/* The whole grid has ended: the first element of D (of a batch's matrix g) that was not written.
 * False: all were. */
bool hd_ck_store_missing(const hd_ck_extents *extents, int64_t *g, int64_t *row, int64_t *col);
#include "Check/check_scale.h"
#include "Check/check_statistic.h"

/* --- check_out.c ------------------------------------------------------------------------------ */
void hd_ck_stage_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_out(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_out_commit(hd_ck_warp *w);
void hd_ck_out_wait(hd_ck_warp *w, const hd_ck_step *step);
/* The cluster has ended: nothing may still read a slot. */
void hd_ck_out_finish(hd_ck_machine *m);

/* --- check_group.c ---------------------------------------------------------------------------- */
void hd_ck_group_table(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_group_count(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_group_find(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Where the g-th group of a routing begins: the columns of those before it, and a few ahead of
 * all. */
int64_t hd_ck_group_columns(int64_t routing, int64_t g, int64_t unit);

/* --- check_tensor_columns.c, check_tensor.c -------------------------------------------------- */
/* How many CTAs a tcgen05.mma.sp or cp works for, from the first one on; 0 after a finding. */
int32_t hd_ck_tensor_group(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                           int32_t *first);
/* A slot of a CTA's tensor memory (operands `buffer`, `cursor`) while it has it. */
bool hd_ck_tensor_region(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                         int32_t buffer, int32_t cursor, hd_ck_region *region);
void hd_ck_tensor_mma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_st(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_ld(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_fence(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* The cluster has ended: what was taken was given back. */
void hd_ck_tensor_finish(hd_ck_machine *m);

/* --- check_partial.c ------------------------------------------------------------------------ */
void hd_ck_partial_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_partial_sum(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_last_arriver(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* The warp will count there, says the run before. */
void hd_ck_list_count(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_leave_last(hd_ck_warp *w);
/* The cluster has ended: every partial was counted. */
void hd_ck_partials_finish(hd_ck_machine *m);
/* The whole grid has ended: a counter that is not back at zero; NULL: none. */
const hd_ck_claim *hd_ck_partials_missing(const hd_ck_extents *extents);

/* --- check_cluster_sum.c -------------------------------------------------------------------- */
void hd_ck_partial_send(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_partial_add(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* --- check_finding.c ------------------------------------------------------------------------ */
/* Describes an occurrence of the step that the warp executes, or of an earlier access. */
hd_check_access hd_ck_here(hd_ck_machine *m, const hd_ck_warp *w, const hd_op *op, int32_t slot);
hd_check_access hd_ck_there(hd_ck_machine *m, const hd_ck_access *access);
/* Adds a finding (once for the same rule and ops) and ends the run when there are enough. */
void hd_ck_find(hd_ck_machine *m, const char *rule, hd_check_access first, hd_check_access second,
                const char *remedy, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A finding of rule "undecided". */
void hd_ck_undecided(hd_ck_machine *m, const hd_op *op, const char *why);

#endif
