/* Passes/schedule_fit.h: which schedules are legal. */
#ifndef HD_SCHEDULE_FIT_H
#define HD_SCHEDULE_FIT_H

#include "Passes/schedule_room.h"

/* What all that schedule_room.h says takes for granted: a tile, warps, splits of k and CTAs an SM
 * that exist. */
heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *problem,
                                        const hd_schedule *schedule);
/* What the schedule's family of instructions takes. */
heddle_status hd_schedule_check_family(heddle_context *ctx, const hd_problem *problem,
                                       const hd_schedule *schedule);
/* hd_schedule_check without its sentence. */
bool hd_schedule_fits(const hd_problem *problem, const hd_schedule *schedule);
/* Default, then text; stages and warps follow the tile unless the text names them. */
heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_op *kernel, const char *text,
                                  hd_schedule *schedule);
/* Appends every legal schedule but `first`. */
void hd_schedule_each(const hd_problem *problem, const hd_schedule *first, hd_schedule **list,
                      size_t *n, size_t *cap);

#endif
