/* heddle/sizes.h: --size N=512,LDB=1032: sizes and pitches that are known at launch. */
#ifndef HD_SIZES_H
#define HD_SIZES_H

#include "Kernel/manifest.h"
#include "trial/trial.h"

/* Sets size[HD_ARG_M] etc., which must be 0 before; a stride of 0 becomes TRIAL_SHARED. text NULL:
 * none. compile_input_sizes checks that the problem has these sizes. */
heddle_status sizes_read(heddle_context *ctx, const char *text, int64_t size[HD_N_ARG_KINDS]);

#define SIZES_HINT_ABOUT "use one schedule, the one for these sizes"

#endif
