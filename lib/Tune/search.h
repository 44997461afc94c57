/* Tune/search.h: which schedule to measure next: the one that promises the least time. The model's
 * prediction is corrected by what was measured: an effect of its kind (the keys that decide the
 * bottleneck: family, tile, cluster, multicast, ctas_per_sm, split_k, reduce, stream_k), one of
 * each other "key=value", shared by all kinds; less a doubt where little is known. */
#ifndef HD_SEARCH_H
#define HD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_SEARCH_WORDS = 24 };

/* Something that schedules have in common. */
typedef struct hd_search_effect {
  uint32_t hash;
  bool is_kind;
  double effect; /* added to the logarithm of the prediction */
  int32_t n;     /* measurements that have it */
} hd_search_effect;

/* A schedule as the search sees it. */
typedef struct hd_search_item {
  int32_t effect[HD_SEARCH_WORDS], n_effects; /* indices; the first is its kind */
  double predicted; /* seconds */
  double measured;  /* seconds; 0: not measured, or without a result */
  bool taken;       /* chosen already */
} hd_search_item;

/* Zero-initialise. */
typedef struct hd_search {
  hd_search_item *list; /* owned */
  size_t n, cap;
  hd_search_effect *effect; /* owned */
  int32_t n_effects, effects_cap;
  size_t *measured; /* owned: indices into list, in the order learned */
  size_t n_measured, measured_cap;
  double mean; /* the model's scale: no event */
} hd_search;

/* How many of n legal schedules a search measures: one in twenty, at least 8 and at most 64 (most
 * keys hardly matter, and thousands that differ in them teach no more). */
int64_t hd_search_share(int64_t n);

/* Adds a printed schedule, before anything is measured. */
void hd_search_add(hd_search *search, const char *schedule, double predicted);
void hd_search_free(hd_search *search);
/* An item was measured. */
void hd_search_learn(hd_search *search, size_t index, double seconds);
/* The promised seconds of an item. */
double hd_search_promise(const hd_search *search, size_t index);
/* The index of the item not taken that promises most; n when all are taken. Of equals the first. */
size_t hd_search_next(const hd_search *search);
/* The same search before anything was measured; to be freed. */
hd_search hd_search_fresh(const hd_search *search);

#endif
