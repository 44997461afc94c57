/* Compile/bucket_kernels.h: splits the kernel of a problem into one for each bucket of a plan. */
#ifndef HD_BUCKET_KERNELS_H
#define HD_BUCKET_KERNELS_H

#include "Choice/bucket_plan.h"
#include "IR/ir.h"

/* Splits the kernel of a problem-level module. In each new kernel the bucket's words override the
 * kernel's own, and the bucket's limit becomes at_most and the max of the size. The last bucket
 * keeps the kernel's op and name. HEDDLE_INVALID if the plan divides a fixed size. */
heddle_status hd_bucket_kernels(heddle_context *ctx, hd_module *module, const hd_bucket_plan *plan);
/* Prints the schedules of all kernels after select_shape, as a plan if there are several. */
heddle_status hd_bucket_kernels_print(heddle_context *ctx, hd_module *module, hd_strbuf *out);

#endif
