/* Opens the database: checks its owner and version, and runs statements on untrusted files. */
#include "Tune/records_sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/strbuf.h"

/* "HDLR": identifies the tuner's databases (PRAGMA application_id) from version 3 on. */
#define APPLICATION_ID "1212435538"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS run(id TEXT PRIMARY KEY NOT NULL, started TEXT NOT NULL,"
    " device TEXT NOT NULL CHECK(device <> ''), driver TEXT NOT NULL, power_limit_w REAL,"
    " heddle TEXT NOT NULL, spec TEXT NOT NULL, seed INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS measurement(run TEXT NOT NULL, product TEXT NOT NULL,"
    " schedule TEXT NOT NULL, final INTEGER NOT NULL CHECK(final IN (0, 1)),"
    " verdict TEXT NOT NULL"
    " CHECK(verdict IN ('ok', 'wrong', 'refused', 'failed', 'crash', 'hang'))," /* ORDER VERDICTS */
    " why TEXT, us REAL, us_min REAL, us_max REAL, predicted_us REAL, error REAL,"
    " power_w REAL, sm_mhz INTEGER, at TEXT NOT NULL, sustained_us REAL,"
    " PRIMARY KEY(product, schedule, run, final));"
    "CREATE TABLE IF NOT EXISTS choice(run TEXT NOT NULL, product TEXT NOT NULL,"
    " schedule TEXT NOT NULL, us REAL NOT NULL, default_schedule TEXT NOT NULL,"
    " default_us REAL NOT NULL, n_legal INTEGER NOT NULL, n_measured INTEGER NOT NULL,"
    " at TEXT NOT NULL, sustained_us REAL, default_sustained_us REAL,"
    " PRIMARY KEY(product, run));"
    "PRAGMA application_id = " APPLICATION_ID ";"
    "PRAGMA user_version = 3;";

/* Upgrades from each version to the next. New columns come last, because ALTER TABLE appends them.
 * Version 3 has the columns of version 2, but its constraints reject incomplete rows (an earlier
 * bug stored rows without device or verdict if memory ran out); the upgrade drops such rows. */
static const char *const upgrades[HD_RECORDS_VERSION] = {
    [1] = "ALTER TABLE measurement ADD COLUMN sustained_us REAL;"
          "ALTER TABLE choice ADD COLUMN sustained_us REAL;"
          "ALTER TABLE choice ADD COLUMN default_sustained_us REAL;",
    [2] = "ALTER TABLE run RENAME TO run_2; ALTER TABLE measurement RENAME TO measurement_2;"
          "ALTER TABLE choice RENAME TO choice_2;"};
static const char copy_from_2[] =
    "INSERT OR IGNORE INTO run SELECT * FROM run_2;"
    "INSERT OR IGNORE INTO measurement SELECT * FROM measurement_2 ORDER BY rowid;"
    "INSERT OR IGNORE INTO choice SELECT * FROM choice_2 ORDER BY rowid;"
    "DROP TABLE run_2; DROP TABLE measurement_2; DROP TABLE choice_2;";

const hd_records_lack hd_records_lacks[HD_RECORDS_VERSION + 1] = {
    [1] = {", NULL AS sustained_us", ", NULL AS sustained_us, NULL AS default_sustained_us"},
    [2] = {"", ""},
    [3] = {"", ""}};

/* ---- SQLite ---- */

/* Generous: a statement over all measurements of a year takes a fraction of PATIENCE_SECONDS. */
#define PATIENCE_SECONDS 10.0
#define OPEN_SECONDS     0.5
enum { STEPS_BETWEEN_LOOKS = 10000, MAX_VALUE_BYTES = 16 << 20 };

static void be_patient(hd_records *r) {
  r->deadline = hd_clock_seconds() + r->patience;
}

/* SQLite's progress handler: aborts a statement that an untrusted file keeps from ending. */
static int is_over(void *user) {
  const hd_records *r = user;
  return hd_clock_seconds() > r->deadline;
}

/* Reports SQLite's error: HEDDLE_NO_MEMORY; HEDDLE_INVALID for a damaged file or a timeout; else
 * HEDDLE_ENVIRONMENT. */
static heddle_status sqlite_error(heddle_context *ctx, const hd_records *r, const char *what) {
  int whole = sqlite3_extended_errcode(r->db), code = whole & 0xff;
  bool malformed = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
  hd_loc loc = {.file = sqlite3_db_filename(r->db, "main")};
  if (code == SQLITE_NOMEM || whole == SQLITE_IOERR_NOMEM)
    return hd_error(ctx, HEDDLE_NO_MEMORY, loc, "memory.size", "no memory to %s", what);
  if (code == SQLITE_INTERRUPT)
    return hd_error(ctx, HEDDLE_INVALID, loc, "records.endless",
                    "it takes longer than %g s to %s; legal: a file of `heddle tune --db`",
                    r->patience, what);
  return hd_error(ctx, malformed ? HEDDLE_INVALID : HEDDLE_ENVIRONMENT, loc, "records.sql",
                  "cannot %s: %s%s", what, sqlite3_errmsg(r->db),
                  code == SQLITE_NOTADB ? "; legal: a file of `heddle tune --db`" : "");
}

