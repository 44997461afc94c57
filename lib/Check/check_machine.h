/* Check/check_machine.h: executes a kernel's roles on one cluster, warp by warp, and compares every
 * access with the history of its address.
 *
 * Time is a vector clock. Its components:
 *
 *   13 per warp  TIME    operations with a visible effect: initialisations, arrivals
 *                ORDER   operations that are only ordered before others: waits
 *                READS   its generic reads; each lane knows only its own, so the warp (and the lane
 *                        that arrives for it) knows them only after its lanes have synchronised
 *                LANES   its generic writes, likewise
 *                FENCED  its generic writes that were followed by a fence.proxy_async
 *                INITS   its barrier initialisations that were followed by a fence.barrier_init
 *                WGMMA   its completed wgmma groups
 *                OUT     its groups of copies out that have finished reading their slots
 *                COPIED  its completed cp.async groups; FENCED_COPIES: those fenced afterwards
 *                MMA     its tcgen05.mma and cp whose completion a commit has signalled
 *                LOADS, STORES  its tcgen05.ld and st that were waited for and fenced (R9)
 *     (Stored part by part, each for all warps. Kernels that need no later part do not join it.)
 *   1 per mbarrier slot: completed phases; if a pair of CTAs multiplies together, one more: the
 *     completed phases whose bytes may be read, also by what another CTA issues
 *   1 in total: 1 if the predecessor kernel is known to have ended (grid.wait)
 *
 * An access is complete for a warp when the warp's clock has reached the access's value in the
 * access's component. This depends only on the synchronisation, so one run decides for every
 * schedule, provided that no arrival or wait can meet a different phase than in this run.
 * hd_ck_barrier_... check that as rule `phase`. */
#ifndef HD_CHECK_MACHINE_H
#define HD_CHECK_MACHINE_H

#include "Check/check.h"
#include "Check/check_program.h"

enum { HD_CK_CELL = 128, HD_CK_NEAR = 12, HD_CK_MAX_DEPTH = 8 };
enum { HD_CK_STRIP = 16 /* rows of A that a warp stores */ };
enum { HD_CK_BOX_UNIT = 16 /* bytes: alignment of a box of a tensor map within its row */ };
enum { HD_CK_PARTS = 64 /* of a tile that are distinguished */ };
/* Bits where the matrix of a batch begins in numbers of A's blocks, and of B's columns. */
enum { HD_CK_MATRIX_BLOCKS = 30, HD_CK_MATRIX_COLUMNS = 40, HD_CK_MATRICES = 256 };
enum { HD_CK_MATRIX_BIT = 56 /* the same in a tag of B */ };
enum { HD_CK_MAX_SLABS = 2 /* of 64 rows, in the lanes of tensor memory */, HD_CK_PAIR = 2 };

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

/* Values of `routing`. ONE_GROUP: all columns are in the first group. WILD: offsets below 0, above
 * n, and decreasing ones. */
enum { HD_CK_ONE_GROUP = 0, HD_CK_WILD = -1 };

/* Sizes of an instance. -1: not set by the launch. */
typedef struct hd_ck_instance {
  int64_t m, n, k, ld;
  int64_t t; /* columns of D, if columns are combined */
  int64_t g; /* products of a batch */
  bool shared; /* all strides of a batch except D's are 0 */
  int64_t routing; /* group sizes: 0, 1 and about a tile, starting with this one; or as above */

  int32_t grid, block; /* CTAs of the grid; first CTA of the cluster that runs */
  bool far; /* may exceed pitches that the kernel fixes: only checked for overflow */
  bool late; /* other CTAs that share a tile count after this one */
} hd_ck_instance;

typedef enum hd_ck_frag_state {
  HD_CK_FRAG_NONE,
  HD_CK_FRAG_UNDEFINED, /* frag.undef: registers without a value */
  HD_CK_FRAG_READY,     /* may be used by generic code */
  HD_CK_FRAG_FENCED,    /* passed through wgmma.fence */
  HD_CK_FRAG_IN_FLIGHT, /* result of a wgmma that was not waited for */
  HD_CK_FRAG_LOADING    /* result of a tcgen05.ld that was not waited for */
} hd_ck_frag_state;

