/* The PostgreSQL driver. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Store/store_driver.h"
#include "Support/memory.h"

typedef struct connection {
  hd_connection base;
  PGconn *pg;
  bool prepared[HD_N_QUERIES];
  bool listening;
  bool ending; /* the connection has ended, whatever its status is */
} connection;

static const char *const words[] = {
    "now",    "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    "skip_j", "FOR UPDATE OF j SKIP LOCKED",
    "skip_l", "FOR UPDATE OF l SKIP LOCKED",
    "each",   "jsonb_array_elements_text(CAST($1 AS jsonb))",
    "least",  "least",
    "id",     "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "int",    "BIGINT",
    "real",   "DOUBLE PRECISION",
    NULL};

static void say(connection *c, const char *text) {
  snprintf(c->base.error, sizeof c->base.error, "%s", text);
  c->base.error[strcspn(c->base.error, "\n")] = '\0';
}

/* Classifies an error by its SQLSTATE. */
static hd_sql failed(connection *c, const PGresult *result) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  say(c, PQerrorMessage(c->pg));
  c->ending = !state || strncmp(state, "57P", 3) == 0; /* no state: an error of libpq itself */
  if (c->ending || PQstatus(c->pg) == CONNECTION_BAD)
    return HD_SQL_DOWN;
  if (strcmp(state, "23505") == 0) /* unique_violation */
    return HD_SQL_CONFLICT;
  if (strncmp(state, "40", 2) == 0 || strcmp(state, "55P03") == 0) /* deadlock, lock time-out */
    return HD_SQL_AGAIN;
  static const char *const away[] = {"08", "53", "57", "58", "25006"};
  for (size_t i = 0; i < HD_COUNT(away); i++)
    if (strncmp(state, away[i], strlen(away[i])) == 0)
      return HD_SQL_DOWN;
  return HD_SQL_BROKEN;
}

static hd_sql script(hd_connection *base, const char *sql) {
  connection *c = (connection *)base;
  PGresult *r = PQexec(c->pg, sql);
  ExecStatusType status = PQresultStatus(r);
  bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  hd_sql done = ok ? HD_SQL_OK : failed(c, r);
  if (ok && strcmp(sql, "COMMIT") == 0 && strcmp(PQcmdStatus(r), "COMMIT") != 0) {
    say(c, "the transaction had failed, and was rolled back");
    done = HD_SQL_BROKEN;
  }
  PQclear(r);
  return done;
}

/* Settings of the URI override these. */
/* The library prints notices to stderr, where the log is: a role that does not own a table is told
 * so each time it vacuums it. */
static void ignore_notice(void *unused, const char *text) {
  (void)unused;
  (void)text;
}

static hd_sql connect_to(hd_connection *base) {
  static const char *const keys[] = {"connect_timeout", "tcp_user_timeout", "application_name",
                                     "client_encoding", "dbname",           NULL};
  connection *c = (connection *)base;
  const char *values[] = {"3", "5000", "heddled", "UTF8", c->base.where, NULL};
  PQfinish(c->pg);
  memset(c->prepared, 0, sizeof c->prepared);
  c->listening = c->ending = false;
  c->pg = PQconnectdbParams(keys, values, 1);
  PQsetNoticeProcessor(c->pg, ignore_notice, NULL);
  if (PQstatus(c->pg) != CONNECTION_OK) {
    say(c, PQerrorMessage(c->pg));
    return HD_SQL_DOWN;
  }
  return script(base, "SET client_min_messages = warning; SET statement_timeout = '20s';"
                      "SET idle_in_transaction_session_timeout = '20s'");
}

static void read_rows(const PGresult *r, hd_arena *arena, hd_rows *rows) {
  rows->n = PQntuples(r);
  rows->n_cols = PQnfields(r);
  rows->changed = strtoll(PQcmdTuples((PGresult *)r), NULL, 10);
  rows->name = HD_NEW_ARRAY(arena, const char *, rows->n_cols + 1);
  rows->cell = HD_NEW_ARRAY(arena, const char *, rows->n * rows->n_cols + 1);
  for (int j = 0; j < rows->n_cols; j++)
    rows->name[j] = hd_arena_strdup(arena, PQfname(r, j));
  for (int i = 0; i < rows->n; i++)
    for (int j = 0; j < rows->n_cols; j++)
      if (!PQgetisnull(r, i, j))
        rows->cell[i * rows->n_cols + j] = hd_arena_strdup(arena, PQgetvalue(r, i, j));
}

static hd_sql run(hd_connection *base, hd_query query, const char *sql, const hd_param *params,
                  int n_params, hd_arena *arena, hd_rows *rows) {
  connection *c = (connection *)base;
  const char *values[HD_MAX_PARAMS];
  char name[16];
  for (int i = 0; i < n_params; i++)
    values[i] = params[i].type == 'i'   ? hd_arena_printf(arena, "%lld", (long long)params[i].i)
                : params[i].type == 'd' ? hd_arena_printf(arena, "%.17g", params[i].d)
                                        : params[i].text;
  snprintf(name, sizeof name, "q%d", (int)query);
  if (!c->prepared[query]) {
    PGresult *p = PQprepare(c->pg, name, sql, 0, NULL);
    hd_sql done = PQresultStatus(p) == PGRES_COMMAND_OK ? HD_SQL_OK : failed(c, p);
    PQclear(p);
    if (done != HD_SQL_OK)
      return done;
    c->prepared[query] = true;
  }
  PGresult *r = PQexecPrepared(c->pg, name, n_params, values, NULL, NULL, 0);
  ExecStatusType status = PQresultStatus(r);
  hd_sql done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? HD_SQL_OK : failed(c, r);
  if (done == HD_SQL_OK)
    read_rows(r, arena, rows);
  PQclear(r);
  return done;
}

static bool is_lost(const hd_connection *base) {
  const connection *c = (const connection *)base;
  return c->ending || PQstatus(c->pg) == CONNECTION_BAD;
}

static int listen_to(hd_connection *base) {
  connection *c = (connection *)base;
  if (!c->listening)
    c->listening = script(base, "LISTEN heddle") == HD_SQL_OK;
  return c->listening ? PQsocket(c->pg) : -1;
}

static bool heard(hd_connection *base) {
  connection *c = (connection *)base;
  bool any = false;
  PQconsumeInput(c->pg);
  for (PGnotify *n = PQnotifies(c->pg); n; n = PQnotifies(c->pg)) {
    any |= n->be_pid != PQbackendPID(c->pg); /* its own come back, too */
    PQfreemem(n);
  }
  return any;
}

static void disconnect(hd_connection *base) {
  PQfinish(((connection *)base)->pg);
}

const hd_driver hd_postgresql_driver = {.words = words,
                                        .begin = "BEGIN",
                                        .size = sizeof(connection),
                                        .connect = connect_to,
                                        .disconnect = disconnect,
                                        .run = run,
                                        .script = script,
                                        .is_lost = is_lost,
                                        .listen = listen_to,
                                        .heard = heard};