heddle_status hd_records_prepare(heddle_context *ctx, hd_records *r, sqlite3_stmt **s,
                                 const char *sql, const char *types, ...) {
  va_list args;
  int code = SQLITE_OK;
  be_patient(r);
  if (sqlite3_prepare_v2(r->db, sql, -1, s, NULL) != SQLITE_OK)
    return sqlite_error(ctx, r, "prepare a statement");
  va_start(args, types);
  for (int i = 1; *types && code == SQLITE_OK; i++, types++)
    if (*types == 't')
      code = sqlite3_bind_text(*s, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
    else if (*types == 'i')
      code = sqlite3_bind_int64(*s, i, va_arg(args, int64_t));
    else
      code = sqlite3_bind_double(*s, i, va_arg(args, double));
  va_end(args);
  if (code == SQLITE_OK)
    return HEDDLE_OK;
  heddle_status status = sqlite_error(ctx, r, "bind a value");
  sqlite3_finalize(*s);
  *s = NULL;
  return status;
}

heddle_status hd_records_finish(heddle_context *ctx, hd_records *r, sqlite3_stmt *s,
                                const char *what) {
  int code = sqlite3_step(s);
  heddle_status status = code == SQLITE_DONE ? HEDDLE_OK : sqlite_error(ctx, r, what);
  sqlite3_finalize(s);
  return status;
}

heddle_status hd_records_next(heddle_context *ctx, const hd_records *r, sqlite3_stmt *s,
                              bool *row) {
  *row = false;
  if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
    return sqlite_error(ctx, r, "read");
  int code = sqlite3_step(s);
  *row = code == SQLITE_ROW;
  return *row || code == SQLITE_DONE ? HEDDLE_OK : sqlite_error(ctx, r, "read");
}

const char *hd_records_text(sqlite3_stmt *s, int column) {
  const unsigned char *text = sqlite3_column_text(s, column);
  return text ? (const char *)text : "";
}

heddle_status hd_records_execute(heddle_context *ctx, hd_records *r, const char *sql,
                                 const char *what) {
  be_patient(r);
  return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HEDDLE_OK
                                                                 : sqlite_error(ctx, r, what);
}

/* ---- open ---- */

/* user_version: 0 for a file without tables, else the version of the schema; -1: unreadable. */
static int version_of(hd_records *r) {
  sqlite3_stmt *s;
  if (hd_records_prepare(NULL, r, &s, "PRAGMA user_version", "") != HEDDLE_OK)
    return -1;
  int version = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : -1;
  sqlite3_finalize(s);
  return version;
}

static heddle_status make_tables(heddle_context *ctx, hd_records *r) {
  int before = version_of(r); /* another process may have upgraded the file meanwhile */
  for (int v = before; v > 0 && v < HD_RECORDS_VERSION; v++)
    HD_TRY(hd_records_execute(ctx, r, upgrades[v], "upgrade the database"));
  HD_TRY(hd_records_execute(ctx, r, schema, "make the tables"));
  return before > 0 && before < HD_RECORDS_VERSION
             ? hd_records_execute(ctx, r, copy_from_2, "upgrade the database")
             : HEDDLE_OK;
}

/* Upgrades the file to the current version in one transaction. */
static heddle_status prepare_to_write(heddle_context *ctx, hd_records *r, const char *path) {
  if (sqlite3_db_readonly(r->db, "main"))
    return hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = path}, "records.readonly",
                    "the file can be read, but not written; legal: a copy of it as --db");
  if (r->version == HD_RECORDS_VERSION)
    return HEDDLE_OK;
  HD_TRY(hd_records_execute(ctx, r, "BEGIN IMMEDIATE", "make the tables"));
  heddle_status status = make_tables(ctx, r);
  if (status == HEDDLE_OK)
    status = hd_records_execute(ctx, r, "COMMIT", "make the tables");
  if (status != HEDDLE_OK)
    sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

/* Does not modify the file: tables in memory, with the current columns, shadow those of version
 * 1. */
static heddle_status prepare_to_read(heddle_context *ctx, hd_records *r, const char *path) {
  if (r->version == 0)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "records.version",
                    "the file has no records: got version 0; legal: 1 to %d", HD_RECORDS_VERSION);
  if (r->version >= 2) /* has the current columns */
    return HEDDLE_OK;
  hd_strbuf sql = {0};
  hd_strbuf_printf(&sql,
                   "PRAGMA temp_store = MEMORY;"
                   "CREATE TEMP TABLE measurement AS SELECT *%s FROM main.measurement"
                   " ORDER BY rowid;"
                   "CREATE TEMP TABLE choice AS SELECT *%s FROM main.choice ORDER BY rowid;",
                   hd_records_lacks[r->version].measurement, hd_records_lacks[r->version].choice);
  heddle_status status = hd_records_execute(ctx, r, hd_strbuf_text(&sql), "read the database");
  hd_strbuf_free(&sql);
  return status;
}

