/* SQLite behind store.c: one file, write-ahead log, every commit on disk. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Store/store_driver.h"
#include "Support/memory.h"

typedef struct connection {
  hd_connection base;
  sqlite3 *db;
  sqlite3_stmt *prepared[HD_N_QUERIES];
} connection;

static const char *const words[] = {
    "now",    "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "skip_j", "", /* one writer at a time: BEGIN IMMEDIATE */
    "skip_l", "",
    "each",   "json_each($1)",
    "least",  "min",
    "id",     "INTEGER PRIMARY KEY AUTOINCREMENT",
    "int",    "INTEGER",
    "real",   "REAL",
    NULL};

static hd_sql failed(connection *c) {
  int code = sqlite3_extended_errcode(c->db);
  snprintf(c->base.error, sizeof c->base.error, "%s", sqlite3_errmsg(c->db));
  switch (code & 0xff) {
  case SQLITE_CONSTRAINT:
    return code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY
               ? HD_SQL_CONFLICT
               : HD_SQL_BROKEN;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return HD_SQL_AGAIN;
  case SQLITE_ERROR:
  case SQLITE_MISUSE:
  case SQLITE_MISMATCH:
  case SQLITE_RANGE:
    return HD_SQL_BROKEN;
  default: /* a full disk, an I/O error, a file that is gone or is no database */
    return HD_SQL_DOWN;
  }
}

static void disconnect(hd_connection *base) {
  connection *c = (connection *)base;
  for (int i = 0; i < HD_N_QUERIES; i++) {
    sqlite3_finalize(c->prepared[i]);
    c->prepared[i] = NULL;
  }
  sqlite3_close(c->db);
  c->db = NULL;
}

static hd_sql connect_to(hd_connection *base) {
  static const char first[] =
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
  connection *c = (connection *)base;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  disconnect(base);
  if (sqlite3_open_v2(base->where, &c->db, flags, NULL) == SQLITE_OK &&
      sqlite3_busy_timeout(c->db, 10000) == SQLITE_OK &&
      sqlite3_exec(c->db, first, NULL, NULL, NULL) == SQLITE_OK)
    return HD_SQL_OK;
  snprintf(base->error, sizeof base->error, "%s: %s", base->where, sqlite3_errmsg(c->db));
  return HD_SQL_DOWN;
}

static void bind(sqlite3_stmt *s, const hd_param *params, int n) {
  for (int i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof name, "$%d", i + 1);
    int at = sqlite3_bind_parameter_index(s, name);
    if (params[i].type == 'i')
      sqlite3_bind_int64(s, at, params[i].i);
    else if (params[i].type == 'd')
      sqlite3_bind_double(s, at, params[i].d);
    else /* NULL stays NULL */
      sqlite3_bind_text(s, at, params[i].text, -1, SQLITE_STATIC);
  }
}

static int read_rows(sqlite3_stmt *s, hd_arena *arena, hd_rows *rows) {
  int code, n_cols = sqlite3_column_count(s), cap = 0;
  const char **cell = NULL;
  rows->n_cols = n_cols;
  rows->name = HD_NEW_ARRAY(arena, const char *, n_cols ? n_cols : 1);
  for (int i = 0; i < n_cols; i++)
    rows->name[i] = hd_arena_strdup(arena, sqlite3_column_name(s, i));
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    if ((rows->n + 1) * n_cols > cap) {
      size_t old_bytes = sizeof *cell * (size_t)cap;
      cap = 2 * cap + 8 * n_cols;
      cell = hd_xrealloc(cell, old_bytes, sizeof *cell * (size_t)cap);
    }
    for (int i = 0; i < n_cols; i++) {
      const char *text = (const char *)sqlite3_column_text(s, i);
      cell[rows->n * n_cols + i] = text ? hd_arena_strdup(arena, text) : NULL;
    }
    rows->n++;
  }
  rows->cell = hd_arena_copy(arena, cell, sizeof *cell * (size_t)(rows->n * n_cols));
  hd_free(cell);
  return code;
}

static hd_sql run(hd_connection *base, hd_query query, const char *sql, const hd_param *params,
                  int n_params, hd_arena *arena, hd_rows *rows) {
  connection *c = (connection *)base;
  sqlite3_stmt **s = &c->prepared[query];
  if (!*s && sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
    return failed(c);
  bind(*s, params, n_params);
  hd_sql done = read_rows(*s, arena, rows) == SQLITE_DONE ? HD_SQL_OK : failed(c);
  rows->changed = sqlite3_changes64(c->db);
  sqlite3_reset(*s);
  sqlite3_clear_bindings(*s);
  return done;
}

static hd_sql script(hd_connection *base, const char *sql) {
  connection *c = (connection *)base;
  return sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HD_SQL_OK : failed(c);
}

/* What failed may succeed again on the same handle; this daemon is the only one. */
const hd_driver hd_sqlite_driver = {.words = words,
                                    .begin = "BEGIN IMMEDIATE",
                                    .size = sizeof(connection),
                                    .connect = connect_to,
                                    .disconnect = disconnect,
                                    .run = run,
                                    .script = script};
