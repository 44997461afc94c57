/* Compile/bucket_kernels.h: a problem's kernel becomes one for each bucket of a plan. */
#ifndef HD_BUCKET_KERNELS_H
#define HD_BUCKET_KERNELS_H

#include "Choice/bucket_plan.h"
#include "IR/ir.h"

/* Splits the one kernel of a module of problem level. Each kernel has its bucket's words over its
 * own, its border, its size's new max; the last keeps the kernel's op and name. HEDDLE_INVALID
 * where the plan is of a size that is fixed. */
heddle_status hd_bucket_kernels(heddle_context *ctx, hd_module *module, const hd_bucket_plan *plan);
/* The schedules of all kernels after select_shape, as a plan where there are several. */
heddle_status hd_bucket_kernels_print(heddle_context *ctx, hd_module *module, hd_strbuf *out);

#endif
