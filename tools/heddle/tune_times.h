/* heddle/tune_times.h: measurements of many schedules, from records or from CSV. */
#ifndef HD_TUNE_TIMES_H
#define HD_TUNE_TIMES_H

#include "Schedule/cost.h"
#include "Tune/evaluate.h"

typedef struct product_times {
  hd_product product;
  bool quick; /* looks of a millisecond (rounds 1), where the others are interleaved */
  hd_timed *list; /* owned, each schedule too */
  int64_t n, cap;
} product_times;

typedef struct all_times {
  product_times *list; /* owned */
  int64_t n, cap;
  char *device;       /* owned: that of the records; NULL: CSV names none */
  char *other_device; /* owned: another that they are of; NULL: none */
} all_times;

/* Quick looks of a database, or the rows of a CSV file by the columns type, m, k, n, us, verdict,
 * contender, d_type and (if it has them) promise and rounds: quick looks stand apart from what was
 * interleaved; just one of the paths is not NULL. HEDDLE_INVALID when there are none. */
heddle_status tune_times_read(heddle_context *ctx, const char *db, const char *csv, all_times *all);
/* Tells of every schedule what the model says of it; stops at a status of `each`. */
typedef heddle_status tune_predicted(void *user, const product_times *product,
                                     const hd_timed *timed, const hd_cost *cost);
heddle_status tune_times_predict(heddle_context *ctx, const all_times *all,
                                 const hd_device_model *ceilings, tune_predicted *each, void *user);
void tune_times_free(all_times *all);

#endif
