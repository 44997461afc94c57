/* heddle/tune_times.h: measured times of many schedules, from records or from CSV. */
#ifndef HD_TUNE_TIMES_H
#define HD_TUNE_TIMES_H

#include "Schedule/cost.h"
#include "Tune/evaluate.h"

typedef struct product_times {
  hd_product product;
  bool quick; /* single rounds of a millisecond (rounds 1), not interleaved ones */
  hd_timed *list; /* owned, with each schedule */
  int64_t n, cap;
} product_times;

typedef struct all_times {
  product_times *list; /* owned */
  int64_t n, cap;
  char *device;       /* owned: of the records; NULL: unknown (CSV) */
  char *other_device; /* owned: a second device among the records; NULL: none */
} all_times;

/* Reads the single rounds of a database, or the rows of a CSV file with the columns type, m, k, n,
 * us, verdict, contender, d_type, and optionally promise and rounds. Single rounds and interleaved
 * times stay separate. Exactly one path is not NULL. HEDDLE_INVALID if there are no times. */
heddle_status tune_times_read(heddle_context *ctx, const char *db, const char *csv, all_times *all);

/* Bands of N, as in `heddle report`. */
enum { TUNE_N_BANDS = 3 };
extern const char *const tune_band_names[TUNE_N_BANDS];
size_t tune_band_of(const hd_product *product);

/* Calls `each` with the model's prediction for every schedule; stops at a failure. */
typedef heddle_status tune_predicted(void *user, const product_times *product,
                                     const hd_timed *timed, const hd_cost *cost);
heddle_status tune_times_predict(heddle_context *ctx, const all_times *all,
                                 const hd_device_model *ceilings, tune_predicted *each, void *user);
void tune_times_free(all_times *all);

#endif
