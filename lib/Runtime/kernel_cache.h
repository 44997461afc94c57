/* Runtime/kernel_cache.h: compiled kernels on disk: manifest, PTX and cubin as one entry of the
 * blob store (Support/blob.h: atomic, checksummed, a bad entry is a miss). The caller defines the
 * key (lib/Compile). */
#ifndef HD_KERNEL_CACHE_H
#define HD_KERNEL_CACHE_H

#include "Support/hash.h"
#include "heddle/context.h"

/* The texts and the code of one kernel. ptx and cubin may be absent (NULL, 0). */
typedef struct hd_cache_entry {
  const char *manifest_json, *ptx;
  const void *cubin;
  size_t manifest_bytes, ptx_bytes, cubin_bytes;
  void *storage; /* owned: hd_cache_entry_free */
} hd_cache_entry;

heddle_status hd_cache_put(heddle_context *ctx, const char *folder, hd_hash key,
                           const hd_cache_entry *entry);
/* HEDDLE_NOT_FOUND for a miss. The pointers point into entry->storage. The texts end with a NUL.
 * The cubin is aligned to 16 bytes. */
heddle_status hd_cache_get(const char *folder, hd_hash key, hd_cache_entry *entry);
void hd_cache_entry_free(hd_cache_entry *entry);

#endif
