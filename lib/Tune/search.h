/* Tune/search.h: selects the schedule to measure next: the one with the lowest optimistic estimate.
 * The estimate is the model's prediction, corrected by effects fitted to the measurements: one of
 * the schedule's kind (the keys that determine the bottleneck: family, tile, cluster, multicast,
 * ctas_per_sm, split_k, reduce, stream_k), and one of each other "key=value", shared by all kinds.
 * A doubt term lowers the estimate of effects with few measurements. */
#ifndef HD_SEARCH_H
#define HD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_SEARCH_WORDS = 24 };

/* The effect of a kind, or of a "key=value", that schedules have in common. */
typedef struct hd_search_effect {
  uint32_t hash;
  bool is_kind;
  double effect; /* added to the logarithm of the prediction */
  int32_t n;     /* number of measurements that have it */
} hd_search_effect;

/* A schedule of the search. */
typedef struct hd_search_item {
  int32_t effect[HD_SEARCH_WORDS], n_effects; /* indices; the first is its kind */
  double predicted; /* seconds */
  double measured;  /* seconds; 0: not measured, or no result */
  bool taken;       /* already selected */
} hd_search_item;

/* Zero-initialise. */
typedef struct hd_search {
  hd_search_item *list; /* owned */
  size_t n, cap;
  hd_search_effect *effect; /* owned */
  int32_t n_effects, effects_cap;
  size_t *measured; /* owned: indices into list, in the order of measurement */
  size_t n_measured, measured_cap;
  double mean; /* mean of log(measured / predicted): the scale error of the model */
} hd_search;

/* How many of n legal schedules a search measures: one in twenty, at least 8 and at most 64. Most
 * keys have little effect, so that more measurements would add little information. */
int64_t hd_search_share(int64_t n);

/* Adds a printed schedule, before anything is measured. */
void hd_search_add(hd_search *search, const char *schedule, double predicted);
void hd_search_free(hd_search *search);
/* Adds the measurement of an item. */
void hd_search_learn(hd_search *search, size_t index, double seconds);
/* The optimistic estimate of an item, seconds. */
double hd_search_promise(const hd_search *search, size_t index);
/* The first item with the lowest estimate among those that are not taken; n if all are taken. */
size_t hd_search_next(const hd_search *search);
/* A copy of the search without measurements; owned by the caller. */
hd_search hd_search_fresh(const hd_search *search);

#endif
