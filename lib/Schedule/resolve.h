/* Schedule/resolve.h: from the words of a text to a whole schedule. */
#ifndef HD_RESOLVE_H
#define HD_RESOLVE_H

#include "Schedule/heuristic.h"
#include "Schedule/legality.h"

/* The default, then the words; what follows from others (warps and stages from the tile) does so
 * unless the words give it. HEDDLE_INVALID where a tile, or a number, is none; whether all is legal
 * together is left to hd_schedule_check. */
heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_device_model *device,
                                  const hd_problem *problem, const hd_schedule_words *words,
                                  hd_schedule *schedule);
/* The same of a text. */
heddle_status hd_schedule_read(heddle_context *ctx, const hd_device_model *device,
                               const hd_problem *problem, const char *text, hd_schedule *schedule);
/* A note with the words, legal together, that are nearest to those that were refused. */
void hd_schedule_note_nearest(heddle_context *ctx, const hd_device_model *device,
                              const hd_problem *problem, const hd_schedule_words *words);

#endif
