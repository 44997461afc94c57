/* Passes/schedule_room.h: the room that a schedule takes on an SM, and how much there is: shared
 * memory, registers, tensor memory; and what follows from it. */
#ifndef HD_SCHEDULE_ROOM_H
#define HD_SCHEDULE_ROOM_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

enum {
  HD_MOST_WARPS = 16,
  HD_SCALED_UNIT = 64,       /* of columns of a tile in tensor memory with block scales */
  HD_PENDING_REGISTERS = 196 /* accumulators, and metadata that two batches hold */
};

static inline bool hd_schedule_is_wgmma(const hd_schedule *s) {
  return strcmp(s->family, "wgmma") == 0;
}

static inline bool hd_schedule_is_mma(const hd_schedule *s) {
  return strcmp(s->family, "mma") == 0;
}

static inline bool hd_schedule_is_tensor(const hd_schedule *s) {
  return strcmp(s->family, "tcgen05") == 0;
}

/* The CTAs of a cluster multiply together: the first one issues, each holds half of B's columns. */
static inline bool hd_schedule_is_pair(const hd_schedule *s) {
  return hd_schedule_is_tensor(s) && s->cluster == 2;
}

/* Columns of B in a CTA's slot. */
static inline int32_t hd_schedule_b_columns(const hd_schedule *s) {
  return hd_schedule_is_pair(s) ? s->tile_n / 2 : s->tile_n;
}

/* No tile reaches over N. */
bool hd_schedule_is_whole_n(const hd_problem *problem, const hd_schedule *schedule);
/* Columns of B in a box of its tensor map. Where a tile may reach over N no box begins there, and
 * they are small: for a row that is not there TMA takes three times as long as for one that is. */
int32_t hd_schedule_b_box(const hd_problem *problem, const hd_schedule *schedule);

/* What the columns of a tile of tcgen05 are a multiple of: those of a pair fall into halves, of an
 * mn_major B in whole panels of 64. */
int32_t hd_schedule_tensor_unit(const hd_problem *problem, const hd_schedule *schedule);

/* CTAs share tiles over k, through partial sums. */
static inline bool hd_schedule_shares_tiles(const hd_schedule *s) {
  return s->split_k > 1 || s->stream_k;
}

/* CTAs of a cluster along k that own columns of its tile, as many each: add them up and store them.
 * 1: the first one owns all. */
int32_t hd_schedule_owners(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_threads(const hd_schedule *schedule);

/* ---- shared memory ---- */

/* Bytes of a stage's block scales of so many rows of A, or columns of B. */
int32_t hd_schedule_scale_bytes(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t rows);
/* Bytes of one stage; of all with barriers and alignment; those and the slots of D. */
int32_t hd_schedule_stage_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_ring_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_shared_bytes(const hd_problem *problem, const hd_schedule *schedule);
/* What a CTA may take of it. */
int32_t hd_schedule_shared_limit(const hd_problem *problem, const hd_schedule *schedule);
/* The least to ask for so that an SM holds no more CTAs than the schedule says, those of the kernel
 * behind included: launched early, they would be spread unevenly and slow their elders. */
int32_t hd_schedule_shared_claim(const hd_problem *problem, const hd_schedule *schedule);
/* Stages that just cover the memory's latency where A's stream binds. */
int32_t hd_schedule_covering_stages(const hd_problem *problem, const hd_schedule *schedule);
/* Stages worth having: those, or all that there are where A is read ahead of the kernel's turn. */
int32_t hd_schedule_wanted_stages(const hd_problem *problem, const hd_schedule *schedule);
/* CTAs may be launched in clusters that share nothing: each takes tiles until there are none. */
static inline bool hd_schedule_may_spread(const hd_schedule *s) {
  return hd_schedule_is_wgmma(s) && s->cluster == 1 && s->persistent &&
         !hd_schedule_shares_tiles(s);
}
/* Under weights_ready CTAs go where those of the launch ahead have left, unevenly over the GPCs,
 * and the fullest binds; in clusters of four they have few other places (H200, 112 CTAs: 2 to 7 %
 * less time, docs/bench/attempts.csv, run 12). 1 where the SMs are full anyway. */
int32_t hd_schedule_wanted_spread(const hd_problem *problem, const hd_schedule *schedule);
/* Stages that fit, and may be none; the same, at most `most`, at least 2 (hd_schedule_check refuses
 * what does not fit). */
int32_t hd_schedule_fitting_stages(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_stages(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t most);

/* ---- registers ---- */

/* Accumulator registers a thread holds; may hold beside what else its schedule wants (wgmma,
 * tcgen05); may hold where its CTA shares the SM, which may be less than none. */
int32_t hd_schedule_accumulators(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_accumulators(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_shared_accumulators(const hd_problem *problem, const hd_schedule *schedule);
/* Metadata registers of the two batches of a turn. */
int32_t hd_schedule_held_metadata(const hd_problem *problem, const hd_schedule *schedule);
/* CTAs that an SM will hold, never fewer than the schedule says: as many as its memory and, by
 * estimate, its registers have room for; where it is not known what they take, what it says. */
int32_t hd_schedule_residents(const hd_problem *problem, const hd_schedule *schedule);
/* Registers hold the metadata of a batch that runs while the next is issued. */
bool hd_schedule_may_pend(const hd_problem *problem, const hd_schedule *schedule);
/* Batches that may do so: more is faster. */
int32_t hd_schedule_most_pending(const hd_problem *problem, const hd_schedule *schedule);
/* Halves the tile's n until splits of k, or A's fragments, have registers beside the
 * accumulators. */
void hd_schedule_narrow(const hd_problem *problem, hd_schedule *schedule);
/* Warps for a tile that the user gave without them. */
void hd_schedule_spread_warps(hd_schedule *schedule);

/* ---- tensor memory ---- */

/* Slots of accumulators; two where a tile may be written while the next one is multiplied. */
int32_t hd_schedule_sum_slots(const hd_problem *problem, const hd_schedule *schedule);
/* Columns that a CTA takes; takes with one slot; may take. */
int32_t hd_schedule_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_least_columns(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_most_columns(const hd_problem *problem, const hd_schedule *schedule);

#endif
