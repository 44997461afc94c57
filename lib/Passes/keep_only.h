/* Passes/keep_only.h: a region reduced to what some of its ops need. */
#ifndef HD_KEEP_ONLY_H
#define HD_KEEP_ONLY_H

#include "IR/ir.h"

typedef bool hd_is_root(const hd_op *op);

/* Erases every op of the region that no root needs, and every carried value of a loop that only
 * feeds itself. An op needs its operands, the loops and conditions around it, and of a loop what it
 * carries. */
void hd_keep_only(hd_region *region, hd_is_root *is_root);

#endif
