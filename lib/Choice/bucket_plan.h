/* Choice/bucket_plan.h: schedules for ranges of a size that is known at launch: a small set of
 * kernels over one packed A, of which a launch takes the one for its size. */
#ifndef HD_BUCKET_PLAN_H
#define HD_BUCKET_PLAN_H

#include "Schedule/schedule.h"
#include "Support/strbuf.h"

/* One range: from the one before it to `to`; of the last, to all sizes that are larger. */
enum {
  HD_MOST_BUCKETS = 28, /* of 35 kernels in one file ptxas lets one spill that fits alone */
  HD_BUCKET_WHY = 96
};
typedef struct hd_bucket {
  int64_t to; /* 0: the last */
  hd_schedule_words words;
  char why[HD_BUCKET_WHY]; /* for people; not part of the text */
} hd_bucket;

/* As text: "n<=16: tile=64x16 stages=14; n<=128: tile=128x128; tile=128x256": words of a schedule
 * after each border, the largest sizes last. */
typedef struct hd_bucket_plan {
  char dim[2]; /* "m", "n" or "k" */
  int32_t n;
  hd_bucket list[HD_MOST_BUCKETS];
} hd_bucket_plan;

/* Whether a schedule's text is a plan of several; NULL is none. */
bool hd_bucket_plan_is(const char *text);
/* HEDDLE_INVALID when borders do not rise, sizes differ, or buckets are too many, and as
 * hd_schedule_parse. */
heddle_status hd_bucket_plan_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                   hd_bucket_plan *plan);
/* The bucket that a launch of this size takes. */
const hd_bucket *hd_bucket_plan_find(const hd_bucket_plan *plan, int64_t size);
void hd_bucket_plan_print(const hd_bucket_plan *plan, hd_strbuf *out);

#endif
