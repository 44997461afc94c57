#include "Support/blob.h"

#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"

/* An entry is the file FOLDER/xx/KEY: this header, then the bytes. The header contains the key, so
 * that a file with a wrong name is a miss. Byte order is native: a store is local to a machine. */
struct entry_header {
  char magic[8];
  hd_hash key, checksum;
  uint64_t n_bytes;
};

static const char magic[8] = "HDBLOB1";
enum { MAX_ENTRY_BYTES = 256 << 20 };

static char *entry_path(const char *folder, hd_hash key, bool only_folder) {
  char digits[33];
  hd_hash_format(key, digits);
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%s/%.2s", folder, digits);
  if (!only_folder)
    hd_strbuf_printf(&path, "/%s", digits + 2);
  return hd_strbuf_take(&path);
}

static bool same_hash(hd_hash a, hd_hash b) {
  return a.lo == b.lo && a.hi == b.hi;
}

heddle_status hd_blob_put(heddle_context *ctx, const char *folder, hd_hash key, const void *data,
                          size_t n_bytes) {
  struct entry_header header = {
      .key = key, .checksum = hd_hash_bytes(data, n_bytes), .n_bytes = n_bytes};
  memcpy(header.magic, magic, sizeof magic);
  char *entry = hd_xmalloc(sizeof header + n_bytes);
  memcpy(entry, &header, sizeof header);
  if (n_bytes)
    memcpy(entry + sizeof header, data, n_bytes);
  char *parent = entry_path(folder, key, true), *path = entry_path(folder, key, false);
  const hd_file_part part = {path, entry, sizeof header + n_bytes, true};
  heddle_status status = hd_file_mkdirs_own(ctx, parent);
  if (status == HEDDLE_OK && !(hd_file_is_own_folder(folder) && hd_file_is_own_folder(parent)))
    status = hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = folder}, "blob.folder",
                      "other users own or can write this folder, so its entries are not trusted; "
                      "legal: a folder of your own; nearest: chmod go-w");
  if (status == HEDDLE_OK)
    status = hd_file_write_set(ctx, &part, 1);
  hd_free(path);
  hd_free(parent);
  hd_free(entry);
  return status;
}

static bool entry_is_good(hd_hash key, const char *entry, size_t entry_bytes) {
  struct entry_header header;
  if (entry_bytes < sizeof header)
    return false;
  memcpy(&header, entry, sizeof header);
  return memcmp(header.magic, magic, sizeof magic) == 0 && same_hash(header.key, key) &&
         header.n_bytes == entry_bytes - sizeof header &&
         same_hash(header.checksum, hd_hash_bytes(entry + sizeof header, header.n_bytes));
}

heddle_status hd_blob_get(const char *folder, hd_hash key, void **data, size_t *n_bytes) {
  char *path = entry_path(folder, key, false), *parent = entry_path(folder, key, true);
  char *entry = NULL;
  size_t entry_bytes = 0;
  bool own = hd_file_is_own_folder(folder) && hd_file_is_own_folder(parent);
  /* Any reason why an entry cannot be read is a miss. */
  heddle_status status = own ? hd_file_read_own(path, MAX_ENTRY_BYTES, &entry, &entry_bytes)
                             : HEDDLE_NOT_FOUND;
  if (status == HEDDLE_OK && !entry_is_good(key, entry, entry_bytes)) {
    hd_free(entry);
    (void)hd_file_remove(NULL, path);
    status = HEDDLE_NOT_FOUND;
  }
  hd_free(parent);
  hd_free(path);
  if (status != HEDDLE_OK)
    return HEDDLE_NOT_FOUND;
  *n_bytes = entry_bytes - sizeof(struct entry_header);
  memmove(entry, entry + sizeof(struct entry_header), *n_bytes);
  *data = entry;
  return HEDDLE_OK;
}