/* Block scales that were applied to accumulators in tensor memory: for `columns` columns from `col`
 * on, the numbers of the tiles that hold the first row of A, the first and the last column of B.
 * columns 0: none. */
typedef struct hd_ck_tiles {
  int64_t a, b, b_last, col, columns;
} hd_ck_tiles;

/* The content of a fragment. A and metadata: block in the packed order and 16-row strip within the
 * block. B: k-block and column (in the order of the buffer's `run`). Accumulators: strip, column,
 * block minus k-block (constant over a valid sum), and the number of k-steps so far. `scaled`: 1 +
 * the first row of the strip whose block scales were applied; 0: none were. Block scales: k-block,
 * word (in step), first row or column (in col), their number (in run). -1: not set. Columns from
 * `end` on hold undefined sums, which must not be stored to D. */
typedef struct hd_ck_content {
  int64_t block, k_block, strip, col, end, scaled;
  int64_t scales_of[2]; /* the product whose f32 block scales of A and B were applied */
  int32_t scaled_rows; /* rows of A per scale: `scaled` counts blocks of so many rows; 0: 1 */
  int32_t run; /* consecutive columns of a lane; B and accumulators */
  int32_t step, n_steps;
  int64_t last, stride; /* k-block added last, and its distance from the one before */
  uint64_t sum;         /* of a hash of every k-step */
  /* Result of finish.tile: 1 + the strip's first row, its matrix, its column. 0: not a result. */
  int64_t finished, matrix, col_of_d;
  hd_ck_tiles tiles;
} hd_ck_content;

typedef struct hd_ck_frag {
  hd_ck_frag_state state;
  bool consumed;     /* a later op has taken over its registers */
  bool undefined;    /* FRAG_FENCED without a value */
  uint32_t group;    /* FRAG_IN_FLIGHT: the wgmma group that produces it */
  uint32_t touched;  /* clock of the last access by generic code */
  uint32_t read_by;  /* last wgmma group that reads it as A or metadata, plus 1 */
  int32_t root;      /* number of the value that was loaded; -1 = none */
  int32_t home;      /* value whose registers it uses: its own, or the one that a load reuses */
  const hd_op *made; /* the op that defined the value */
  hd_ck_content content;
} hd_ck_frag;

/* A scalar; a cursor is slot | phase << 16 | stages << 32. */
typedef struct hd_ck_value {
  int64_t i;
  hd_ck_frag frag;
} hd_ck_value;

/* The partial sums that a warp has stored and that are not added up yet; op NULL: none. */
typedef struct hd_ck_partial {
  const hd_op *op;
  int64_t offset, part, n, k_lo, k_hi, k_blocks; /* part of n: k-blocks [k_lo, k_hi) of k_blocks */
  uint64_t tile; /* hash of strips and columns */
} hd_ck_partial;

/* A range of the workspace that a launch uses for one partial or one counter. */
typedef struct hd_ck_claim {
  const hd_op *op;
  int64_t offset, lo, hi, n;
  int64_t part, k_lo, k_hi; /* of a partial */
  uint64_t tile;
  bool is_counter;
  int64_t times; /* number of stores or arrivals */
} hd_ck_claim;

/* Arrivals of a warp at one counter. */
typedef struct hd_ck_count {
  int32_t warp, total, so_far; /* total: in the whole run */
  int64_t at;                  /* the counter's byte */
  uint64_t parts;              /* counted so far: a mask as in hd_ck_extents.stored */
} hd_ck_count;

typedef enum hd_ck_warp_state {
  HD_CK_RUNNING,
  HD_CK_AT_BARRIER, /* blocked in barrier.wait */
  HD_CK_AT_SYNC,    /* blocked in cta.sync, role.sync or cluster.sync */
  HD_CK_DONE
} hd_ck_warp_state;

