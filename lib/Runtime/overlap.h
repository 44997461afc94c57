/* Runtime/overlap.h: whether a launch can overlap with the kernel before it. It can if that kernel
 * lets its dependents start early (griddepcontrol.launch_dependents). The driver does not tell this
 * of a function, so Heddle remembers which ones do: its own kernels with `dependent`, and those of
 * heddle_runtime_add_early. */
#ifndef HD_OVERLAP_H
#define HD_OVERLAP_H

#include "Runtime/driver.h"

/* Functions that let their dependents start early. Any number of threads may use one. */
typedef struct hd_early hd_early;
heddle_status hd_early_create(heddle_context *ctx, hd_early **early); /* owned */
void hd_early_free(hd_early *early);                                  /* accepts NULL */

/* NULL, and a function that it has, change nothing. */
heddle_status hd_early_add(heddle_context *ctx, hd_early *early, void *function);
/* Before the function's module is unloaded: the driver may give its handle to another function. */
void hd_early_remove(hd_early *early, void *function);

/* Whether the next launch in a stream that is being captured depends on one kernel only, and that
 * kernel lets it start early. False for a stream that is not captured: its last kernel is unknown.
 * Neither allocates nor waits. */
bool hd_follows_early(const heddle_runtime *runtime, void *stream);

#endif
