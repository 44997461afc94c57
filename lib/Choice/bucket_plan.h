/* Choice/bucket_plan.h: schedules for ranges of a size that is known only at launch. The result is
 * a small set of kernels for one packed A. A launch uses the kernel for its size. */
#ifndef HD_BUCKET_PLAN_H
#define HD_BUCKET_PLAN_H

#include "Schedule/schedule.h"
#include "Support/strbuf.h"

/* One range: the sizes above the previous range up to `to`. The last range has no upper limit. */
enum {
  HD_MOST_BUCKETS = 48, /* each has kernels of its own, which take time to compile */
  HD_BUCKET_WHY = 96
};
typedef struct hd_bucket {
  int64_t to; /* 0: the last */
  hd_schedule_words words;
  char why[HD_BUCKET_WHY]; /* the reason, for users; not part of the text form */
} hd_bucket;

/* Text form: "n<=16: tile=64x16 stages=14; n<=128: tile=128x128; tile=128x256". Words of a schedule
 * follow each limit. The largest sizes come last. */
typedef struct hd_bucket_plan {
  char dim[2]; /* "m", "n" or "k" */
  int32_t n;
  hd_bucket list[HD_MOST_BUCKETS];
} hd_bucket_plan;

/* The place of 'm', 'n' or 'k' in an array of the three sizes. */
static inline int hd_dim_index(char dim) { return dim == 'm' ? 0 : dim == 'n' ? 1 : 2; }

/* Whether the text of a schedule (NULL: none) is a plan of buckets. */
bool hd_bucket_plan_is(const char *text);
/* HEDDLE_INVALID if limits do not increase, name different sizes, or there are too many buckets,
 * and for the errors of hd_schedule_parse. */
heddle_status hd_bucket_plan_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                   hd_bucket_plan *plan);
/* The bucket for a launch of this size. */
const hd_bucket *hd_bucket_plan_find(const hd_bucket_plan *plan, int64_t size);
void hd_bucket_plan_print(const hd_bucket_plan *plan, hd_strbuf *out);

#endif
