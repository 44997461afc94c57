/* Tune/search.h: which schedule to measure next: the one that promises the least time, by the model's
 * prediction corrected by how far it was off for the schedules measured so far that are like it, less a
 * doubt where none is. */
#ifndef HD_SEARCH_H
#define HD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_SCHEDULE_TEXT = 256, HD_SEARCH_KEYS = 24 };

/* A schedule as the search sees it. */
typedef struct hd_search_item {
  uint32_t key[HD_SEARCH_KEYS]; /* hashes of its "key=value" words, in printed order */
  double predicted; /* seconds */
  double measured;  /* seconds; 0: not measured, or without a result */
  bool taken;       /* chosen already */
  double off, weight, nearest; /* from what was measured: see search.c */
} hd_search_item;

/* Zero-initialise. */
typedef struct hd_search {
  hd_search_item *list; /* owned */
  size_t n, cap;
  double off; /* the sum of all measurements' logarithms over their predictions */
  size_t n_measured;
} hd_search;

/* How many of n legal schedules a search measures: one in twenty, at least 8. */
int64_t hd_search_share(int64_t n);

/* Adds a printed schedule, before anything is measured. */
void hd_search_add(hd_search *search, const char *schedule, double predicted);
void hd_search_free(hd_search *search);
/* An item was measured. O(n). */
void hd_search_learn(hd_search *search, size_t index, double seconds);
/* The promised seconds of an item. */
double hd_search_promise(const hd_search *search, size_t index);
/* The index of the item not taken that promises most; n when all are taken. Of equals the first. */
size_t hd_search_next(const hd_search *search);
/* The same search before anything was measured; to be freed. */
hd_search hd_search_fresh(const hd_search *search);

#endif
