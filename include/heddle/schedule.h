/* heddle/schedule.h: the schedules of a problem: which are legal, and what the cost model says of
 * one. Needs no GPU and no driver. heddle/tuned.h has what was measured. */
#ifndef HEDDLE_SCHEDULE_H
#define HEDDLE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An estimate for one launch with cold operands. Strings live as long as the library. */
typedef struct heddle_prediction {
  double seconds;
  double dense_seconds; /* of a dense library's product, the same sizes and types, A not pruned */
  const char *binds;    /* the resource that takes longest: "DRAM", "L2 to shared memory", … */
  const char *device;   /* whose rates were used: "NVIDIA H200" */
  int64_t units;        /* of work: tiles times splits */
  double waves;         /* units over the CTAs that run at once */
} heddle_prediction;

/* Predicts the kernel of a module with one kernel, which stays as it is. target and schedule as in
 * heddle_compile_options (NULL: what the module says, else the default); of a plan of buckets the
 * one that a launch of these sizes takes. size_mnk: of sizes known at launch, in elements (0: 4096,
 * or the size's max where that is less; may be NULL). HEDDLE_INVALID for a schedule that is not
 * legal and a size that no launch could have, HEDDLE_UNSUPPORTED for a target whose rates nobody
 * measured (all but sm_90a), and as heddle_compile. *prediction is untouched on failure.
 * Thread-safe with a ctx a thread. */
HEDDLE_API heddle_status heddle_schedule_predict(heddle_context *ctx, const heddle_module *module,
                                                 const char *target, const char *schedule,
                                                 const int64_t size_mnk[3],
                                                 heddle_prediction *prediction);

/* A list of schedules. Immutable: any number of threads may use one. */
typedef struct heddle_schedule_list heddle_schedule_list;

/* Every legal schedule of the one kernel of a module of problem level, the default first; with keys
 * only those that have them ("tile=128x256 stages=4"; NULL: all), which may be none. Some 10,000
 * take 0.2 s. target as in heddle_compile_options. *list is owned, and untouched on failure.
 * HEDDLE_INVALID for keys that are none and a kernel at tile level, which has its schedule, and as
 * heddle_compile. Thread-safe with a ctx a thread. */
HEDDLE_API heddle_status heddle_schedule_enumerate(heddle_context *ctx,
                                                   const heddle_module *module, const char *target,
                                                   const char *keys, heddle_schedule_list **list);
HEDDLE_API size_t heddle_schedule_list_count(const heddle_schedule_list *list);
/* The i-th, as heddle_compile_options.schedule takes it (borrowed, until
 * heddle_schedule_list_free); NULL when i is out of range. */
HEDDLE_API const char *heddle_schedule_list_get(const heddle_schedule_list *list, size_t i);
/* Accepts NULL. */
HEDDLE_API void heddle_schedule_list_free(heddle_schedule_list *list);

#ifdef __cplusplus
}
#endif
#endif
