/* Schedule/resources.h: the shared memory, registers and tensor memory that a schedule uses, the
 * limits of an SM, and the values that follow from them. */
#ifndef HD_RESOURCES_H
#define HD_RESOURCES_H

#include "Schedule/problem.h"
#include "Schedule/schedule.h"

enum {
  HD_MOST_WARPS = 16,
  HD_MOST_STAGES = 40,       /* ORDER STAGES: schedule_keys.def */
  HD_USUAL_STAGES = 20,      /* maximum depth of a ring in defaults and in the search for tiles */
  HD_SCALE_BOX = 8,          /* scales of blocks of A's rows that one copy loads: 32 bytes */
  HD_SCALE_UNIT = 4,         /* the first of them is a multiple of this: boxes start at 16 bytes */
  HD_SCALED_UNIT = 64,       /* columns of a tile in tensor memory with block scales: a multiple */
  HD_STATISTIC_C = 64,       /* maximum columns in tensor memory with a statistic of D, and C */
  HD_NARROWEST_SLOT = 32,       /* minimum bytes of a row of D in a slot */
  HD_IN_FLIGHT_REGISTERS = 196 /* maximum of accumulators and metadata of two batches */
};

/* Columns of B in a stage of one CTA. */
static inline int32_t hd_schedule_b_columns(const hd_schedule *s) {
  return hd_schedule_is_pair(s) ? s->tile_n / 2 : s->tile_n;
}

/* Whether N is fixed and no tile extends past it. */
bool hd_schedule_is_whole_n(const hd_problem *problem, const hd_schedule *schedule);
/* Columns of B that a CTA copies. *unit: the width of a box is a multiple of it. */
int32_t hd_schedule_b_share(const hd_problem *problem, const hd_schedule *schedule, int32_t *unit);
/* Columns of B in a box of its tensor map. If N may end within a tile, the boxes are small, and
 * none begins past N: TMA takes three times as long for a row past the end as for other rows.
 * Complete tiles are then loaded by a second map, whose box has all columns that a CTA copies. */
int32_t hd_schedule_b_box(const hd_problem *problem, const hd_schedule *schedule);

/* The columns of a tcgen05 tile are a multiple of this. A pair of CTAs divides them into halves,
 * which consist of complete panels of 64 if B is mn_major. */
int32_t hd_schedule_tensor_unit(const hd_problem *problem, const hd_schedule *schedule);

/* CTAs of a cluster along k that own an equal part of the tile's columns, which they add up and
 * store. 1: the first CTA owns all columns. */
