/* Support/blob.h: a content-addressed store of byte strings in a folder. */
#ifndef HD_BLOB_H
#define HD_BLOB_H

#include "Support/hash.h"
#include "heddle/context.h"

/* Stores bytes under a key, atomically; a checksum goes with them. An entry becomes code that runs:
 * HEDDLE_ENVIRONMENT when another user owns the folder or may write it. */
heddle_status hd_blob_put(heddle_context *ctx, const char *folder, hd_hash key, const void *data,
                          size_t n_bytes);
/* Fetches them (*data owned, hd_free). HEDDLE_NOT_FOUND when absent, truncated, corrupt, no
 * regular file, larger than 256 MiB, or where another user may write: a bad entry is a miss. */
heddle_status hd_blob_get(const char *folder, hd_hash key, void **data, size_t *n_bytes);

#endif
