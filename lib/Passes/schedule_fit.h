/* Passes/schedule_fit.h: what fits a target. */
#ifndef HD_SCHEDULE_FIT_H
#define HD_SCHEDULE_FIT_H

#include "Passes/problem.h"
#include "Passes/schedule.h"

/* What all that is said here takes for granted: a tile, warps, splits of k and CTAs an
 * SM that exist. */
heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *problem,
                                        const hd_schedule *schedule);
/* CTAs of a cluster along k that own columns of its tile, as many each: add them up and store them.
 * 1: the first one owns all. */
int32_t hd_schedule_owners(const hd_problem *problem, const hd_schedule *schedule);
/* Bytes of a stage's block scales of so many rows of A, or columns of B. */
int32_t hd_schedule_scale_bytes(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t rows);
/* Bytes of shared memory of one stage; of all with barriers and alignment; those and the slots of
 * D. */
int32_t hd_schedule_stage_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_ring_bytes(const hd_problem *problem, const hd_schedule *schedule);
int32_t hd_schedule_shared_bytes(const hd_problem *problem, const hd_schedule *schedule);
/* hd_schedule_check without its sentence. */
bool hd_schedule_fits(const hd_problem *problem, const hd_schedule *schedule);
/* What a CTA may take of it. */
int32_t hd_schedule_shared_limit(const hd_problem *problem, const hd_schedule *schedule);
/* The least to ask for so that an SM holds no more CTAs than the schedule says, those of the kernel
 * behind included: launched early, they would be spread unevenly and slow their elders. */
int32_t hd_schedule_shared_claim(const hd_problem *problem, const hd_schedule *schedule);
/* Stages that just cover the memory's latency where A's stream binds. */
int32_t hd_schedule_covering_stages(const hd_problem *problem, const hd_schedule *schedule);
/* Stages worth having: those, or all that there are where A is read ahead of the kernel's turn. */
int32_t hd_schedule_wanted_stages(const hd_problem *problem, const hd_schedule *schedule);
/* The most stages that fit, at most `most`, at least 2 (hd_schedule_check refuses what does not
 * fit). */
int32_t hd_schedule_most_stages(const hd_problem *problem, const hd_schedule *schedule,
                                int32_t most);
/* Batches that may run while the next is issued: more is faster, where registers hold their
 * metadata. */
int32_t hd_schedule_most_pending(const hd_problem *problem, const hd_schedule *schedule);
/* Halves the tile's n until splits of k, or A's fragments, have registers beside the
 * accumulators. */
void hd_schedule_narrow(const hd_problem *problem, hd_schedule *schedule);
/* Warps for a tile that the user gave without them. */
void hd_schedule_spread_warps(hd_schedule *schedule);
/* Default, then text; stages and warps follow the tile unless the text names them. */
heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_op *kernel, const char *text,
                                  hd_schedule *schedule);
/* Appends every legal schedule but `first`. */
void hd_schedule_each(const hd_problem *problem, const hd_schedule *first, hd_schedule **list,
                      size_t *n, size_t *cap);

/* tcgen05: slots of accumulators in tensor memory; two where a tile may be written while the next
 * one is multiplied. */
int32_t hd_schedule_sum_slots(const hd_problem *problem, const hd_schedule *schedule);
/* Columns of tensor memory that a CTA takes. */
int32_t hd_schedule_columns(const hd_problem *problem, const hd_schedule *schedule);

/* Accumulator registers a thread holds. */
int32_t hd_schedule_accumulators(const hd_problem *problem, const hd_schedule *schedule);

#endif
