/* Support/journal.h: a file of byte strings that survives any end of its process. Each entry has a
 * length and a checksum, and is on disk when hd_journal_add returns. One process at a time.
 *
 *   entry: "HDJ1" | bytes (u32) | checksum of bytes and data (u64) | data          little endian
 */
#ifndef HD_JOURNAL_H
#define HD_JOURNAL_H

#include <stddef.h>

#include "heddle/context.h"

typedef struct hd_journal hd_journal;

enum { HD_JOURNAL_MOST_BYTES = 16 << 20 }; /* maximum size of one entry */

/* Opens or makes the file and reads its entries. An incomplete last entry was never acknowledged
 * and is cut off. Damage in the middle is skipped with a warning. HEDDLE_ENVIRONMENT if another
 * process has the file open. */
heddle_status hd_journal_open(heddle_context *ctx, const char *path, hd_journal **journal);
void hd_journal_close(hd_journal *journal); /* accepts NULL */

size_t hd_journal_count(const hd_journal *journal);
/* The entry at an index below the count, followed by a NUL; borrowed until hd_journal_drop. */
const char *hd_journal_get(const hd_journal *journal, size_t index, size_t *n_bytes);
/* Appends an entry. On failure (for example a full disk) the file is unchanged. */
heddle_status hd_journal_add(heddle_context *ctx, hd_journal *journal, const void *data,
                             size_t n_bytes);
/* Drops the first n entries. The file is truncated only when no entry is left; until then, a
 * reopened journal contains the dropped entries again. */
heddle_status hd_journal_drop(heddle_context *ctx, hd_journal *journal, size_t n);

#endif
