/* Tune/records_sql.h: the SQLite layer: statements, rows, errors. Shared by records.c, which reads
 * and writes records, and records_open.c, which opens and checks the file. */
#ifndef HD_RECORDS_SQL_H
#define HD_RECORDS_SQL_H

#include <sqlite3.h>

#include "Tune/records.h"

struct hd_records {
  sqlite3 *db;               /* in memory and empty while `later` is set */
  double deadline, patience; /* end and duration limit of a statement, seconds */
  char *later;               /* owned: the file that the first write creates; NULL: it exists */
  int version;               /* of the file when it was opened */
  char run[33];              /* "" before hd_records_begin */
};

enum { HD_RECORDS_VERSION = 3 }; /* as in the schema (records_open.c) */

/* SQL text that adds the columns that a version lacks to a SELECT. */
typedef struct hd_records_lack {
  const char *measurement, *choice;
} hd_records_lack;
extern const hd_records_lack hd_records_lacks[HD_RECORDS_VERSION + 1];

/* Prepares and binds. `types` has a letter per argument: t text, i int64_t, d double. */
heddle_status hd_records_prepare(heddle_context *ctx, hd_records *r, sqlite3_stmt **s,
                                 const char *sql, const char *types, ...);
/* Runs a statement that returns no rows, and frees it. */
heddle_status hd_records_finish(heddle_context *ctx, hd_records *r, sqlite3_stmt *s,
                                const char *what);
/* *row: whether there is another row. If memory for a text runs out, hd_records_text returns "" and
 * the next hd_records_next returns the error. */
heddle_status hd_records_next(heddle_context *ctx, const hd_records *r, sqlite3_stmt *s, bool *row);
const char *hd_records_text(sqlite3_stmt *s, int column);
/* Runs SQL statements that return no rows. */
heddle_status hd_records_execute(heddle_context *ctx, hd_records *r, const char *sql,
                                 const char *what);
/* Opens the file, or ":memory:". Refuses a file that is not a database of this tuner. With `write`,
 * upgrades it to the current version. */
heddle_status hd_records_open_file(heddle_context *ctx, hd_records *r, const char *path,
                                   bool write);

#endif
