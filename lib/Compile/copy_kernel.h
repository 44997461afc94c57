/* Compile/copy_kernel.h: the kernel that copies B into the workspace before the kernels that read
 * the copy (b=copied). */
#ifndef HD_COPY_KERNEL_H
#define HD_COPY_KERNEL_H

#include "Kernel/manifest.h"
#include "Passes/plan.h"

enum { HD_COPY_PART = 2048 /* bytes that a warp copies at a time */ };

/* Checks the copy kernel and appends it to a role-level module that has its synchronisation. It
 * copies the problem's B, by index if the problem gathers B. k is fixed. */
heddle_status hd_copy_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                 hd_module *module);
/* Parses the role-level text that `print` writes, checks it separately, and appends the kernel to a
 * module. */
heddle_status hd_serving_kernel_add(heddle_context *ctx, const hd_problem *problem,
                                    void print(hd_strbuf *out, const hd_problem *problem),
                                    hd_module *module);
/* Rows of the copy per CTA, if the grid is large enough for all rows at once. */
int32_t hd_copy_kernel_rows(const hd_problem *problem);

#endif