/* Runs a query that returns one number. */
static heddle_status count_of(heddle_context *ctx, hd_records *r, const char *sql, int64_t *n) {
  sqlite3_stmt *s;
  bool row;
  HD_TRY(hd_records_prepare(ctx, r, &s, sql, ""));
  heddle_status status = hd_records_next(ctx, r, s, &row);
  *n = row ? sqlite3_column_int64(s, 0) : 0;
  sqlite3_finalize(s);
  return status;
}

/* Checks that the file is a database of the tuner: its id (0 before version 3), and only plain
 * tables, without views, triggers or computed columns, which would run code when read. */
static heddle_status check_own(heddle_context *ctx, hd_records *r, const char *path) {
  static const char tables[] = "('run', 'measurement', 'choice')";
  char sql[400];
  hd_loc loc = {.file = path};
  int64_t id = 0, n_foreign = 0;
  HD_TRY(count_of(ctx, r, "PRAGMA application_id", &id));
  if (id != (r->version >= 3 ? atoll(APPLICATION_ID) : 0))
    return hd_error(ctx, HEDDLE_INVALID, loc, "records.foreign",
                    "the file belongs to another program: got application id %lld, version %d; "
                    "legal: a file of `heddle tune --db`",
                    (long long)id, r->version);
  snprintf(sql, sizeof sql,
           "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')"
           " OR sql LIKE 'CREATE VIRTUAL%%' OR (name NOT IN %s AND type = 'table'"
           " AND name NOT LIKE 'sqlite_%%')",
           tables);
  HD_TRY(count_of(ctx, r, sql, &n_foreign));
  for (const char *name = "run\0measurement\0choice\0"; *name && n_foreign == 0;
       name += strlen(name) + 1) {
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_xinfo('%s') WHERE hidden", name);
    HD_TRY(count_of(ctx, r, sql, &n_foreign));
  }
  if (n_foreign)
    return hd_error(ctx, HEDDLE_INVALID, loc, "records.foreign",
                    "the file has views, triggers, other tables or computed columns; legal: a file "
                    "of `heddle tune --db`");
  return HEDDLE_OK;
}

/* Refuses later versions, whose columns are unknown. */
static heddle_status identify(heddle_context *ctx, hd_records *r, const char *path) {
  r->version = version_of(r);
  if (r->version < 0)
    return sqlite_error(ctx, r, "read the database");
  if (r->version > HD_RECORDS_VERSION)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = path}, "records.version",
                    "got records of version %d; legal: up to %d", r->version, HD_RECORDS_VERSION);
  return check_own(ctx, r, path);
}

/* What is read before the first write is of one moment: another process may upgrade the file. */
static heddle_status prepare_schema(heddle_context *ctx, hd_records *r, const char *path,
                                    bool write) {
  HD_TRY(hd_records_execute(ctx, r, "BEGIN", "read the database"));
  heddle_status status = identify(ctx, r, path);
  if (status == HEDDLE_OK && !write)
    status = prepare_to_read(ctx, r, path);
  if (status == HEDDLE_OK)
    status = hd_records_execute(ctx, r, "COMMIT", "read the database");
  if (status != HEDDLE_OK)
    sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
  return status == HEDDLE_OK && write ? prepare_to_write(ctx, r, path) : status;
}

/* Hardens the connection against untrusted files: no triggers, views or functions of the schema
 * run, the schema cannot be corrupted, and sizes and times are limited. */
static void distrust(hd_records *r) {
  sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(r->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
  sqlite3_progress_handler(r->db, STEPS_BETWEEN_LOOKS, is_over, r);
}

/* Reading opens read-write, too: SQLite may have to roll back a killed writer's transaction. */
heddle_status hd_records_open_file(heddle_context *ctx, hd_records *r, const char *path,
                                   bool write) {
  int flags = SQLITE_OPEN_READWRITE | (write ? SQLITE_OPEN_CREATE : 0);
  int code = sqlite3_open_v2(path, &r->db, flags, NULL);
  if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
    return hd_error(ctx, HEDDLE_NO_MEMORY, (hd_loc){.file = path}, "memory.size",
                    "no memory to open the database");
  if (code != SQLITE_OK)
    return hd_error(ctx, write ? HEDDLE_ENVIRONMENT : HEDDLE_NOT_FOUND, (hd_loc){.file = path},
                    "records.open", "cannot open it: %s", sqlite3_errmsg(r->db));
  sqlite3_busy_timeout(r->db, 10000);
  distrust(r);
  r->patience = OPEN_SECONDS;
  heddle_status status = prepare_schema(ctx, r, path, write);
  r->patience = PATIENCE_SECONDS;
  return status;
}
