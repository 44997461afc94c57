/* Schedule/resolve.h: completes the words of a text to a schedule. */
#ifndef HD_RESOLVE_H
#define HD_RESOLVE_H

#include "Schedule/heuristic.h"
#include "Schedule/legality.h"

/* Applies the words to the default. Keys that depend on other keys (warps and stages on the tile)
 * are derived unless the words give them. HEDDLE_INVALID if a tile or a number is out of range;
 * hd_schedule_check checks whether the combination is legal. */
heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_device_model *device,
                                  const hd_problem *problem, const hd_schedule_words *words,
                                  hd_schedule *schedule);
/* The same for a text. */
heddle_status hd_schedule_read(heddle_context *ctx, const hd_device_model *device,
                               const hd_problem *problem, const char *text, hd_schedule *schedule);
/* Adds a note with the legal combination of words nearest to the refused one. */
void hd_schedule_note_nearest(heddle_context *ctx, const hd_device_model *device,
                              const hd_problem *problem, const hd_schedule_words *words);

#endif
