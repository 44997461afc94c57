/* SQLite behind store.c: one file, write-ahead log, every commit on disk. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/store_driver.h"
#include "Support/memory.h"

typedef struct connection {
  char *path; /* owned */
  sqlite3 *db;
  sqlite3_stmt *prepared[HD_N_QUERIES];
} connection;

static const char *const words[] = {
    "now",    "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "skip_j", "", /* one writer at a time: BEGIN IMMEDIATE */
    "skip_l", "",
    "each",   "json_each($1)",
    "least",  "min",
    NULL};

void *hd_sqlite_create(const char *path) {
  connection *c = hd_xzalloc(sizeof *c);
  c->path = hd_xstrdup(path);
  return c;
}

static hd_sql failed(connection *c, char *error, size_t n) {
  int code = sqlite3_extended_errcode(c->db);
  snprintf(error, n, "%s", sqlite3_errmsg(c->db));
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

static void disconnect(connection *c) {
  for (int i = 0; i < HD_N_QUERIES; i++) {
    sqlite3_finalize(c->prepared[i]);
    c->prepared[i] = NULL;
  }
  sqlite3_close(c->db);
  c->db = NULL;
}

static hd_sql connect_to(void *user, char *error, size_t n) {
  connection *c = user;
  disconnect(c);
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(c->path, &c->db, flags, NULL) != SQLITE_OK) {
    snprintf(error, n, "%s: %s", c->path, sqlite3_errmsg(c->db));
    return HD_SQL_DOWN;
  }
  sqlite3_busy_timeout(c->db, 10000);
  if (sqlite3_exec(
          c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
          NULL, NULL, NULL) != SQLITE_OK) {
    snprintf(error, n, "%s: %s", c->path, sqlite3_errmsg(c->db));
    return HD_SQL_DOWN;
  }
  return HD_SQL_OK;
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

static hd_sql run(void *user, hd_query query, const char *sql, const hd_param *params, int n_params,
                  hd_arena *arena, hd_rows *rows, char *error, size_t n) {
  connection *c = user;
  sqlite3_stmt **s = &c->prepared[query];
  if (!*s && sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
    return failed(c, error, n);
  bind(*s, params, n_params);
  hd_sql done = read_rows(*s, arena, rows) == SQLITE_DONE ? HD_SQL_OK : failed(c, error, n);
  rows->changed = sqlite3_changes64(c->db);
  sqlite3_reset(*s);
  sqlite3_clear_bindings(*s);
  return done;
}

static hd_sql script(void *user, const char *sql, char *error, size_t n) {
  connection *c = user;
  return sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HD_SQL_OK : failed(c, error, n);
}

static bool is_lost(void *user) {
  (void)user; /* what failed may succeed again on the same handle */
  return false;
}

static int no_socket(void *user) {
  (void)user;
  return -1;
}

static bool heard_nothing(void *user) {
  (void)user;
  return false;
}

static void close_it(void *user) {
  connection *c = user;
  disconnect(c);
  hd_free(c->path);
  hd_free(c);
}

const hd_driver hd_sqlite_driver = {.words = words,
                                    .connect = connect_to,
                                    .run = run,
                                    .script = script,
                                    .begin = "BEGIN IMMEDIATE",
                                    .is_lost = is_lost,
                                    .listen = no_socket,
                                    .heard = heard_nothing,
                                    .close = close_it};
