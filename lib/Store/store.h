/* Store/store.h: one connection to the database, SQLite or PostgreSQL, and the statements of
 * statements.sql on it. One thread at a time uses a connection. */
#ifndef HD_STORE_H
#define HD_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "Support/arena.h"
#include "heddle/context.h"

/* HD_Q_<name> for each statement. */
typedef enum hd_query {
#define HD_FIRST_any(name) HD_Q_##name,
#define HD_FIRST_postgresql(name)
#define HD_STATEMENT(name, dialect, text) HD_FIRST_##dialect(name)
#include "statements.inc"
#undef HD_STATEMENT
  HD_N_QUERIES
} hd_query;

/* Columns of {choice}, as choice_columns in store.c has them; product, class, policy are first. */
enum {
  HD_CHOICE_VERSION = 3,
  HD_CHOICE_SERIAL,
  HD_CHOICE_SCHEDULE,
  HD_CHOICE_DEFAULT_SCHEDULE,
  HD_CHOICE_US,
  HD_CHOICE_DEFAULT_US,
  HD_CHOICE_SUSTAINED_US,
  HD_CHOICE_DEFAULT_SUSTAINED_US,
  HD_CHOICE_MODE,
  HD_CHOICE_DEVICE,
  HD_CHOICE_DRIVER,
  HD_CHOICE_AT,
  HD_CHOICE_BUILD,
  HD_CHOICE_CUBIN,
  HD_CHOICE_LEASE,
  HD_CHOICE_ORIGIN,
  HD_CHOICE_PINNED
};

/* How a statement or transaction ended. */
typedef enum hd_sql {
  HD_SQL_OK,
  HD_SQL_CONFLICT, /* a unique index has such a row already */
  HD_SQL_AGAIN,    /* another transaction was in the way: run this one again from its begin */
  HD_SQL_DOWN,     /* the database is away, or cannot write: the next begin tries to connect; or
                    * memory ran out */
  HD_SQL_FOREIGN,  /* it is another program's: of connecting alone */
  HD_SQL_BROKEN    /* the statement is wrong: a bug */
} hd_sql;

/* What a statement returned. All of it lives in the arena that it was run with. */
typedef struct hd_rows {
  int n, n_cols;
  int64_t changed;   /* rows that were inserted, updated or deleted */
  const char **name; /* n_cols */
  const char **cell; /* n × n_cols, row by row; NULL: SQL's NULL */
} hd_rows;

const char *hd_cell(const hd_rows *rows, int row, int col);      /* may be NULL */
const char *hd_cell_text(const hd_rows *rows, int row, int col); /* "" for NULL */
int64_t hd_cell_int(const hd_rows *rows, int row, int col);      /* 0 for NULL */
double hd_cell_num(const hd_rows *rows, int row, int col);
/* A row as an object, NULLs left out; the column's name may end in the type that it is written as:
 * :int :num :bool :json :time (milliseconds, as RFC 3339) :day. Owned (json_decref). */
json_t *hd_row_json(const hd_rows *rows, int row);
json_t *hd_rows_json(const hd_rows *rows);
/* Milliseconds since 1970 as "2026-11-23T02:15:30.123Z". */
void hd_time_format(int64_t ms, char out[32]);

typedef struct hd_store hd_store;

/* "sqlite:PATH" or "postgresql://…" (any URI or "postgresql:KEY=VALUE …" of libpq). Connects at
 * once; HEDDLE_ENVIRONMENT when it cannot, HEDDLE_INVALID when the URL is neither, or the database
 * another program's (store.foreign). */
heddle_status hd_store_open(heddle_context *ctx, const char *url, hd_store **store);
void hd_store_close(hd_store *store); /* accepts NULL */
bool hd_store_is_postgresql(const hd_store *store);
/* What the database said to the last call that was not OK; borrowed until the next call. */
const char *hd_store_error(const hd_store *store);
/* The same as a diagnostic: HEDDLE_ENVIRONMENT, store.run. */
heddle_status hd_store_failed(heddle_context *ctx, const hd_store *store);

/* Runs a statement. One letter of `types` an argument: t const char * (NULL: SQL's NULL), i
 * int64_t, d double (NaN: NULL), j json_t * (its text; NULL: NULL). */
hd_sql hd_store_run(hd_store *store, hd_query query, hd_arena *arena, hd_rows *rows,
                    const char *types, ...);
/* Transactions. begin connects again when the connection was lost; rollback accepts that there is
 * none. */
hd_sql hd_store_begin(hd_store *store);
hd_sql hd_store_commit(hd_store *store);
void hd_store_rollback(hd_store *store);

/* What ran out of memory is not done: HD_SQL_DOWN, and the error says so. */
hd_sql hd_store_no_memory(hd_store *store);

/* Statements without results or parameters, in the words of statements.sql. */
hd_sql hd_store_script(hd_store *store, const char *text);

/* A SQLite file says from now on that it is heddled's; nothing on PostgreSQL. */
hd_sql hd_store_mark(hd_store *store);

/* Wakes others: PostgreSQL's NOTIFY; nothing on SQLite, whose only daemon is this one. */
hd_sql hd_store_notify(hd_store *store);
/* The socket that becomes readable when another daemon woke us; -1: none. heard takes what arrived.
 */
int hd_store_listen(hd_store *store);
bool hd_store_heard(hd_store *store);

/* Brings the database's schema up to `version` (0: the newest). HEDDLE_UNSUPPORTED when a newer
 * daemon made it so new that this one cannot work with it. */
heddle_status hd_store_migrate(heddle_context *ctx, hd_store *store, int version);
int hd_schema_version(void); /* the newest */

/* A whole copy of a SQLite database, which may be in use, as a new file. */
heddle_status hd_store_backup(heddle_context *ctx, hd_store *store, const char *path);

#endif
