/* Format of an entry, little-endian:
 *
 *   0      8            16         24           32                       each part aligned to 16
 *   | magic | manifest n | ptx n    | cubin n    | manifest, NUL | ptx, NUL | cubin |
 */
#include "Runtime/kernel_cache.h"

#include <stdbool.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/blob.h"
#include "Support/diag.h"

enum { HEADER_BYTES = 32, ALIGN = 16 };

static const char magic[8] = {'h', 'd', 'k', 'e', 'r', 'n', '0', '1'};

typedef struct layout {
  size_t manifest, ptx, cubin, end; /* offsets */
} layout;

static size_t align_up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static layout lay_out(size_t manifest_bytes, size_t ptx_bytes, size_t cubin_bytes) {
  layout at = {.manifest = HEADER_BYTES};
  at.ptx = align_up(at.manifest + manifest_bytes + 1);
  at.cubin = align_up(at.ptx + ptx_bytes + 1);
  at.end = at.cubin + cubin_bytes;
  return at;
}

static void copy_part(char *to, const void *from, size_t n_bytes) {
  if (n_bytes > 0)
    memcpy(to, from, n_bytes);
}

heddle_status hd_cache_put(heddle_context *ctx, const char *folder, hd_hash key,
                           const hd_cache_entry *entry) {
  layout at = lay_out(entry->manifest_bytes, entry->ptx_bytes, entry->cubin_bytes);
  uint64_t sizes[3] = {entry->manifest_bytes, entry->ptx_bytes, entry->cubin_bytes};
  char *bytes = hd_try_zalloc(ctx, at.end, "an entry of the cache");
  if (!bytes)
    return HEDDLE_NO_MEMORY;
  memcpy(bytes, magic, sizeof magic);
  memcpy(bytes + sizeof magic, sizes, sizeof sizes);
  copy_part(bytes + at.manifest, entry->manifest_json, entry->manifest_bytes);
  copy_part(bytes + at.ptx, entry->ptx, entry->ptx_bytes);
  copy_part(bytes + at.cubin, entry->cubin, entry->cubin_bytes);
  heddle_status status = hd_blob_put(ctx, folder, key, bytes, at.end);
  hd_free(bytes);
  return status;
}

/* Parses an entry of this version. The blob store has already verified the checksum. */
static bool parse(char *bytes, size_t n_bytes, hd_cache_entry *entry) {
  uint64_t sizes[3];
  if (n_bytes < HEADER_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
    return false;
  memcpy(sizes, bytes + sizeof magic, sizeof sizes);
  if (sizes[0] > n_bytes || sizes[1] > n_bytes || sizes[2] > n_bytes)
    return false;
  layout at = lay_out(sizes[0], sizes[1], sizes[2]);
  if (at.end != n_bytes || bytes[at.manifest + sizes[0]] || bytes[at.ptx + sizes[1]])
    return false;
  *entry = (hd_cache_entry){.manifest_json = bytes + at.manifest, .manifest_bytes = sizes[0],
                            .ptx = sizes[1] ? bytes + at.ptx : NULL, .ptx_bytes = sizes[1],
                            .cubin = sizes[2] ? bytes + at.cubin : NULL, .cubin_bytes = sizes[2],
                            .storage = bytes};
  return true;
}

heddle_status hd_cache_get(const char *folder, hd_hash key, hd_cache_entry *entry) {
  void *bytes;
  size_t n_bytes;
  HD_TRY(hd_blob_get(folder, key, &bytes, &n_bytes));
  if (parse(bytes, n_bytes, entry))
    return HEDDLE_OK;
  hd_free(bytes);
  return HEDDLE_NOT_FOUND;
}

void hd_cache_entry_free(hd_cache_entry *entry) {
  hd_free(entry->storage);
  *entry = (hd_cache_entry){0};
}