/* A loop that a warp is in. */
typedef struct hd_ck_loop {
  int64_t index, iterations; /* iterations: completed since entry */
  uint64_t last_lap;    /* hash of the steps in the last whole period */
} hd_ck_loop;

typedef struct hd_ck_warp {
  int32_t id, cta, index, role; /* id: in the cluster; index: in the CTA; role: -1 = none */
  int32_t at;                   /* next step */
  hd_ck_warp_state state;
  hd_ck_value *env;
  uint32_t *clock;
  uint32_t now, fenced, copies_fenced, inits_fenced;
  uint32_t met; /* time of the last point where the warp's lanes synchronised */
  uint32_t copies_done, copies_committed;
  const hd_op *copied; /* its last cp.async; NULL: none */
  uint32_t copied_group;
  uint32_t wgmma_committed, wgmma_fence;
  const hd_op *multiplies; /* its last wgmma; NULL: none */
  uint32_t wgmma_group;
  uint32_t *view;                        /* the clock that orders its tcgen05 operations (R9) */
  uint32_t multiplied;                   /* number of tcgen05.mma and cp so far */
  uint32_t moved[2], waited[2], told[2]; /* tcgen05.ld, st: issued, waited for, fenced */
  bool has_address;                      /* it has read the address of tensor memory */
  hd_ck_content *sums[HD_CK_PAIR];       /* accumulators of its last tcgen05.mma, in each CTA
                                            of a pair; HD_CK_MAX_SLABS each */
  uint32_t out_done, out_committed; /* groups of copies out, as seen by the issuing lane */
  const hd_op *out; /* the last copy out; NULL: none */
  bool out_open;    /* it is not in a committed group yet */
  const hd_op *remote_op; /* last arrival at another CTA, and its time */
  uint32_t remote_time;
  hd_ck_partial partial;
  const hd_op *last; /* the last_arriver whose region the warp is in */
  uint64_t parts;    /* parts of the tile being summed that the warp counted itself */
  uint32_t n_shared_work; /* role-issued copies so far; identifies the occurrence */
  hd_ck_loop loop[HD_CK_MAX_DEPTH];
  int32_t depth;
  uint64_t lap; /* hash of the steps since the current period of the innermost loop began */
  uint64_t path; /* hash of all steps: warps of a role must agree */
  uint64_t group_path; /* the same with operands: warps of a warpgroup must agree */
} hd_ck_warp;

typedef enum hd_ck_access_kind {
  HD_CK_READ,        /* by generic code: complete when issued (value in a register) */
  HD_CK_WRITE,       /* st.shared */
  HD_CK_COPY,        /* cp.async */
  HD_CK_BULK,        /* bulk copy or TMA: complete with a phase */
  HD_CK_SENT,        /* st.async to another CTA: generic, complete with a phase */
  HD_CK_WGMMA_READ,  /* complete with a wgmma group */
  HD_CK_OUT_READ,    /* complete with a group of copies out */
  HD_CK_TENSOR_MMA,  /* operands and results of a tcgen05.mma or cp: complete with a commit */
  HD_CK_TENSOR_MOVE, /* tcgen05.ld, st: complete with their wait */
  HD_CK_TENSOR_FREE  /* tcgen05.dealloc */
} hd_ck_access_kind;

typedef struct hd_ck_access {
  const hd_op *op;
  hd_ck_access_kind kind;
  int32_t warp, slot;
  uint32_t component, value; /* complete for a warp with clock[component] >= value */
  uint32_t occurrence;       /* of role-issued work; 0 = other */
  int64_t iteration;
} hd_ck_access;

/* A range [lo, hi) of 128-byte cells of a slot that every access so far covered as a whole: the
 * last writes, and the reads since. */
typedef struct hd_ck_span {
  int32_t lo, hi;
  uint32_t near[HD_CK_NEAR]; /* accesses, writes first: stored here while they fit, */
  uint32_t *far;             /* otherwise here; owned */
  uint16_t n_writes, n, cap; /* cap: of far; 0 = near is used */
  uint64_t tag; /* tag that the writes gave to lo; consecutive cells have consecutive tags */
} hd_ck_span;

