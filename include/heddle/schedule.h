/* heddle/schedule.h: lists the legal schedules of a problem, and predicts their times with the cost
 * model. Needs no GPU and no driver. heddle/tuned.h has measured choices. */
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
  double dense_seconds; /* time of a dense library for the same sizes and types, with an A that is
                           not pruned */
  const char *binds;    /* the resource that takes longest: "DRAM", "L2 to shared memory", … */
  const char *device;   /* whose rates were used: "NVIDIA H200" */
  int64_t units;        /* units of work: tiles times splits */
  double waves;         /* units over the number of CTAs that run at the same time */
} heddle_prediction;

/* Predicts the time of the kernel of a module with one kernel, which is unchanged. target and
 * schedule: as in heddle_compile_options (NULL: those of the module, else the default); for a plan
 * of buckets, the one that a launch with these sizes uses. size_mnk: the sizes that are known only
 * at launch, in elements (0: 4096, or the size's max if that is smaller; may be NULL).
 * HEDDLE_INVALID for a schedule that is not legal and for a size that no launch can have,
 * HEDDLE_UNSUPPORTED for a target whose rates were not measured (all except sm_90a), and as
 * heddle_compile. *prediction is untouched on failure. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_schedule_predict(heddle_context *ctx, const heddle_module *module,
                                                 const char *target, const char *schedule,
                                                 const int64_t size_mnk[3],
                                                 heddle_prediction *prediction);

/* A list of schedules. Immutable: any number of threads may use one. */
typedef struct heddle_schedule_list heddle_schedule_list;

/* Lists every legal schedule of the kernel of a module at problem level with one kernel, the
 * default first. keys selects those with these keys ("tile=128x256 stages=4"; NULL: all); the list
 * may be empty. About 10,000 schedules take 0.2 s. target: as in heddle_compile_options. *list is
 * owned, and untouched on failure. HEDDLE_INVALID for unknown keys and for a kernel at tile level,
 * which already has a schedule, and as heddle_compile. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_schedule_enumerate(heddle_context *ctx,
                                                   const heddle_module *module, const char *target,
                                                   const char *keys, heddle_schedule_list **list);
HEDDLE_API size_t heddle_schedule_list_count(const heddle_schedule_list *list);
/* The i-th, for heddle_compile_options.schedule (borrowed: valid until heddle_schedule_list_free);
 * NULL if i is out of range. */
HEDDLE_API const char *heddle_schedule_list_get(const heddle_schedule_list *list, size_t i);
/* Accepts NULL. */
HEDDLE_API void heddle_schedule_list_free(heddle_schedule_list *list);

#ifdef __cplusplus
}
#endif
#endif
