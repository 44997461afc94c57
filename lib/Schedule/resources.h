/* Schedule/resources.h: what a schedule takes of an SM, and what an SM has: shared memory,
 * registers, tensor memory; and what follows from it. */
#ifndef HD_RESOURCES_H
#define HD_RESOURCES_H

#include "Schedule/problem.h"
#include "Schedule/schedule.h"

enum {
  HD_MOST_WARPS = 16,
  HD_MOST_STAGES = 40,       /* ORDER STAGES: schedule_keys.def */
  HD_USUAL_STAGES = 20,      /* of a ring that a default, or the search for tiles, makes deep */
  HD_SCALE_BOX = 8,          /* scales of blocks of A's rows that one copy brings: 32 bytes, */
  HD_SCALE_UNIT = 4,         /* from a multiple of so many on: a box begins at 16 bytes */
  HD_SCALED_UNIT = 64,       /* of columns of a tile in tensor memory with block scales */
  HD_NARROWEST_SLOT = 32,       /* bytes of a row of D in a slot */
  HD_IN_FLIGHT_REGISTERS = 196 /* accumulators, and metadata that two batches hold */
};

/* Columns of B in a CTA's slot. */
static inline int32_t hd_schedule_b_columns(const hd_schedule *s) {
  return hd_schedule_is_pair(s) ? s->tile_n / 2 : s->tile_n;
}

/* No tile reaches over N. */
bool hd_schedule_is_whole_n(const hd_problem *problem, const hd_schedule *schedule);
/* Columns of B that a CTA copies; *unit: a box of them is a multiple of it. */
int32_t hd_schedule_b_share(const hd_problem *problem, const hd_schedule *schedule, int32_t *unit);
/* Columns of B in a box of its tensor map. If N may end within a tile, the boxes are small, and
 * none begins past N: TMA takes three times as long for a row past the end as for another. Tiles
 * that lie before N are then loaded by a second map, whose box has all that a CTA copies. */
int32_t hd_schedule_b_box(const hd_problem *problem, const hd_schedule *schedule);

/* What the columns of a tile of tcgen05 are a multiple of: those of a pair fall into halves, of an
 * mn_major B in whole panels of 64. */
int32_t hd_schedule_tensor_unit(const hd_problem *problem, const hd_schedule *schedule);

/* CTAs of a cluster along k that own columns of its tile, as many each: add them up and store them.
 * 1: the first one owns all. */
int32_t hd_schedule_owners(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_threads(const hd_schedule *schedule);

/* ---- shared memory ---- */

/* Bytes of a stage's block scales of A (which 0), of B (1). */
int32_t hd_schedule_scale_bytes(const hd_problem *problem, const hd_schedule *schedule, int which);
/* Bytes of one stage; of all, with barriers, alignment and the slots of D. */
int32_t hd_schedule_stage_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_group_bytes(const hd_problem *problem); /* of the table of groups */
int32_t hd_schedule_shared_bytes(const hd_problem *problem, const hd_schedule *schedule);
/* What a CTA may take of it. */
int32_t hd_schedule_shared_limit(const hd_problem *problem, const hd_schedule *schedule);
/* A slot holds `cols` columns of `rows` rows of D, those of a 16-row strip, as a box of D's tensor
 * map: lines of line_bytes bytes, swizzled over as many (0: not). A warp has `each` slots, filled
 * one after the other. Slots are the warps' own: a split tile's last arriver is a warp, and lanes
 * meet faster than warps. */
typedef struct hd_store_slot {
  int32_t rows, cols, bytes, line_bytes, swizzle, each;
} hd_store_slot;

/* cols 0: D is not staged, or its tile has no such slices. */
hd_store_slot hd_store_slot_of(const hd_problem *problem, const hd_schedule *schedule);
/* How a tile's statistics come together, where D has them: warps put those of their strips into
 * slots of shared memory, of which each 128 rows of D have as many as warps; with scale_d a slot
 * more, of factors. */
typedef struct hd_reduce_slots {
  int32_t blocks;     /* of 128 rows of D in a tile; 0: no statistic */
  int32_t strips;     /* of a warp in a slot, a slab apart */
  int32_t rows;       /* slots of a block's statistics */
  int32_t n, n_bytes; /* slots in all; bytes of one */
} hd_reduce_slots;
hd_reduce_slots hd_schedule_reduce_slots(const hd_problem *problem, const hd_schedule *schedule);

/* The least to ask for so that an SM holds no more CTAs than the schedule says, those of the next
 * kernel included: launched early, they would lie unevenly over the SMs and slow this one. */
int32_t hd_schedule_shared_claim(const hd_problem *problem, const hd_schedule *schedule);
/* Stages that just cover the memory's latency where A's stream binds. */
int32_t hd_schedule_covering_stages(const hd_problem *problem, const hd_schedule *schedule);
/* Stages worth having: those, or what is worth reading of A ahead of the kernel's turn. */
int32_t hd_schedule_wanted_stages(const hd_problem *problem, const hd_schedule *schedule);
/* CTAs may be launched in clusters that share nothing: each takes tiles until there are none. */
static inline bool hd_schedule_may_cluster_launch(const hd_schedule *s) {
  return hd_schedule_is_wgmma(s) && s->cluster == 1 && s->persistent &&
         !hd_schedule_shares_tiles(s);
}
/* Stages that fit, and may be none; the same, at most `most`, at least 2 (hd_schedule_check refuses
 * what does not fit). */
int32_t hd_schedule_fitting_stages(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_stages(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t most);

/* ---- registers ---- */

/* Accumulator registers that a thread holds, and that it may hold with the rest of its schedule
 * (wgmma, tcgen05); may hold where its CTA shares the SM, which may be less than none. */
int32_t hd_schedule_accumulators(const hd_problem *problem, const hd_schedule *schedule);
/* Sets of them in the main loop: two where sums of a k-block are promoted to others. */
int32_t hd_schedule_sets(const hd_problem *problem);
int32_t hd_schedule_most_accumulators(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_shared_accumulators(const hd_problem *problem, const hd_schedule *schedule);
/* Metadata registers of the two batches of a turn. */
int32_t hd_schedule_held_metadata(const hd_problem *problem, const hd_schedule *schedule);
/* CTAs that an SM will hold, never fewer than the schedule says: as many as its memory and, by
 * estimate, its registers have room for; where it is not known what they take, what it says. */
int32_t hd_schedule_residents(const hd_problem *problem, const hd_schedule *schedule);
/* Registers hold the metadata of a batch that runs while the next is issued. */
bool hd_schedule_may_overlap(const hd_problem *problem, const hd_schedule *schedule);
/* Batches that may do so: more is faster. */
int32_t hd_schedule_most_in_flight(const hd_problem *problem, const hd_schedule *schedule);
/* Halves the tile's n until splits of k, or A's fragments, have registers beside the
 * accumulators. */
void hd_schedule_narrow(const hd_problem *problem, hd_schedule *schedule);
/* Warps for a tile that the user gave without them. */
void hd_schedule_default_warps(hd_schedule *schedule);

/* ---- tensor memory ---- */

/* Slots of accumulators; two where a tile may be written while the next one is multiplied. */
int32_t hd_schedule_sum_slots(const hd_problem *problem, const hd_schedule *schedule);
/* Columns that a CTA takes; takes with one slot; may take. */
int32_t hd_schedule_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_least_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_columns(const hd_problem *problem, const hd_schedule *schedule);

#endif
