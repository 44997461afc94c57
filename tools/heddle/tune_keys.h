/* heddle/tune_keys.h: what each key of a schedule gains, over many measurements. */
#ifndef HD_TUNE_KEYS_H
#define HD_TUNE_KEYS_H

#include "tune_times.h"

/* Prints a table with a line per key and a column per band of N: the best time of schedules with
 * its initial value over the best of all, as "geometric mean; maximum (number of products)". */
heddle_status tune_print_keys(heddle_context *ctx, const all_times *all);

#endif
