/* Reference/routing.h: seeded offsets and indices, which assign the columns to groups. */
#ifndef HD_ROUTING_H
#define HD_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

typedef enum hd_routing {
  HD_ROUTING_RANDOM,   /* random offsets: empty groups, columns outside all groups at both ends */
  HD_ROUTING_BALANCED, /* equal sizes, as far as possible */
  HD_ROUTING_ZIPF,     /* the i-th largest group has 1 / i of the largest's columns, in any order */
  HD_ROUTING_ONE,      /* all columns in one group */
  HD_ROUTING_WILD,     /* invalid offsets: below 0, above n, decreasing */
  HD_N_ROUTINGS
} hd_routing;

/* "random", …; NULL if the number is out of range. */
const char *hd_routing_name(int routing);
extern const char hd_routing_list[];
/* HEDDLE_NOT_FOUND for an unknown name. */
heddle_status hd_routing_parse(const char *name, hd_routing *routing);

/* Fills in g + 1 offsets of g >= 1 groups over n >= 0 columns. */
void hd_routing_fill(hd_routing routing, uint64_t seed, int64_t g, int64_t n, int32_t *offsets);

/* Fills in n >= 0 column indices. gather: any of B's t >= 1 columns, with repetitions. scatter:
 * each of D's n columns once. WILD: one index in four is out of range. */
void hd_routing_gather(hd_routing routing, uint64_t seed, int64_t n, int64_t t, int32_t *index);
void hd_routing_scatter(hd_routing routing, uint64_t seed, int64_t n, int32_t *index);

/* Fills in the n_indices indices of combine_d: each of n columns at most once, in random order; the
 * other indices are -1. WILD: with repetitions, and one in four out of range. */
void hd_routing_combine(hd_routing routing, uint64_t seed, int64_t n, int64_t n_indices,
                        int32_t *index);

/* The columns [*first, *end) of group i, valid for any offsets: clamped to 0 … n, and not before
 * the end of the previous groups. */
void hd_routing_columns(const int32_t *offsets, int64_t i, int64_t n, int64_t *first,
                        int64_t *end);

#endif