/* The spans of one slot, in ascending order, without gaps. */
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
  uint32_t *arriving, *released; /* clocks: of the current phase's arrivals, of the last phase */
  uint32_t completed, arrived, landing; /* landing: 1 + the last phase of bytes or commits */
  int64_t expected, landed;
  const hd_op *init, *last; /* last: the last arrival or copy */
  int32_t init_warp;
  uint32_t init_time, init_fenced; /* 0: not yet */
  bool sent; /* the current phase covers writes or releases by threads of another CTA */
  hd_ck_wait *waits; /* owned */
  int32_t n_waits, cap_waits;
} hd_ck_mbarrier;

/* Block scales of A or of B: the sizes that their copies state; `each`: scales per row and
 * k-block. */
typedef struct hd_ck_scales {
  const hd_op *op; /* NULL: no copy so far */
  int64_t k_blocks, bytes, each;
  int64_t end; /* end byte of copies of scale tiles; 0: none */
} hd_ck_scales;

/* Tensor memory of a CTA. */
typedef struct hd_ck_tensor {
  const hd_op *alloc, *dealloc;
  int32_t warp;
  uint32_t time; /* of alloc */
} hd_ck_tensor;

/* The groups of a launch: the columns of each, and the number of tiles before each and in total. */
typedef struct hd_ck_groups {
  const hd_op *op; /* group.table */
  int64_t g, n, tiles_m, *first, *end, *before;
} hd_ck_groups;

/* The matrices that stores write: D, and the second one. */
typedef enum hd_ck_output { HD_CK_D, HD_CK_AUX, HD_CK_OUTPUTS } hd_ck_output;

/* The sizes that the kernel uses for its operands, over all clusters of a launch. They are compared
 * with each other and with the sizes of the instance. -1 (0 for ends): not seen yet. */
typedef struct hd_ck_extents {
  int64_t m, n;       /* from store.tile */
  int64_t rows_of_d;  /* rows of A per row of D: 2 for pairs, else 1 */
  int64_t units;      /* tiles (one per cluster) of the loop over tiles; stream-K: of the product */
  int64_t n_k_blocks; /* k-blocks in the accumulators when they were stored */
  int64_t a_end, block_bytes;
  int64_t b_rows, b_row_bytes; /* from the row copies of B */
  int64_t ldb, ldd, ldsb, ldsd, ldaux; /* from the arguments; 0: none */
  const hd_op *a_op, *b_op, *store_op, *aux_op; /* aux_op: the last store of aux; NULL: none */
  int64_t g;             /* products of a batch, from tile_coord; 0: none */
  bool apart_a, apart_b; /* the operand has a batch stride */
  bool scales_apart[2]; /* each product has f32 block scales of A, of B of its own */
  int64_t stride_b;      /* elements; 0: none */
  int64_t matrix[HD_CK_MATRICES]; /* matrices of B and D so far, by the number in their tags */
  int32_t n_matrices;             /* not counting the first, which is 0 */
  hd_ck_groups *groups;           /* NULL: none */
  hd_ck_scales scales[2]; /* of A, of B */
  int64_t boxed[2];       /* bytes of a slot that boxes of f32 scales fill; 0: none */
  hd_arena arena;
  /* Per 16 x 8 block of an output (pairs: 8 x 8) a mask of its tile's parts: bit s is set once a
   * CTA that counts part s has stored the block. Bits of parts that do not exist are set, too. A
   * row is NULL before its first store. */
  uint64_t **stored[HD_CK_OUTPUTS];
  int64_t stored_rows, stored_cols;
  uint8_t *scaled; /* per 128 rows by 8 columns of D: its statistic was stored; NULL: none was */
  uint8_t *coded; /* per strip and k-block: its share of a twin's codes was stored; NULL: no twin */
  hd_ck_claim *claims; /* owned */
  int32_t n_claims, cap_claims;
  int64_t workspace_end;
  const hd_op *workspace_op; /* last op that used the workspace */
} hd_ck_extents;

