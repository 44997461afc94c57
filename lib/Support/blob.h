/* Support/blob.h: a content-addressed store of byte strings in a folder. */
#ifndef HD_BLOB_H
#define HD_BLOB_H

#include "Support/hash.h"
#include "heddle/context.h"

/* Stores bytes under a key: temporary, fsync, rename; a checksum goes with them. */
heddle_status hd_blob_put(heddle_context *ctx, const char *folder, hd_hash key, const void *data,
                          size_t n_bytes);
/* Fetches them (*data owned, free()). HEDDLE_NOT_FOUND when absent, truncated or corrupt: a bad
 * entry is a miss, and is removed. */
heddle_status hd_blob_get(const char *folder, hd_hash key, void **data, size_t *n_bytes);

#endif
