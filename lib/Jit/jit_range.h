/* Jit/jit_range.h: one range of a size: its kernel, made once. */
#ifndef HD_JIT_RANGE_H
#define HD_JIT_RANGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "Choice/bucket_plan.h"
#include "IR/ir.h"
#include "Passes/partial_records.h"
#include "Runtime/loaded_kernel.h"
#include "heddle/jit.h"

enum { HD_JIT_TEXT = 512, HD_JIT_RULE = 64 };

typedef struct hd_jit_range {
  int64_t to, hint; /* hint: the size that it is for; 0: any */
  hd_schedule_words words;
  struct hd_jit_range *same; /* an earlier one with this very schedule, whose kernel serves; NULL */
  _Atomic(heddle_kernel *) kernel; /* owned; NULL: not made. Set once, under the lock */
  char *schedule; /* owned; what was taken: set before the kernel is */
  pthread_mutex_t lock; /* held while it is made; what follows is its */
  heddle_status failed; /* for good; HEDDLE_OK: not so */
  char rule[HD_JIT_RULE], text[HD_JIT_TEXT];
} hd_jit_range;

struct heddle_jit {
  const heddle_runtime *runtime;
  void *context; /* CUDA's */
  hd_arena arena;
  heddle_compile_options compile; /* strings in the arena; no schedule */
  bool is_choice; /* what does not fit gives way */
  bool has_words; /* the options' or the choice's; false: the problem's own, or the default */
  pthread_mutex_t lock; /* of the module */
  hd_module *module;    /* owned: the problem */
  const char *family;
  hd_records records; /* of the workspace that ranges share */
  bool copies;        /* some range copies B to the workspace: none shares tiles through it */
  char dim; /* the size of the ranges: 'm', 'n'; 0: one range */
  int32_t n_ranges;
  hd_jit_range range[HD_MOST_BUCKETS];
  int32_t n_passed;
  hd_arg_kind passed[HD_MAX_ARGS];
};

/* What was said of a failure, and of choices that gave way, in another context; returns status. */
heddle_status hd_jit_say_again(heddle_context *ctx, heddle_status status,
                               const heddle_context *said);
/* Its kernel, made now where it is not yet. */
heddle_status hd_jit_range_get(heddle_context *ctx, heddle_jit *jit, hd_jit_range *range,
                               heddle_kernel **kernel);

#endif
