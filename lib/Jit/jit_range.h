/* Jit/jit_range.h: one range of a size, and its kernel, which is made once. */
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
  int64_t to, hint; /* hint: the size that the schedule is chosen for; 0: any */
  hd_schedule_words words;
  struct hd_jit_range *same; /* an earlier range with the same schedule and kernel, or NULL */
  _Atomic(heddle_kernel *) kernel; /* owned; NULL: not made. Set once, under the lock */
  char *schedule; /* owned; the schedule used; set before the kernel is */
  pthread_mutex_t lock; /* held while the kernel is made; protects the fields below */
  heddle_status failed; /* a permanent error; HEDDLE_OK: none */
  char rule[HD_JIT_RULE], text[HD_JIT_TEXT];
} hd_jit_range;

struct heddle_jit {
  const heddle_runtime *runtime;
  void *context; /* the CUDA context of heddle_jit_create */
  hd_arena arena;
  heddle_compile_options compile; /* strings in the arena; no schedule */
  bool is_choice; /* Heddle chose the schedules: those that spill are replaced */
  bool has_words; /* the options give the schedules; false: the problem's own, or the default */
  pthread_mutex_t lock; /* protects the module */
  hd_module *module;    /* owned: the problem, without weights_ready */
  bool overlaps;        /* the problem has weights_ready: each kernel gets an overlapping one */
  const char *family;
  hd_records records; /* layout of partial sums in the workspace, the same in all ranges */
  bool copies;        /* some range copies B to the workspace, so none shares tiles through it */
  char dim; /* the size that the ranges divide: 'm', 'n' or 'k'; 0: one range */
  int32_t n_ranges;
  hd_jit_range range[HD_MOST_BUCKETS];
  int32_t n_passed;
  hd_arg_kind passed[HD_MAX_ARGS];
};

/* Repeats in ctx the error and the notes on replaced schedules of `said`. Returns status. */
heddle_status hd_jit_say_again(heddle_context *ctx, heddle_status status,
                               const heddle_context *said);
/* Returns the kernel of a range. Makes it first if necessary. */
heddle_status hd_jit_range_get(heddle_context *ctx, heddle_jit *jit, hd_jit_range *range,
                               heddle_kernel **kernel);

#endif
