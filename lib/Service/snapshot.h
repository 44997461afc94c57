/* Service/snapshot.h: the current choices in memory. Lookups read it, and go on while the database
 * is down. Any number of threads may read while one refreshes. */
#ifndef HD_SNAPSHOT_H
#define HD_SNAPSHOT_H

#include "Service/shared_text.h"
#include "Store/store.h"

typedef struct hd_snapshot hd_snapshot;

hd_snapshot *hd_snapshot_create(void);
void hd_snapshot_free(hd_snapshot *snapshot); /* accepts NULL */

/* Reads what changed since the last refresh: choices, and races that say what a neighbour's
 * schedule loses. *changed: a choice did. */
hd_sql hd_snapshot_refresh(hd_snapshot *snapshot, hd_store *store, bool *changed);
bool hd_snapshot_is_read(const hd_snapshot *snapshot); /* once, at least */
int64_t hd_snapshot_serial(hd_snapshot *snapshot);
size_t hd_snapshot_count(hd_snapshot *snapshot);

/* The answer of GET /v1/choice for exactly that product; a reference, NULL: none. */
hd_shared_text *hd_snapshot_exact(hd_snapshot *snapshot, const char *product, const char *class,
                                  const char *policy);
/* That of the nearest product; owned text, NULL: none is near. */
char *hd_snapshot_nearest(hd_snapshot *snapshot, const char *product, const char *class,
                          const char *policy);
/* The body of GET /v1/choices; class "": of all. Owned. */
char *hd_snapshot_choices(hd_snapshot *snapshot, const char *class, int64_t since);

/* The same body of rows whose columns are those of {choice}; owned. */
char *hd_choices_text(const hd_rows *rows, int64_t serial);

#endif
