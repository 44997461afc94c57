/* Passes/keep_only.h: reduces a region to the ops that its roots need. */
#ifndef HD_KEEP_ONLY_H
#define HD_KEEP_ONLY_H

#include "IR/ir.h"

typedef bool hd_is_root(const hd_op *op);

/* Erases every op of the region that no root needs, and every carried value of a loop that is used
 * only for its own next value. An op needs its operands, the loops and conditions around it, and
 * the carried values that it uses. */
void hd_keep_only(hd_region *region, hd_is_root *is_root);

#endif
