/* The SQLite driver: one file, write-ahead log, every commit is synced to disk. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "Store/store_driver.h"
#include "Support/file.h"
#include "Support/memory.h"

/* "HDLD": marks a database of heddled (PRAGMA application_id). */
#define APPLICATION_ID "1212435524"
#define LOOK_SECONDS   0.5
enum { STEPS_BETWEEN_LOOKS = 10000 };

typedef struct connection {
  hd_connection base;
  sqlite3 *db;
  double deadline; /* for checking the owner of the file */
  sqlite3_stmt *prepared[HD_N_QUERIES];
} connection;

static const char *const words[] = {
    "now",    "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "skip_j", "", /* there is only one writer: BEGIN IMMEDIATE */
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
  case SQLITE_NOMEM:
    hd_memory_add_shortages(1);
    return HD_SQL_DOWN;
  default: /* full disk, I/O error, deleted file, not a database */
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

/* ---- owner of the database ---- */

static int is_over(void *user) {
  return hd_clock_seconds() > ((const connection *)user)->deadline;
}

/* Gets the number that a query returns; false if it fails. */
static bool count_of(connection *c, const char *sql, int64_t *n) {
  sqlite3_stmt *s = NULL;
  bool answered = sqlite3_prepare_v2(c->db, sql, -1, &s, NULL) == SQLITE_OK &&
                  sqlite3_step(s) == SQLITE_ROW;
  if (answered)
    *n = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return answered;
}

/* Checks the owner before anything is written. The file must be empty, have heddled's id, or have
 * its tables (older than the id). It must not contain anything that runs when it is read. */
static hd_sql look_whose(connection *c) {
  int64_t id, n_all, n_own, n_foreign = 0;
  bool seen =
      count_of(c, "PRAGMA application_id", &id) &&
      count_of(c, "SELECT count(*) FROM sqlite_schema", &n_all) &&
      count_of(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN"
                  " ('counter', 'tenant', 'token', 'campaign', 'job')", &n_own) &&
      count_of(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"
                  " OR sql LIKE 'CREATE VIRTUAL%'", &n_foreign) &&
      (n_foreign || count_of(c, "SELECT count(*) FROM sqlite_schema s, pragma_table_xinfo(s.name) x"
                                " WHERE s.type = 'table' AND x.hidden", &n_foreign));
  if (!seen)
    return HD_SQL_DOWN;
  bool own = id == atoll(APPLICATION_ID) || (id == 0 && (n_all == 0 || n_own == 5));
  return own && n_foreign == 0 ? HD_SQL_OK : HD_SQL_FOREIGN;
}

static hd_sql check_own(connection *c) {
  /* Disables code in an untrusted file. heddled's own triggers stay enabled, also those of another
   * version. */
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  c->deadline = hd_clock_seconds() + LOOK_SECONDS;
  sqlite3_progress_handler(c->db, STEPS_BETWEEN_LOOKS, is_over, c);
  hd_sql done = look_whose(c);
  sqlite3_progress_handler(c->db, 0, NULL, NULL);
  return done;
}

static hd_sql connect_to(hd_connection *base) {
  static const char first[] =
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
  connection *c = (connection *)base;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  disconnect(base);
  hd_sql done = sqlite3_open_v2(base->where, &c->db, flags, NULL) == SQLITE_OK &&
                        sqlite3_busy_timeout(c->db, 10000) == SQLITE_OK
                    ? check_own(c)
                    : HD_SQL_DOWN;
  if (done == HD_SQL_OK && sqlite3_exec(c->db, first, NULL, NULL, NULL) != SQLITE_OK)
    done = HD_SQL_DOWN;
  hd_memory_add_shortages(done == HD_SQL_DOWN && sqlite3_errcode(c->db) == SQLITE_NOMEM);
  if (done != HD_SQL_OK)
    snprintf(base->error, sizeof base->error, "%s: %s", base->where,
             done == HD_SQL_FOREIGN ?
             "the file belongs to another program, or has views, virtual tables or computed "
             "columns; legal: a file of heddled, or a new file"
                                    : sqlite3_errmsg(c->db));
  return done;
}

/* ---- statements ---- */

static bool bind(sqlite3_stmt *s, const hd_param *params, int n) {
  int code = SQLITE_OK;
  for (int i = 0; i < n && code == SQLITE_OK; i++) {
    char name[16];
    snprintf(name, sizeof name, "$%d", i + 1);
    int at = sqlite3_bind_parameter_index(s, name);
    if (at == 0) /* this dialect's statement does not use it */
      continue;
    if (params[i].type == 'i')
      code = sqlite3_bind_int64(s, at, params[i].i);
    else if (params[i].type == 'd')
      code = sqlite3_bind_double(s, at, params[i].d);
    else /* a NULL text stays NULL */
      code = sqlite3_bind_text(s, at, params[i].text, -1, SQLITE_STATIC);
  }
  return code == SQLITE_OK;
}

static int read_rows(sqlite3_stmt *s, hd_arena *arena, hd_rows *rows) {
  int code, n_cols = sqlite3_column_count(s), cap = 0;
  bool whole = true; /* all non-NULL texts were read */
  const char **cell = NULL;
  rows->n_cols = n_cols;
  rows->name = HD_NEW_ARRAY(arena, const char *, n_cols ? n_cols : 1);
  for (int i = 0; i < n_cols; i++)
    rows->name[i] = hd_arena_strdup(arena, sqlite3_column_name(s, i));
  while (whole && (code = sqlite3_step(s)) == SQLITE_ROW) {
    if ((rows->n + 1) * n_cols > cap) {
      size_t old_bytes = sizeof *cell * (size_t)cap;
      cap = 2 * cap + 8 * n_cols;
      cell = hd_xrealloc(cell, old_bytes, sizeof *cell * (size_t)cap);
    }
    for (int i = 0; i < n_cols; i++) {
      const char *text = (const char *)sqlite3_column_text(s, i);
      whole = whole && (text || sqlite3_column_type(s, i) == SQLITE_NULL);
      cell[rows->n * n_cols + i] = text ? hd_arena_strdup(arena, text) : NULL;
    }
    rows->n++;
  }
  rows->cell = hd_arena_copy(arena, cell, sizeof *cell * (size_t)(rows->n * n_cols));
  hd_free(cell);
  return whole ? code : SQLITE_NOMEM;
}

static hd_sql run(hd_connection *base, hd_query query, const char *sql, const hd_param *params,
                  int n_params, hd_arena *arena, hd_rows *rows) {
  connection *c = (connection *)base;
  sqlite3_stmt **s = &c->prepared[query];
  if (!*s && sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
    return failed(c);
  bool ran = bind(*s, params, n_params) && read_rows(*s, arena, rows) == SQLITE_DONE;
  hd_sql done = ran ? HD_SQL_OK : failed(c);
  rows->changed = sqlite3_changes64(c->db);
  sqlite3_reset(*s);
  sqlite3_clear_bindings(*s);
  return done;
}

static hd_sql script(hd_connection *base, const char *sql) {
  connection *c = (connection *)base;
  return sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HD_SQL_OK : failed(c);
}

/* A failed statement may succeed later on the same handle; there are no other daemons. */
const hd_driver hd_sqlite_driver = {.words = words,
                                    .begin = "BEGIN IMMEDIATE",
                                    .mark = "PRAGMA application_id = " APPLICATION_ID,
                                    .size = sizeof(connection),
                                    .connect = connect_to,
                                    .disconnect = disconnect,
                                    .run = run,
                                    .script = script};
