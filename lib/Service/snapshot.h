/* Service/snapshot.h: the current choices in memory, for lookups, also while the database is down.
 * Any number of threads may read while one refreshes. */
#ifndef HD_SNAPSHOT_H
#define HD_SNAPSHOT_H

#include "Service/shared_text.h"
#include "Store/store.h"

typedef struct hd_snapshot hd_snapshot;

hd_snapshot *hd_snapshot_create(void);
void hd_snapshot_free(hd_snapshot *snapshot); /* accepts NULL */

/* Reads changes since the last refresh: choices, and races, which measure the loss of a neighbour's
 * schedule. *changed: a choice has changed. */
hd_sql hd_snapshot_refresh(hd_snapshot *snapshot, hd_store *store, bool *changed);
bool hd_snapshot_is_read(const hd_snapshot *snapshot); /* at least once */
int64_t hd_snapshot_serial(hd_snapshot *snapshot);
size_t hd_snapshot_count(hd_snapshot *snapshot);

/* The answer of GET /v1/choice: at most one of the two. */
typedef struct hd_found {
  hd_shared_text *exact; /* for exactly this product; a reference */
  char *nearest;         /* for the nearest product, owned */
} hd_found;

/* Looks for both at once: a choice that came between two looks would be its own neighbour.
 * exact_only: does not look for the nearest. */
hd_found hd_snapshot_find(hd_snapshot *snapshot, const char *product, const char *class,
                          const char *policy, bool exact_only);
/* The body of GET /v1/choices; class "": all classes. Owned. */
char *hd_snapshot_choices(hd_snapshot *snapshot, const char *class, int64_t since);

/* The same body for rows with the columns of {choice}; owned. */
char *hd_choices_text(const hd_rows *rows, int64_t serial);

#endif
