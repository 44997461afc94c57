/* Compile/attempt.h: one attempt to compile, with one plan. */
#ifndef HD_ATTEMPT_H
#define HD_ATTEMPT_H

#include "Compile/compile_front.h"

typedef struct hd_attempt {
  const hd_chosen *chosen; /* NULL: the schedule is its author's */
  bool is_last;            /* of several: what does not fit is an error */
  hd_schedule schedule[HD_MOST_BUCKETS]; /* out: of each bucket, all keys */
  hd_refusal refusal;      /* out; any: the attempt failed with HEDDLE_UNSUPPORTED, and no text */
} hd_attempt;

/* The front is consumed. From the cache where it has this attempt, be it that it was refused. */
heddle_status hd_compile_attempt(heddle_context *ctx, hd_front *front,
                                 const heddle_compile_options *options, hd_attempt *attempt,
                                 heddle_compiled **compiled);

#endif
