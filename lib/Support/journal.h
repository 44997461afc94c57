/* Support/journal.h: a file of byte strings that survives whatever ends its process: each has its
 * length and a checksum, and is on the disk when hd_journal_add returns. One process at a time.
 *
 *   entry: "HDJ1" | bytes (u32) | checksum of bytes and data (u64) | data          little endian
 */
#ifndef HD_JOURNAL_H
#define HD_JOURNAL_H

#include <stddef.h>

#include "heddle/context.h"

typedef struct hd_journal hd_journal;

enum { HD_JOURNAL_MOST_BYTES = 16 << 20 }; /* of one entry */

/* Opens or makes the file, and reads what it holds. A last entry that is not whole was never
 * acknowledged: it is cut off. Damage in the middle is passed over, with a warning.
 * HEDDLE_ENVIRONMENT when another process has it open. */
heddle_status hd_journal_open(heddle_context *ctx, const char *path, hd_journal **journal);
void hd_journal_close(hd_journal *journal); /* accepts NULL */

size_t hd_journal_count(const hd_journal *journal);
/* The entry at an index below the count; borrowed until the next hd_journal_drop. A NUL follows. */
const char *hd_journal_get(const hd_journal *journal, size_t index, size_t *n_bytes);
/* Adds one at the end. On failure (a full disk) the file is as it was. */
heddle_status hd_journal_add(heddle_context *ctx, hd_journal *journal, const void *data,
                             size_t n_bytes);
/* Forgets the first n. The file is emptied when none is left; until then a reopened journal has the
 * forgotten ones again. */
heddle_status hd_journal_drop(heddle_context *ctx, hd_journal *journal, size_t n);

#endif
