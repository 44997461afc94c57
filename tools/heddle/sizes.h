/* heddle/sizes.h: --size N=512,LDB=1032: sizes and pitches that are known at launch. */
#ifndef HD_SIZES_H
#define HD_SIZES_H

#include "Kernel/manifest.h"
#include "Passes/problem.h"

/* Sets size[HD_ARG_M] and its like, which must be 0 before; text NULL: none. */
heddle_status sizes_read(heddle_context *ctx, const char *text, int64_t size[HD_N_ARG_KINDS]);

/* Refuses pitches of what the problem has not. */
heddle_status sizes_exist(heddle_context *ctx, const hd_problem *problem,
                          const int64_t size[HD_N_ARG_KINDS]);

/* Refuses a size that the problem fixes otherwise, or that is more than its max; 0: not given. */
heddle_status sizes_agree(heddle_context *ctx, const hd_problem *problem,
                          const int64_t size_mnk[3]);

#define SIZES_HINT_ABOUT "which tuned choice to take, where sizes are known at launch"

#endif
