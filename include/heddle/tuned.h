/* heddle/tuned.h: choices that `heddle tune` made, for programs that compile at run time. */
#ifndef HEDDLE_TUNED_H
#define HEDDLE_TUNED_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Choices in memory. Immutable: any number of threads may use one. */
typedef struct heddle_tuned heddle_tuned;

/* The choices that are part of the library: those measured on an H200. *tuned is owned. */
HEDDLE_API heddle_status heddle_tuned_shipped(heddle_context *ctx, heddle_tuned **tuned);

/* Reads an export of `heddle tune`. *tuned is owned. HEDDLE_NOT_FOUND, HEDDLE_ENVIRONMENT,
 * HEDDLE_UNSUPPORTED for a database (convert it with `heddle tune export`), HEDDLE_INVALID for any
 * other file, for an invalid product, schedule or ceiling, and for choices of one product on two
 * devices. */
HEDDLE_API heddle_status heddle_tuned_read(heddle_context *ctx, const char *path,
                                           heddle_tuned **tuned);
/* Sets the device on which kernels will run, by its driver name ("NVIDIA H100 80GB HBM3"). Defaults
 * and similar choices are then chosen with the rates measured on that device (H200, H100), unless
 * the file contains its own rates. Call it before other threads use the table. HEDDLE_NOT_FOUND,
 * without a diagnostic: the device was not measured, the H200's rates stay. */
HEDDLE_API heddle_status heddle_tuned_set_device(heddle_tuned *tuned, const char *device);
/* Accepts NULL. */
HEDDLE_API void heddle_tuned_free(heddle_tuned *tuned);

/* The schedule for the kernel of a problem text, for heddle_compile_options.schedule: the one that
 * was measured to be fastest for its product, or for a product of similar size if the model
 * predicts that it beats the default. "" means the default. After heddle_tuned_set_device for a
 * device other than the target's usual one, the default of that device is returned as words.
 * size_mnk: the sizes to choose for, if they are known only at launch (0: the text's own, or its
 * max; may be NULL); HEDDLE_INVALID for one that no launch can have. target: as in
 * heddle_compile_options. The text is checked as in heddle_compile. */
enum { HEDDLE_SCHEDULE_BYTES = 320 };
HEDDLE_API heddle_status heddle_tuned_pick(heddle_context *ctx, const heddle_tuned *tuned,
                                           const char *text, size_t text_bytes, const char *target,
                                           const int64_t size_mnk[3],
                                           char schedule[HEDDLE_SCHEDULE_BYTES]);
/* The same for a module (heddle/ir.h), which is unchanged. */
HEDDLE_API heddle_status heddle_tuned_pick_module(heddle_context *ctx, const heddle_tuned *tuned,
                                                  const heddle_module *module, const char *target,
                                                  const int64_t size_mnk[3],
                                                  char schedule[HEDDLE_SCHEDULE_BYTES]);

/* Schedules for a module whose n (or m, if n is fixed) is known only at launch: one for each range,
 * such as "n<=16: tile=64x16 stages=14; tile=128x256", for heddle_compile_options.schedule. The
 * kernel then contains all of them, and a launch uses the one for its size. *plan is owned
 * (free()); "" if the problem has its own schedule. tuned may be NULL: only the model chooses.
 * size_mnk: the other sizes to choose for, if they are known only at launch (0: any; may be NULL).
 * HEDDLE_INVALID when both sizes are fixed, and as heddle_tuned_pick. */
HEDDLE_API heddle_status heddle_tuned_buckets(heddle_context *ctx, const heddle_tuned *tuned,
                                              const heddle_module *module, const char *target,
                                              const int64_t size_mnk[3], char **plan);

#ifdef __cplusplus
}
#endif
#endif
