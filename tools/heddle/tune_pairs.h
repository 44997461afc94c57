/* heddle/tune_pairs.h: the gain of one choice of a schedule over another. */
#ifndef HD_TUNE_PAIRS_H
#define HD_TUNE_PAIRS_H

#include "tune_times.h"

/* Prints a table with a line per band of N: the time of a product's first schedule over that of its
 * second one, as "geometric mean; minimum; maximum (number of products)". HEDDLE_INVALID if a
 * product does not have exactly two times. */
heddle_status tune_print_pairs(heddle_context *ctx, const all_times *all);

#endif
