/* Support/blob.h: a content-addressed store of byte strings in a folder. */
#ifndef HD_BLOB_H
#define HD_BLOB_H

#include "Support/hash.h"
#include "heddle/context.h"

/* Stores bytes and their checksum under a key, atomically. Entries are code that will run, so a
 * folder that another user owns or can write is refused with HEDDLE_ENVIRONMENT. */
heddle_status hd_blob_put(heddle_context *ctx, const char *folder, hd_hash key, const void *data,
                          size_t n_bytes);
/* Fetches an entry (*data owned, hd_free). HEDDLE_NOT_FOUND if it is absent, truncated, corrupt,
 * not a regular file, larger than 256 MiB, or in a place that another user can write. */
heddle_status hd_blob_get(const char *folder, hd_hash key, void **data, size_t *n_bytes);

#endif
