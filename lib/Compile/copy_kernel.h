/* Compile/copy_kernel.h: the kernel that copies B into the workspace, ahead of those that read the
 * copy (b=copied). */
#ifndef HD_COPY_KERNEL_H
#define HD_COPY_KERNEL_H

#include "Kernel/manifest.h"
#include "Passes/plan.h"

enum { HD_COPY_PART = 2048 /* bytes that a warp copies at a time */ };

/* Adds it behind the kernels of a module of role level whose sync is placed, checked: of the
 * problem's B, by index where the problem has one. k is fixed. */
heddle_status hd_copy_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                 hd_module *module);
/* Adds a kernel that `print` writes as text of role level behind those of a module, checked by
 * itself. */
heddle_status hd_serving_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                    void print(hd_strbuf *out, const hd_problem *problem),
                                    hd_module *module);
/* Rows of the copy for each CTA of a grid that has one for all of them. */
int32_t hd_copy_kernel_rows(const hd_problem *problem);

#endif
