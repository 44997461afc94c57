/* Choice/tuned.h: inside the choices of earlier tuning (heddle/tuned.h reads them): what run, gen,
 * bench and explain look up. */
#ifndef HD_TUNED_H
#define HD_TUNED_H

#include "Schedule/schedule.h"
#include "Schedule/device_model.h"
#include "Choice/product.h"
#include "Choice/spilled.h"
#include "heddle/tuned.h"

typedef struct heddle_tuned hd_tuned;

typedef struct hd_tuned_entry {
  hd_product product;
  hd_schedule_words words; /* of its schedule */
  const char *device;      /* borrowed from the table */
  double seconds, default_seconds;
  double sustained, default_sustained; /* alone; 0: not measured */
} hd_tuned_entry;

/* A choice as it is recorded: product and schedule in their own words. */
typedef struct hd_choice {
  const char *product, *schedule, *default_schedule, *device;
  double seconds, default_seconds;     /* of the last race; 0: none */
  double sustained, default_sustained; /* alone; 0: not measured */
  int64_t n_legal, n_measured;
} hd_choice;
typedef bool (*hd_choice_fn)(void *user, const hd_choice *choice); /* false: no more */

/* Names every choice of a source to `each`. */
typedef heddle_status (*hd_choice_source)(heddle_context *ctx, void *user, hd_choice_fn each,
                                          void *each_user);
/* The table of a source's choices, or of the text of an export; path names it in diagnostics.
 * *tuned is owned. */
heddle_status hd_tuned_collect(heddle_context *ctx, const char *path, hd_choice_source source,
                               void *user, hd_tuned **tuned);
heddle_status hd_tuned_parse(heddle_context *ctx, const char *path, const char *json,
                             size_t n_bytes, hd_tuned **tuned);
/* A table without choices, for the model of a device. *tuned is owned. */
heddle_status hd_tuned_none(heddle_context *ctx, hd_tuned **tuned);
/* Whether a file is a database of `heddle tune`, which lib/Tune alone reads. */
bool hd_tuned_is_database(const char *path);

size_t hd_tuned_count(const hd_tuned *tuned);
const hd_tuned_entry *hd_tuned_get(const hd_tuned *tuned, size_t index); /* below the count */

/* Of the device that the choices were measured on: calibrated, or the H200's. */
const hd_device_model *hd_tuned_ceilings(const hd_tuned *tuned);
bool hd_tuned_has_ceilings(const hd_tuned *tuned); /* calibrated */

/* The entry of that very product; NULL: none. One hash and, mostly, one probe: well below 2 us. */
const hd_tuned_entry *hd_tune_lookup(const hd_tuned *tuned, const hd_product *product);
/* Of the entries with types as wide and the same order of B, no size more than twice as large or as
 * small, the one nearest in the logarithms of the sizes; NULL: none. */
const hd_tuned_entry *hd_tune_nearest(const hd_tuned *tuned, const hd_product *product);

/* What a problem should take: an entry and its schedule, from the very product's entry, else from
 * the nearest one: of the same sizes (types as wide move the same bytes), or when the model says
 * that its schedule beats the default (it says so of sm_90a alone); each only if it is legal here
 * and none of `spilled` (NULL: nothing did). NULL: the default. */
const hd_tuned_entry *hd_tune_pick(const hd_tuned *tuned, const hd_problem *problem,
                                   const hd_product *product, const hd_spilled *spilled,
                                   hd_schedule *schedule);

#endif