typedef struct hd_ck_machine {
  const hd_ck_program *program;
  const hd_check_options *options;
  hd_check_report *report;
  hd_ck_instance at;
  hd_arena arena;
  hd_ck_warp *warps;
  hd_ck_value *held; /* scratch: one per value of the program */
  int32_t n_warps, n_components;
  int32_t n_parts; /* no access of this kernel waits for the parts of the clock after these */
  hd_ck_slot_spans *slots; /* of all buffers, CTA by CTA */
  hd_ck_mbarrier *mbarriers;
  hd_ck_tensor *tensors;                  /* CTA by CTA */
  hd_ck_content (*sums)[HD_CK_MAX_SLABS]; /* content of the accumulators, per slot of all buffers */
  hd_ck_access *accesses; /* storage of the kernel, returned after the run */
  uint32_t n_accesses, cap_accesses;
  hd_ck_count *counts; /* owned */
  int32_t n_counts, cap_counts;
  uint64_t steps_left;
  uint64_t shortages; /* failed allocations at the start: another one ends the run */
  bool listing;  /* executes only scalar ops, to list the counts in advance */
  bool stop;     /* ends the run: after a finding, or once the wanted result is known */
  bool counting; /* only the number of tiles is wanted */
  bool went_on;  /* a finding was ignored (far): later ones may only follow from it */
  bool dependent, weights_ready;
  hd_ck_extents *extents;
} hd_ck_machine;

/* --- check_machine.c ------------------------------------------------------------------------ */
/* Runs one cluster. */
void hd_ck_run(hd_ck_machine *machine);
void hd_ck_machine_free(hd_ck_machine *machine);
/* Indices of components. */
static inline uint32_t hd_ck_component(const hd_ck_machine *m, int32_t warp, int32_t part) {
  return (uint32_t)(part * m->n_warps + warp);
}
static inline uint32_t hd_ck_grid_component(const hd_ck_machine *m) {
  return (uint32_t)m->n_components - 1;
}
uint32_t hd_ck_barrier_component(const hd_ck_machine *m, int32_t cta, int32_t slot);
/* Distance from a barrier's component to that of phases whose bytes may be read; 0: the same. */
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
/* Notes the number of tiles (per cluster) that the kernel iterates over. */
void hd_ck_note_units(hd_ck_machine *m, int64_t units);
/* Adds `what` to the hashes of the path that a warp takes. */
void hd_ck_mix_path(hd_ck_warp *w, uint64_t what);

