/* Choice/bucket_choose.h: the schedules with which a problem whose size is known only at launch is
 * as fast as kernels of fixed size. */
#ifndef HD_BUCKET_CHOOSE_H
#define HD_BUCKET_CHOOSE_H

#include "Choice/bucket_plan.h"
#include "Choice/size_choice.h"

/* A size that is common in launches, and its weight, above 0, in any unit. */
typedef struct hd_typical_size {
  int64_t size;
  double weight;
} hd_typical_size;
enum { HD_MOST_TYPICAL = 32 };

/* Zero-initialise. */
typedef struct hd_bucket_options {
  const hd_tuned *tuned;   /* NULL: only the model */
  int64_t hint_mnk[3];     /* for other sizes known at launch; 0: as in hd_product_of */
  const int64_t *border;   /* limits given by the user, increasing; NULL: chosen */
  int32_t n_borders, most; /* most: maximum number of buckets; 0: HD_MOST_BUCKETS */
  const hd_typical_size *typical; /* increasing; NULL: the usual sizes of batches */
  int32_t n_typical;
} hd_bucket_options;

/* The size that buckets divide: N or else M, if it is known only at launch; 0: neither. */
char hd_bucket_dim(const hd_problem *problem);

/* Chooses buckets in which each size has the schedule that was measured for it, or one predicted to
 * take about as long as a kernel of that size. A bucket that gains less than 2 % is omitted.
 * HEDDLE_INVALID for a problem of fixed sizes. The front is at problem level, legalized, and has no
 * schedule of its own. */
heddle_status hd_bucket_choose(heddle_context *ctx, const hd_front *front,
                               const hd_bucket_options *options, hd_bucket_plan *plan);

#endif
