/* Tune/tuned.h: inside the choices of earlier tuning (heddle/tuned.h reads them): what run, gen,
 * bench and explain look up. */
#ifndef HD_TUNED_H
#define HD_TUNED_H

#include "Passes/schedule.h"
#include "Passes/schedule_cost.h"
#include "Tune/product.h"
#include "heddle/tuned.h"

typedef struct heddle_tuned hd_tuned;

typedef struct hd_tuned_entry {
  hd_product product;
  const char *schedule, *device; /* borrowed from the table */
  double seconds, default_seconds;
  double sustained, default_sustained; /* alone; 0: not measured */
} hd_tuned_entry;

size_t hd_tuned_count(const hd_tuned *tuned);
const hd_tuned_entry *hd_tuned_get(const hd_tuned *tuned, size_t index); /* below the count */

/* Of the device that the choices were measured on: calibrated, or the H200's. */
const hd_ceilings *hd_tuned_ceilings(const hd_tuned *tuned);
bool hd_tuned_has_ceilings(const hd_tuned *tuned); /* calibrated */

/* The entry of that very product; NULL: none. One hash and, mostly, one probe: well below 2 us. */
const hd_tuned_entry *hd_tune_lookup(const hd_tuned *tuned, const hd_product *product);
/* Of the entries with types as wide and the same order of B, no size more than twice as large or as
 * small, the one nearest in the logarithms of the sizes; NULL: none. */
const hd_tuned_entry *hd_tune_nearest(const hd_tuned *tuned, const hd_product *product);

/* What a kernel at problem level (legalized) should take: *entry and *schedule, from the very
 * product's entry, else from the nearest one: of the same sizes (types as wide move the same
 * bytes), or when the model says that its schedule beats the default (it says so of sm_90a alone);
 * each only if it is legal here. *entry NULL: the default. */
heddle_status hd_tune_pick(heddle_context *ctx, const hd_tuned *tuned, const hd_op *kernel,
                           const hd_product *product, const hd_tuned_entry **entry,
                           hd_schedule *schedule);

#endif
