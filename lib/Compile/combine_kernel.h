/* Compile/combine_kernel.h: the kernel that adds up columns of the products, behind them
 * (combine_d). */
#ifndef HD_COMBINE_KERNEL_H
#define HD_COMBINE_KERNEL_H

#include "Kernel/manifest.h"
#include "Passes/plan.h"

/* Adds it behind the kernels of a module of role level whose sync is placed, checked. The problem
 * has combine_d. */
heddle_status hd_combine_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                    hd_module *module);
/* It is launched while the products still run, and waits for them: from sm_90 on. */
bool hd_combine_kernel_is_dependent(const hd_problem *problem);
/* Columns of D for each CTA of a grid that has one for all of them. */
int32_t hd_combine_kernel_columns(const hd_problem *problem);

#endif
