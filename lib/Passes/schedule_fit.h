/* Passes/schedule_fit.h: which schedules are legal. */
#ifndef HD_SCHEDULE_FIT_H
#define HD_SCHEDULE_FIT_H

#include "Passes/schedule_room.h"

/* A word of a schedule's text, KEY=VALUE. The i-th in ORDER KEYS; NULL at the end. */
typedef enum hd_key_kind { HD_KEY_INT, HD_KEY_WORD, HD_KEY_TILE, HD_KEY_WARPS } hd_key_kind;
typedef struct hd_schedule_key {
  const char *name;
  hd_key_kind kind;
  size_t at, bytes;  /* of its value in the record */
  const char *words; /* HD_KEY_WORD: the legal ones */
} hd_schedule_key;
const hd_schedule_key *hd_schedule_key_get(size_t i);

/* What all that schedule_room.h says takes for granted: a tile, warps, splits of k and CTAs an SM
 * that exist. */
heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *problem,
                                        const hd_schedule *schedule);
/* What the schedule's family of instructions takes. */
heddle_status hd_schedule_check_family(heddle_context *ctx, const hd_problem *problem,
                                       const hd_schedule *schedule);
/* hd_schedule_check without its sentence. */
bool hd_schedule_fits(const hd_problem *problem, const hd_schedule *schedule);
/* Whether it is what such words ask for: they would change nothing in it. HEDDLE_INVALID as
 * hd_schedule_parse. */
heddle_status hd_schedule_has(heddle_context *ctx, const hd_schedule *schedule, const char *words,
                              bool *yes);
/* Default, then text; stages and warps follow the tile unless the text names them. */
heddle_status hd_schedule_resolve(heddle_context *ctx, const hd_op *kernel, const char *text,
                                  hd_schedule *schedule);
/* A note with the words, legal together, that are nearest to those of a text that was refused. */
void hd_schedule_note_nearest(heddle_context *ctx, const hd_op *kernel, const char *text);
/* Appends every legal schedule but `first`. */
void hd_schedule_each(const hd_problem *problem, const hd_schedule *first, hd_schedule **list,
                      size_t *n, size_t *cap);

#endif
