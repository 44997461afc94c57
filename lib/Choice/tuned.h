/* Choice/tuned.h: the internal interface of heddle/tuned.h: the choices of earlier tuning, which
 * run, gen, bench and explain look up. */
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
  hd_schedule_words words; /* words of the schedule */
  const char *device;      /* borrowed from the table */
  double seconds, default_seconds;
  double sustained, default_sustained; /* seconds, measured alone; 0: not measured */
} hd_tuned_entry;

/* A choice as recorded, with product and schedule in text form. */
typedef struct hd_choice {
  const char *product, *schedule, *default_schedule, *device;
  double seconds, default_seconds;     /* from the last interleaved comparison; 0: none */
  double sustained, default_sustained; /* seconds, measured alone; 0: not measured */
  int64_t n_legal, n_measured;
} hd_choice;
typedef bool (*hd_choice_fn)(void *user, const hd_choice *choice); /* false: stop */

/* Calls `each` for every choice of a source. */
typedef heddle_status (*hd_choice_source)(heddle_context *ctx, void *user, hd_choice_fn each,
                                          void *each_user);
/* Makes a table from the choices of a source, or from the text of an export. path is the name in
 * diagnostics. *tuned is owned. */
heddle_status hd_tuned_collect(heddle_context *ctx, const char *path, hd_choice_source source,
                               void *user, hd_tuned **tuned);
heddle_status hd_tuned_parse(heddle_context *ctx, const char *path, const char *json,
                             size_t n_bytes, hd_tuned **tuned);
/* An empty table, which only provides the model of a device. *tuned is owned. */
heddle_status hd_tuned_none(heddle_context *ctx, hd_tuned **tuned);
/* Whether a file is a database of `heddle tune`, which only lib/Tune can read. */
bool hd_tuned_is_database(const char *path);

size_t hd_tuned_count(const hd_tuned *tuned);
const hd_tuned_entry *hd_tuned_get(const hd_tuned *tuned, size_t index); /* below the count */

/* The model of the device on which the choices were measured: calibrated, or the H200's. */
const hd_device_model *hd_tuned_ceilings(const hd_tuned *tuned);
bool hd_tuned_has_ceilings(const hd_tuned *tuned); /* calibrated */

/* The entry of exactly this product; NULL: none. One hash, usually one probe: well below 2 us. */
const hd_tuned_entry *hd_tune_lookup(const hd_tuned *tuned, const hd_product *product);
/* The entry nearest in the logarithms of the sizes; NULL: none. Only entries with types of the same
 * width, the same order of B, and sizes that differ at most by a factor of two count. */
const hd_tuned_entry *hd_tune_nearest(const hd_tuned *tuned, const hd_product *product);

/* The entry and schedule for a problem: the entry of this product, else the nearest one. With other
 * sizes, the entry is used only if the model predicts that it is faster than the default (sm_90a
 * only); with the same sizes, types of the same width move the same bytes. The schedule is legal
 * for the problem and not in `spilled` (may be NULL). NULL: use the default. */
const hd_tuned_entry *hd_tune_pick(const hd_tuned *tuned, const hd_problem *problem,
                                   const hd_product *product, const hd_spilled *spilled,
                                   hd_schedule *schedule);

#endif
