/* Reference/routing.h: offsets of groups, made by seed: which of a launch's columns are whose. */
#ifndef HD_ROUTING_H
#define HD_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

typedef enum hd_routing {
  HD_ROUTING_RANDOM,   /* cuts anywhere: empty groups, columns of no group at either end */
  HD_ROUTING_BALANCED, /* as even as may be */
  HD_ROUTING_ZIPF,     /* the i-th largest has 1 / i of the largest's columns, in any order */
  HD_ROUTING_ONE,      /* all columns in one group */
  HD_ROUTING_WILD,     /* what no router should give: below 0, beyond n, decreasing */
  HD_N_ROUTINGS
} hd_routing;

/* "random", …; NULL past the last. */
const char *hd_routing_name(int routing);
extern const char hd_routing_list[];
/* HEDDLE_NOT_FOUND when there is none of that name. */
heddle_status hd_routing_parse(const char *name, hd_routing *routing);

/* Offsets of g >= 1 groups of up to n >= 0 columns: g + 1 numbers. */
void hd_routing_fill(hd_routing routing, uint64_t seed, int64_t g, int64_t n, int32_t *offsets);

/* n >= 0 indices of columns. Of B's t >= 1 any, over and over; of D's n each once. WILD: one in
 * four is none of them. */
void hd_routing_gather(hd_routing routing, uint64_t seed, int64_t n, int64_t t, int32_t *index);
void hd_routing_scatter(hd_routing routing, uint64_t seed, int64_t n, int32_t *index);

/* Which columns of n each of D's is the sum of: n_indices of them, each once, as far as there are
 * as many; none beyond. WILD: any, over and over; one in four is none. */
void hd_routing_combine(hd_routing routing, uint64_t seed, int64_t n, int64_t n_indices,
                        int32_t *index);

/* The columns [*first, *end) of group i, whatever the offsets: inside 0 … n, and behind those of
 * the groups before. */
void hd_routing_columns(const int32_t *offsets, int64_t i, int64_t n, int64_t *first,
                        int64_t *end);

#endif
