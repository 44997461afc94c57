/* Tune/search.h: which schedule to measure next: the one that promises the least time, by the model's
 * prediction corrected by how far it was off for the schedules measured so far that are like it, less a
 * doubt where none is. */
#ifndef HD_SEARCH_H
#define HD_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_SCHEDULE_TEXT = 256, HD_SEARCH_KEYS = 32 };

/* A schedule as the search sees it. */
typedef struct hd_search_item {
  uint32_t key[HD_SEARCH_KEYS]; /* hashes of its "key=value" words, in printed order */
  int32_t n_keys;
  double predicted; /* seconds */
  double measured;  /* seconds; 0: not measured, or without a result */
  bool taken;       /* chosen already */
} hd_search_item;

/* How many of n legal schedules a search measures: one in twenty, at least 8. */
int64_t hd_search_share(int64_t n);

/* An item for a printed schedule. */
hd_search_item hd_search_item_of(const char *schedule, double predicted);
/* The promised seconds of an item, given all that were measured. */
double hd_search_promise(const hd_search_item *list, size_t n, size_t index);
/* The index of the item not taken that promises most; n when all are taken. Of equals the first. */
size_t hd_search_next(const hd_search_item *list, size_t n);

#endif