int32_t hd_schedule_owners(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_threads(const hd_schedule *schedule);

/* The columns that a kernel with groups multiplies of a tile of which a group fills at most half:
 * half of the tile's; 0: all of them, as no narrower instruction is faster. */
int32_t hd_schedule_half_columns(const hd_problem *problem, const hd_schedule *schedule);

/* Whether the kernel reads columns of B, or their block scales, by index. A copy of B that is made
 * ahead has its columns in order, but their f32 scales stay where they are. */
static inline bool hd_schedule_gathers(const hd_problem *p, const hd_schedule *s) {
  return p->gather && (s->b_path != HD_B_COPIED || hd_scales_by_index(p));
}

/* The iterations after which a stage whose `rows` are copied by cp.async is signalled: the copies
 * have landed then. The next stages are issued meanwhile. */
int64_t hd_schedule_gather_lag(int64_t stages, int64_t rows);

/* ---- shared memory ---- */

/* The number of f32 block scales of A (which = 0) or B (1) in a stage. */
int32_t hd_schedule_promoted_scales(const hd_problem *problem, const hd_schedule *schedule,
                                    int which);
/* Bytes of the block scales, of any type, of A (which = 0) or B (1) in a stage. */
int32_t hd_schedule_scale_bytes(const hd_problem *problem, const hd_schedule *schedule, int which);
/* Bytes of one stage; of the table of groups; of all stages, barriers, tables, alignment and slots
 * of D together. */
int32_t hd_schedule_stage_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_group_bytes(const hd_problem *problem);
int32_t hd_schedule_shared_bytes(const hd_problem *problem, const hd_schedule *schedule);
/* Maximum shared memory of a CTA, in bytes. */
int32_t hd_schedule_shared_limit(const hd_problem *problem, const hd_schedule *schedule);
/* A slot holds `cols` columns and `rows` rows of D (of a 16-row strip) as a box of D's tensor map:
 * lines of line_bytes bytes, with a swizzle of that width (0: none). A warp has `each` slots of its
 * own and fills them in turn. The last arriver of a split tile is a single warp, and synchronising
 * the lanes of a warp is faster than synchronising warps. */
typedef struct hd_store_slot {
  int32_t rows, cols, bytes, line_bytes, swizzle, each;
} hd_store_slot;

/* cols 0: D is not staged, or the rows of its tile do not divide into slots. */
hd_store_slot hd_store_slot_of(const hd_problem *problem, const hd_schedule *schedule);
/* The smallest set of warps that own consecutive rows of a tile: a warpgroup, which has slabs of 64
 * rows, or one warp, which has strips of 16. rows 0: too few warps for a set. */
typedef struct hd_warp_rows {
  int32_t warps, rows;
} hd_warp_rows;
hd_warp_rows hd_schedule_warp_rows(const hd_schedule *schedule);
/* Slots of shared memory in which a tile's statistics are collected. A cell is a block of 128 rows
 * of D by the columns that a warp has in registers. It has one slot for each of its warps, and with
 * scale_d one more, for the factors. */
typedef struct hd_reduce_slots {
  int32_t blocks;     /* blocks of 128 rows of D in a tile; 0: no statistic */
  int32_t across;     /* cells of a block, side by side */
  int32_t strips;     /* strips of a warp in a slot */
  int32_t rows;       /* slots per cell, without the factors */
  int32_t n, n_bytes; /* number of slots; bytes per slot */
} hd_reduce_slots;
hd_reduce_slots hd_schedule_reduce_slots(const hd_problem *problem, const hd_schedule *schedule);
/* Slots of shared memory with the scales of a tile's columns, which are computed from a statistic.
 * Each set of warps that store independently (a warpgroup of wgmma, else all warps) has a slot for
 * each part of the columns that a warp stores. */
typedef struct hd_column_slots {
  int32_t sets;       /* sets of warps; 0: there is no statistic */
  int32_t across;     /* slots of a set, side by side */
  int32_t n, n_bytes; /* number of slots; bytes per slot */
} hd_column_slots;
hd_column_slots hd_schedule_column_slots(const hd_problem *problem, const hd_schedule *schedule);

/* Minimum request of shared memory for which an SM holds at most ctas_per_sm CTAs, including those
 * of the next kernel. Launched early, these would be distributed unevenly and slow this kernel. */
int32_t hd_schedule_shared_claim(const hd_problem *problem, const hd_schedule *schedule);
/* The minimum number of stages that covers the memory latency if the loads of A are the limit. */
int32_t hd_schedule_covering_stages(const hd_problem *problem, const hd_schedule *schedule);
/* The same for A and B together: enough if several tiles share A. */
int32_t hd_schedule_shallow_stages(const hd_problem *problem, const hd_schedule *schedule);
/* The default number of stages before limits: as above for narrow wgmma tiles (the smaller one if
 * several tiles share A), or enough for the part of A that is worth reading before
 * griddepcontrol.wait; else constants. */
int32_t hd_schedule_wanted_stages(const hd_problem *problem, const hd_schedule *schedule);
/* Whether cluster launch is legal: persistent wgmma CTAs that share neither operands nor tiles. */
static inline bool hd_schedule_may_cluster_launch(const hd_schedule *s) {
  return hd_schedule_is_wgmma(s) && s->cluster == 1 && s->persistent &&
         !hd_schedule_shares_tiles(s);
}
/* Stages that fit into shared memory, possibly none; the same limited to 2 … `most`
 * (hd_schedule_check refuses a schedule that does not fit). */
int32_t hd_schedule_fitting_stages(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_stages(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t most);

/* ---- registers ---- */

/* Accumulator registers per thread. Sets of accumulators in the main loop: 2 if the sums of a
 * k-block are promoted. Maximum of accumulator registers with the rest of the schedule (wgmma,
 * tcgen05); maximum with ctas_per_sm CTAs on an SM, which may be negative. */
int32_t hd_schedule_accumulators(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_sets(const hd_problem *problem);
int32_t hd_schedule_most_accumulators(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_shared_accumulators(const hd_problem *problem, const hd_schedule *schedule);
/* Metadata registers per thread for the two batches of an iteration. */
int32_t hd_schedule_held_metadata(const hd_problem *problem, const hd_schedule *schedule);
/* CTAs that an SM will hold, at least ctas_per_sm: the number for which its shared memory and, by
 * estimate, its registers suffice; ctas_per_sm if there is no estimate. */
int32_t hd_schedule_residents(const hd_problem *problem, const hd_schedule *schedule);
/* Whether the registers suffice for the metadata of a batch that runs while the next is issued. */
bool hd_schedule_may_overlap(const hd_problem *problem, const hd_schedule *schedule);
/* Maximum number of batches in flight, which is also the fastest. */
int32_t hd_schedule_most_in_flight(const hd_problem *problem, const hd_schedule *schedule);
/* Halves the tile's n until the accumulators leave enough registers for splits of k or for the
 * fragments of A. */
void hd_schedule_narrow(const hd_problem *problem, hd_schedule *schedule);
/* Sets the default warps for the tile. */
void hd_schedule_default_warps(hd_schedule *schedule);

/* ---- tensor memory ---- */

/* Slots of accumulators: 2 if a tile can be stored while the next one is multiplied, else 1. */
int32_t hd_schedule_sum_slots(const hd_problem *problem, const hd_schedule *schedule);
/* Columns of tensor memory that a CTA allocates; the same with one slot; the maximum. */
int32_t hd_schedule_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_least_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_columns(const hd_problem *problem, const hd_schedule *schedule);

#endif
