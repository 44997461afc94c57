/* Compile/combine_kernel.h: the kernel that adds up columns of the products after they have been
 * computed (combine_d). */
#ifndef HD_COMBINE_KERNEL_H
#define HD_COMBINE_KERNEL_H

#include "Kernel/manifest.h"
#include "Passes/plan.h"

/* Checks the combine kernel and appends it to a role-level module that has its synchronisation. The
 * problem has combine_d. */
heddle_status hd_combine_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                    hd_module *module);
/* True from sm_90 on: it is launched while the products are still running, and waits for them. */
bool hd_combine_kernel_is_dependent(const hd_problem *problem);
/* Columns of D per CTA, if the grid is large enough for all columns at once. */
int32_t hd_combine_kernel_columns(const hd_problem *problem);

#endif
