/* Choice/bucket_choose.h: which schedules a problem needs, whose size is known at launch, to be as
 * fast as kernels of fixed size. */
#ifndef HD_BUCKET_CHOOSE_H
#define HD_BUCKET_CHOOSE_H

#include "Choice/bucket_plan.h"
#include "Choice/size_choice.h"

/* A size that launches often have, and how much it counts, above 0; any unit. */
typedef struct hd_typical_size {
  int64_t size;
  double weight;
} hd_typical_size;
enum { HD_MOST_TYPICAL = 32 };

/* Zero-initialise. */
typedef struct hd_bucket_options {
  const hd_tuned *tuned;   /* NULL: the model alone */
  int64_t hint_mnk[3];     /* of other sizes known at launch; 0: as hd_product_of */
  const int64_t *border;   /* the user's own, rising; NULL: chosen */
  int32_t n_borders, most; /* most: buckets, 0: HD_MOST_BUCKETS */
  const hd_typical_size *typical; /* rising; NULL: batches as they come */
  int32_t n_typical;
} hd_bucket_options;

/* The size that buckets divide: N, else M, where it is known at launch; 0: neither is. */
char hd_bucket_dim(const hd_problem *problem);

/* Buckets in which sizes have the schedule that was measured for them, or one predicted to be near
 * what a kernel of that size would take; a bucket that gains less than 2 % is not made.
 * HEDDLE_INVALID for a problem of fixed sizes. The front is of problem level, legalized, without
 * words of its own. */
heddle_status hd_bucket_choose(heddle_context *ctx, const hd_front *front,
                               const hd_bucket_options *options, hd_bucket_plan *plan);

#endif
