/* Store/store.h: a connection to the database, SQLite or PostgreSQL, and the statements of
 * statements.sql. Not thread-safe: one thread per connection. */
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

/* Columns of {choice}, as in choice_columns of store.c; the first are product, class and policy. */
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

/* The result of a statement or transaction. */
typedef enum hd_sql {
  HD_SQL_OK,
  HD_SQL_CONFLICT, /* a unique index already has such a row */
  HD_SQL_AGAIN,    /* a conflicting transaction: run this one again from the start */
  HD_SQL_DOWN,     /* the database is not reachable or cannot write: the next begin reconnects; or
                      memory ran out */
  HD_SQL_FOREIGN,  /* belongs to another program (only when connecting) */
  HD_SQL_BROKEN    /* the statement is wrong, which is a bug */
} hd_sql;

/* The rows of a statement, allocated in the arena that was passed to it. */
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
/* A row as an object, without NULLs. A suffix of the column's name gives its JSON type: :int :num
 * :bool :json :time (milliseconds, as RFC 3339) :day. Owned (json_decref). */
json_t *hd_row_json(const hd_rows *rows, int row);
json_t *hd_rows_json(const hd_rows *rows);
/* Formats milliseconds since 1970 as "2026-11-23T02:15:30.123Z". */
void hd_time_format(int64_t ms, char out[32]);

typedef struct hd_store hd_store;

/* url: "sqlite:PATH" or "postgresql://…" (any URI, or "postgresql:KEY=VALUE …", of libpq). Connects
 * at once. HEDDLE_ENVIRONMENT if this fails, HEDDLE_INVALID for another URL or a database of
 * another program (store.foreign). */
heddle_status hd_store_open(heddle_context *ctx, const char *url, hd_store **store);
void hd_store_close(hd_store *store); /* accepts NULL */
bool hd_store_is_postgresql(const hd_store *store);
/* The database's message for the last call that was not OK; borrowed until the next call. */
const char *hd_store_error(const hd_store *store);
/* The same as a diagnostic: HEDDLE_ENVIRONMENT, store.run. */
heddle_status hd_store_failed(heddle_context *ctx, const hd_store *store);

/* Runs a statement. `types` has one letter per argument: t const char * (NULL: SQL's NULL), i
 * int64_t, d double (NaN: NULL), j json_t * (as text; NULL: NULL). */
hd_sql hd_store_run(hd_store *store, hd_query query, hd_arena *arena, hd_rows *rows,
                    const char *types, ...);
/* Transactions. begin reconnects if the connection was lost; rollback may be called without a
 * transaction. */
hd_sql hd_store_begin(hd_store *store);
hd_sql hd_store_commit(hd_store *store);
void hd_store_rollback(hd_store *store);

/* Reports that memory ran out: returns HD_SQL_DOWN, and sets the error. */
hd_sql hd_store_no_memory(hd_store *store);

/* Runs statements without results or parameters, with the words of statements.sql. */
hd_sql hd_store_script(hd_store *store, const char *text);

/* Marks a SQLite file as heddled's; does nothing on PostgreSQL. */
hd_sql hd_store_mark(hd_store *store);

/* Wakes other daemons: NOTIFY on PostgreSQL; nothing on SQLite, which has a single daemon. */
hd_sql hd_store_notify(hd_store *store);
/* Makes the space of replaced rows of `head` usable again: its rows are updated for ever, and after
 * a crash PostgreSQL's own vacuum does not know how often. Nothing on SQLite, which reuses it at
 * once, and for a role that does not own the table. */
hd_sql hd_store_vacuum(hd_store *store);
/* A socket that becomes readable when another daemon sends a notification; -1: none. heard consumes
 * notifications. */
int hd_store_listen(hd_store *store);
bool hd_store_heard(hd_store *store);

/* Upgrades the schema to `version` (0: the newest). HEDDLE_UNSUPPORTED if a newer daemon has
 * upgraded it beyond what this one can use. */
heddle_status hd_store_migrate(heddle_context *ctx, hd_store *store, int version);
int hd_schema_version(void); /* the newest */

/* Copies a SQLite database, which may be in use, to a new file. */
heddle_status hd_store_backup(heddle_context *ctx, hd_store *store, const char *path);

#endif
