/* Compile/compile_front.h: compiles a module of the front end with the schedules chosen for it. */
#ifndef HD_COMPILE_FRONT_H
#define HD_COMPILE_FRONT_H

#include "Choice/bucket_plan.h"
#include "Choice/size_choice.h"
#include "heddle/compile.h"

/* The buckets whose code spills, and why; zero-initialise. */
enum { HD_REFUSAL_TEXT = 512 };
typedef struct hd_refusal {
  bool any, bucket[HD_MOST_BUCKETS];
  char why[HD_REFUSAL_TEXT];
} hd_refusal;

/* Loads a compiled kernel. If it does not fit into registers, fills in the refusal and returns
 * HEDDLE_OK. */
typedef heddle_status hd_load_fn(heddle_context *ctx, void *user, const heddle_compiled *compiled,
                                 hd_refusal *refusal);

/* The schedules that Heddle chose, and what it chose them by. A chosen schedule that spills is
 * replaced by the next best of the same order. A schedule that the user named is an error. */
typedef struct hd_chosen {
  hd_bucket_plan plan;    /* n 1: for all sizes; on return, the schedules that were compiled */
  const hd_tuned *tuned;  /* NULL: chosen by the model alone */
  int64_t hint_mnk[3];    /* for sizes known only at launch, the ones chosen for; 0: any */
  hd_load_fn *load;       /* NULL: the kernel is not loaded; only ptxas detects spills */
  void *load_user;
  bool fell_back[HD_MOST_BUCKETS]; /* the first choice of the bucket spilled; then `first` is set */
  hd_schedule first[HD_MOST_BUCKETS];
} hd_chosen;

/* Like heddle_compile. Consumes the front, whatever the status. The front was read for the target
 * of the options. chosen: the schedules to use instead of the options' schedule, changed if they
 * spill; NULL: use the options. */
heddle_status hd_compile_front(heddle_context *ctx, hd_front *front, hd_chosen *chosen,
                               const heddle_compile_options *options, heddle_compiled **compiled);

#endif
