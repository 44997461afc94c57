/* Compile/compile_front.h: compiling what the front end has read, with what was chosen for it. */
#ifndef HD_COMPILE_FRONT_H
#define HD_COMPILE_FRONT_H

#include "Choice/bucket_plan.h"
#include "Choice/size_choice.h"
#include "heddle/compile.h"

/* Which buckets' code does not fit into registers; zero-initialise. */
enum { HD_REFUSAL_TEXT = 512 };
typedef struct hd_refusal {
  bool any, bucket[HD_MOST_BUCKETS];
  char why[HD_REFUSAL_TEXT];
} hd_refusal;

/* Loads what was compiled, if it fits. Of what does not: fills in the refusal, and returns
 * HEDDLE_OK. */
typedef heddle_status hd_load_fn(heddle_context *ctx, void *user, const heddle_compiled *compiled,
                                 hd_refusal *refusal);

/* What Heddle chose, and by what. A schedule that does not fit into registers gives way to the next
 * best of the same order; one that its user named is an error. */
typedef struct hd_chosen {
  hd_bucket_plan plan;    /* of n 1: for all sizes. In the end, what was compiled */
  const hd_tuned *tuned;  /* NULL: the model alone */
  int64_t hint_mnk[3];    /* of sizes known at launch, the ones it was chosen for; 0: any */
  hd_load_fn *load;       /* NULL: nothing is loaded; ptxas alone says what fits */
  void *load_user;
  bool fell_back[HD_MOST_BUCKETS]; /* the bucket's first choice did not fit: */
  hd_schedule first[HD_MOST_BUCKETS];
} hd_chosen;

/* As heddle_compile. The front is consumed, whatever comes out; it was read for the target of the
 * options. chosen: the schedules, in place of the one of the options, which may change; NULL: as
 * the options say. */
heddle_status hd_compile_front(heddle_context *ctx, hd_front *front, hd_chosen *chosen,
                               const heddle_compile_options *options, heddle_compiled **compiled);

#endif
