/* heddle/tune_keys.h: what each key of a schedule gains, of many measurements. */
#ifndef HD_TUNE_KEYS_H
#define HD_TUNE_KEYS_H

#include "tune_times.h"

/* Prints a table, a line a key: by band of N the best time without it (of the schedules that leave
 * it at its initial value) over the best of all, geometric mean; largest (products with both). */
heddle_status tune_print_keys(heddle_context *ctx, const all_times *all);

#endif
