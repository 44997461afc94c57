/* Passes/keep_only.h: a region reduced to what some of its ops need. */
#ifndef HD_KEEP_ONLY_H
#define HD_KEEP_ONLY_H

#include "IR/ir.h"

typedef bool hd_is_root(const hd_op *op);

/* Erases every op of the region that no root needs, and every carried value of a loop that only feeds
 * itself. An op needs its operands, the loops and conditions around it, and of a loop what it carries. */
void hd_keep_only(hd_region *region, hd_is_root *is_root);

/* Adds a value that a loop carries: starts as init, becomes `next` at each turn (set by
 * hd_loop_set_next, `init` until then). The region argument; its last value is the loop's last result. */
hd_value *hd_loop_carry(hd_module *module, hd_op *loop, hd_value *init);
void hd_loop_set_next(hd_op *loop, const hd_value *arg, hd_value *next);

#endif
