/* Versions of the schema: schema/NNN.sql, with NNN_postgresql.sql and NNN_sqlite.sql where the
 * databases differ. The line `-- oldest: N` is the oldest daemon that can use the tables from this
 * version on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Store/store.h"
#include "Support/diag.h"

typedef struct schema {
  const char *name, *text;
} schema;

static const schema schemas[] = {
#define HD_SCHEMA(name, text) {#name, text},
#include "schemas.inc"
#undef HD_SCHEMA
};

static const char *text_of(int version, const char *dialect) {
  char name[32];
  snprintf(name, sizeof name, "%03d%s", version, dialect);
  for (size_t i = 0; i < HD_COUNT(schemas); i++)
    if (strcmp(schemas[i].name, name) == 0)
      return schemas[i].text;
  return NULL;
}

int hd_schema_version(void) {
  int version = 0;
  while (text_of(version + 1, ""))
    version++;
  return version;
}

/* Reads "-- oldest: N": daemons with a schema below N cannot use these tables. */
static int64_t oldest_of(int version) {
  static const char mark[] = "-- oldest: ";
  return strtoll(strstr(text_of(version, ""), mark) + strlen(mark), NULL, 10);
}

/* Reads the schema version of the database (0: none), and the oldest version that can use it. */
static hd_sql read_version(hd_store *s, int64_t *version, int64_t *oldest) {
  hd_arena arena = {0};
  hd_rows rows;
  *version = *oldest = 0;
  hd_sql done = hd_store_run(s, HD_Q_schema_there, &arena, &rows, "");
  if (done == HD_SQL_OK && hd_cell_int(&rows, 0, 0)) {
    done = hd_store_run(s, HD_Q_schema_get, &arena, &rows, "");
    for (int i = 0; i < rows.n; i++)
      *(strcmp(hd_cell_text(&rows, i, 0), "schema") == 0 ? version : oldest) =
          hd_cell_int(&rows, i, 1);
  }
  hd_arena_free(&arena);
  return done;
}

static hd_sql upgrade(hd_store *s, int from, int to) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = HD_SQL_OK;
  for (int v = from + 1; v <= to && done == HD_SQL_OK; v++) {
    const char *own = text_of(v, hd_store_is_postgresql(s) ? "_postgresql" : "_sqlite");
    done = hd_store_script(s, text_of(v, ""));
    if (done == HD_SQL_OK && own)
      done = hd_store_script(s, own);
  }
  if (done == HD_SQL_OK)
    done = hd_store_run(s, HD_Q_schema_set, &arena, &rows, "ti", "schema", (int64_t)to);
  if (done == HD_SQL_OK)
    done = hd_store_run(s, HD_Q_schema_set, &arena, &rows, "ti", "schema_oldest", oldest_of(to));
  if (done == HD_SQL_OK)
    done = hd_store_mark(s);
  hd_arena_free(&arena);
  return done;
}

heddle_status hd_store_migrate(heddle_context *ctx, hd_store *s, int version) {
  int newest = hd_schema_version(), to = version ? version : newest;
  int64_t now = 0, oldest = 0;
  hd_sql done = hd_store_begin(s);
  if (done == HD_SQL_OK && hd_store_is_postgresql(s)) /* two daemons may start at the same time */
    done = hd_store_script(s, "SELECT pg_advisory_xact_lock(1751476332)");
  if (done == HD_SQL_OK)
    done = read_version(s, &now, &oldest);
  if (done == HD_SQL_OK && now < to)
    done = upgrade(s, (int)now, to);
  if (done == HD_SQL_OK)
    done = hd_store_commit(s);
  hd_store_rollback(s);
  if (done != HD_SQL_OK)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "store.migrate",
                    "cannot bring the database to schema %d: %s", to, hd_store_error(s));
  if (oldest > newest)
    return hd_error(
        ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "store.schema",
        "the database has schema %lld; legal: daemons of schema %lld and later, this one is of %d",
        (long long)now, (long long)oldest, newest);
  return HEDDLE_OK;
}

heddle_status hd_store_backup(heddle_context *ctx, hd_store *s, const char *path) {
  hd_arena arena = {0};
  hd_rows rows;
  if (hd_store_is_postgresql(s))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "store.backup",
                    "PostgreSQL has its own; legal: pg_dump, pg_basebackup");
  hd_sql done = hd_store_run(s, HD_Q_backup, &arena, &rows, "t", path);
  hd_arena_free(&arena);
  return done == HD_SQL_OK ? HEDDLE_OK
                           : hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "store.backup",
                                      "cannot write %s: %s", path, hd_store_error(s));
}
