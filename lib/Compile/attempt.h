/* Compile/attempt.h: one attempt to compile, with one plan. */
#ifndef HD_ATTEMPT_H
#define HD_ATTEMPT_H

#include "Compile/compile_front.h"

typedef struct hd_attempt {
  const hd_chosen *chosen; /* NULL: the author of the problem named the schedule */
  bool is_last;            /* the last of several attempts: a schedule that spills is an error */
  hd_schedule schedule[HD_MOST_BUCKETS]; /* out: of each bucket, all keys */
  hd_refusal refusal;      /* out; any: failed with HEDDLE_UNSUPPORTED, without a diagnostic */
} hd_attempt;

/* Consumes the front. Uses the cached result of this attempt, if any, even if it was a refusal. */
heddle_status hd_compile_attempt(heddle_context *ctx, hd_front *front,
                                 const heddle_compile_options *options, hd_attempt *attempt,
                                 heddle_compiled **compiled);

#endif