/* --- check_scalar.c ------------------------------------------------------------------------- */
/* Executes a scalar op; false if the op is not one. */
bool hd_ck_scalar(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* --- check_clock.c -------------------------------------------------------------------------- */
/* Synchronises the lanes of a warp: each knows what all of them did. */
void hd_ck_meet_lanes(hd_ck_machine *m, hd_ck_warp *w);
void hd_ck_join(const hd_ck_machine *m, const uint32_t *from, uint32_t *into);
/* What a release by a warp publishes. */
typedef enum hd_ck_release {
  HD_CK_PUBLISH,     /* everything: all threads synchronise */
  HD_CK_ELECTED,     /* by one lane: reads and writes up to the last point where the lanes met */
  HD_CK_REMOTE,      /* to another CTA under R3: no writes */
  HD_CK_COMMIT,      /* tcgen05.commit: as REMOTE, and its tcgen05.mma and cp */
  HD_CK_FENCED_INITS /* fenced barrier initialisations: a relaxed cluster.sync */
} hd_ck_release;
void hd_ck_release_to(const hd_ck_machine *m, const hd_ck_warp *w, hd_ck_release how,
                      uint32_t *into);
/* What a copy issued by the warp publishes when it completes. */
void hd_ck_release_order(const hd_ck_machine *m, const hd_ck_warp *w, uint32_t *into);

/* --- check_shared.c ------------------------------------------------------------------------- */
/* Bytes [lo, hi) of a slot, repeated n times at a distance of `pitch` bytes. For reads, the tag
 * grows by tag_step from one to the next. */
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
/* Checks the access against the history of the region and adds it. tag: of the first cell. */
void hd_ck_access_write(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id, hd_ck_region region,
                        uint64_t tag);
/* The small number that identifies a matrix of a batch in tags. */
uint64_t hd_ck_matrix_tag(hd_ck_machine *m, const hd_op *op, int64_t g);
/* Returns the tag of the first cell; the others must follow it (else finding `data`). */
uint64_t hd_ck_access_read(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id, hd_ck_region region);
/* The same if they need not follow: *other is the first byte that does not; INT64_MAX: none. */
uint64_t hd_ck_access_read_any(hd_ck_machine *m, const hd_ck_warp *w, uint32_t id,
                               hd_ck_region region, int64_t *other);
/* Slot and buffer of operands; false after a finding. */
bool hd_ck_region_of(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t cursor, hd_ck_region *region);

/* The same for a slot of a buffer that is not a ring: the slot's number is an operand. */
bool hd_ck_region_at(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t buffer,
                     int32_t slot, hd_ck_region *region);

/* --- check_barrier.c ------------------------------------------------------------------------ */
void hd_ck_barrier_commit(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Each executes a sync op. barrier_wait returns false if the warp must block. */
void hd_ck_barrier_init(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_barrier_fence_inits(hd_ck_machine *m, hd_ck_warp *w);
void hd_ck_barrier_expect(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_barrier_arrive(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
bool hd_ck_barrier_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Adds the bytes of a copy to a CTA's barrier, which will complete there; returns the phase. */
uint32_t hd_ck_barrier_land(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                            int32_t operand, int32_t cta, int32_t slot, int64_t bytes);
/* When all warps are blocked: completes the phases that are ready. False: none is. */
bool hd_ck_barriers_advance(hd_ck_machine *m);
/* On deadlock: reports a phase with all arrivals that received a different number of bytes. */
void hd_ck_barriers_check_bytes(hd_ck_machine *m);
/* At the end of the cluster: no copy may be in flight. */
void hd_ck_barriers_finish(hd_ck_machine *m);

/* --- check_copy.c, check_fragment.c, check_wgmma.c, check_store.c --------------------------- */
/* The initial state of a fragment, without content. */
extern const hd_ck_frag hd_ck_no_frag;
void hd_ck_copy_bulk(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_tma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
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
/* Reads all of B's slot (`region`) for a matrix instruction; false after a finding. */
bool hd_ck_read_b(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, hd_ck_region region,
                  hd_ck_content *b);
/* Reads a region of shared memory for a matrix instruction; returns the tag. `other` as in
 * hd_ck_access_read_any; NULL: as hd_ck_access_read. */
uint64_t hd_ck_read_matrix(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step,
                           const hd_ck_region *region, int64_t *other);
void hd_ck_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* Allocates the record of the blocks of D (x->m by x->n) that are stored. */
void hd_ck_store_begin(hd_ck_extents *x);
/* --- check_combine.c, check_copy_global.c, check_pack.c --------------------------------------- */
void hd_ck_combine(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_global(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* prune.pack, mask.pack and quantize.pack. */
void hd_ck_prune_pack(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_twin_codes(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* False, with a finding, if `value` is negative or not a multiple of `unit`. */
bool hd_ck_is_aligned(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                      const char *what, int64_t value, int64_t unit);
/* The barrier (an operand) must have as many stages as the buffer. False after a finding. */
bool hd_ck_same_ring(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int32_t operand,
                     const hd_ck_region *region);
/* Generic code uses the fragment: its value must be available. */
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

/* The matrix of a batch that a store or copy out of D names in operand `at`; 0 without one. */
int64_t hd_ck_matrix_of(const hd_ck_warp *w, const hd_ck_step *step, int32_t at);
/* Checks of every store of D: the mask is the problem's m and n (operands `at` and the next, for
 * matrix g); strip and block exist in the matrix; the sums are those of this strip, from column
 * `col` on. False after a finding. */
bool hd_ck_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t at, int64_t g);
bool hd_ck_store_mask(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
bool hd_ck_store_strip(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t *row,
                       int64_t *col, int64_t *g);
void hd_ck_store_fragments(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int64_t row,
                           int64_t col);
/* Records the write of a 16 x 8 block of D, or aux if the op stores that; a second write is a
 * finding. */
void hd_ck_store_mark(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, int64_t g,
                      int64_t row, int64_t col);
/* After the whole grid: finds the first element of D or aux (of a batch's matrix g) that was not
 * written. False: all were. */
bool hd_ck_store_missing(const hd_ck_extents *extents, hd_ck_output output, int64_t *g,
                         int64_t *row, int64_t *col);
#include "Check/check_scale.h"
#include "Check/check_statistic.h"

/* --- check_out.c ------------------------------------------------------------------------------ */
void hd_ck_stage_tile(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_copy_out(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_out_commit(hd_ck_warp *w);
void hd_ck_out_wait(hd_ck_warp *w, const hd_ck_step *step);
/* At the end of the cluster: no copy out may still read a slot. */
void hd_ck_out_finish(hd_ck_machine *m);

/* --- check_group.c ---------------------------------------------------------------------------- */
void hd_ck_group_table(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_group_count(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_group_find(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* First column of the g-th group of a routing: after the groups before it and `routing` columns. */
int64_t hd_ck_group_columns(int64_t routing, int64_t g, int64_t unit);

/* --- check_tensor_columns.c, check_tensor.c -------------------------------------------------- */
/* Number of CTAs that a tcgen05.mma.sp or cp works for, from *first on; 0 after a finding. */
int32_t hd_ck_tensor_group(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step,
                           int32_t *first);
/* A slot of a CTA's tensor memory (operands `buffer`, `cursor`); false if it is not allocated. */
bool hd_ck_tensor_region(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step, int32_t cta,
                         int32_t buffer, int32_t cursor, hd_ck_region *region);
void hd_ck_tensor_mma(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_st(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_ld(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_wait(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_fence(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_tensor_columns(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* At the end of the cluster: allocated columns must have been deallocated. */
void hd_ck_tensor_finish(hd_ck_machine *m);

/* --- check_partial.c ------------------------------------------------------------------------ */
void hd_ck_partial_store(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_partial_sum(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_last_arriver(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
/* In the listing run: notes that the warp will count at this counter. */
void hd_ck_list_count(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_leave_last(hd_ck_warp *w);
/* At the end of the cluster: every partial must have been counted. */
void hd_ck_partials_finish(hd_ck_machine *m);
/* After the whole grid: a counter that did not return to zero; NULL: none. */
const hd_ck_claim *hd_ck_partials_missing(const hd_ck_extents *extents);

/* --- check_cluster_sum.c -------------------------------------------------------------------- */
void hd_ck_partial_send(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);
void hd_ck_partial_add(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step);

/* --- check_finding.c ------------------------------------------------------------------------ */
/* Describes an op that the warp executes now (here), or an earlier access (there). */
hd_check_access hd_ck_here(hd_ck_machine *m, const hd_ck_warp *w, const hd_op *op, int32_t slot);
hd_check_access hd_ck_there(hd_ck_machine *m, const hd_ck_access *access);
/* Adds a finding (once for the same rule and ops) and ends the run when there are enough. */
void hd_ck_find(hd_ck_machine *m, const char *rule, hd_check_access first, hd_check_access second,
                const char *remedy, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* A finding of the op that the warp executes now: `what` is not what is expected. */
void hd_ck_differ(hd_ck_machine *m, const hd_ck_warp *w, const hd_ck_step *step, const char *rule,
                  const char *remedy, const char *what, int64_t got, int64_t expected);
/* A finding of rule "undecided". */
void hd_ck_undecided(hd_ck_machine *m, const hd_op *op, const char *why);

#endif
