/* Tune/records_sql.h: SQLite under the records: statements, rows, errors. Of records.c, which says
 * what is stored, and records_open.c, which looks at the file. */
#ifndef HD_RECORDS_SQL_H
#define HD_RECORDS_SQL_H

#include <sqlite3.h>

#include "Tune/records.h"

struct hd_records {
  sqlite3 *db;               /* in memory, and empty, while `later` is there */
  double deadline, patience; /* of one statement, seconds */
  char *later;               /* owned: the file that the first write makes; NULL: there is one */
  int version;               /* of the file, as it was opened */
  char run[33];              /* "" before hd_records_begin */
};

enum { HD_RECORDS_VERSION = 3 }; /* as in the schema (records_open.c) */

/* The columns that each version lacks, for a SELECT of today's. */
typedef struct hd_records_lack {
  const char *measurement, *choice;
} hd_records_lack;
extern const hd_records_lack hd_records_lacks[HD_RECORDS_VERSION + 1];

/* Prepares and binds: one letter of `types` an argument: t text, i int64_t, d double. */
heddle_status hd_records_prepare(heddle_context *ctx, hd_records *r, sqlite3_stmt **s,
                                 const char *sql, const char *types, ...);
/* Runs a statement to its end, and frees it. */
heddle_status hd_records_finish(heddle_context *ctx, hd_records *r, sqlite3_stmt *s,
                                const char *what);
/* *row: there is one more. hd_records_text is "" when there was no memory for a row's text; the
 * next call says so. */
heddle_status hd_records_next(heddle_context *ctx, const hd_records *r, sqlite3_stmt *s, bool *row);
const char *hd_records_text(sqlite3_stmt *s, int column);
/* Runs statements that answer nothing. */
heddle_status hd_records_execute(heddle_context *ctx, hd_records *r, const char *sql,
                                 const char *what);
/* Opens the file, or ":memory:", refuses it when it is not ours, and brings it up to this version
 * before it is written. */
heddle_status hd_records_open_file(heddle_context *ctx, hd_records *r, const char *path,
                                   bool write);

#endif
