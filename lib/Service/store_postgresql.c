/* PostgreSQL behind store.c. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/store_driver.h"
#include "Support/memory.h"

typedef struct connection {
  char *uri; /* owned */
  PGconn *pg;
  bool prepared[HD_N_QUERIES];
  bool listening;
  bool ending; /* this connection answers no more, whatever its status says */
} connection;

static const char *const words[] = {
    "now",    "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    "skip_j", "FOR UPDATE OF j SKIP LOCKED",
    "skip_l", "FOR UPDATE OF l SKIP LOCKED",
    "each",   "jsonb_array_elements_text(CAST($1 AS jsonb))",
    "least",  "least",
    NULL};

void *hd_postgresql_create(const char *uri) {
  connection *c = hd_xzalloc(sizeof *c);
  c->uri = hd_xstrdup(uri);
  return c;
}

static void say(char *error, size_t n, const char *text) {
  snprintf(error, n, "%s", text);
  error[strcspn(error, "\n")] = '\0';
}

/* By the class of its SQLSTATE. */
static hd_sql failed(connection *c, const PGresult *result, char *error, size_t n) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  say(error, n, PQerrorMessage(c->pg));
  c->ending = !state || strncmp(state, "57P", 3) == 0; /* without a state it is libpq's own error */
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

static hd_sql script(void *user, const char *sql, char *error, size_t n) {
  connection *c = user;
  PGresult *r = PQexec(c->pg, sql);
  ExecStatusType status = PQresultStatus(r);
  bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  hd_sql done = ok ? HD_SQL_OK : failed(c, r, error, n);
  if (ok && strcmp(sql, "COMMIT") == 0 && strcmp(PQcmdStatus(r), "COMMIT") != 0) {
    say(error, n, "the transaction had failed, and was rolled back");
    done = HD_SQL_BROKEN;
  }
  PQclear(r);
  return done;
}

/* What the URI says stands over these. */
static hd_sql connect_to(void *user, char *error, size_t n) {
  static const char *const keys[] = {"connect_timeout", "tcp_user_timeout", "application_name",
                                     "client_encoding", "dbname",           NULL};
  connection *c = user;
  const char *values[] = {"3", "5000", "heddled", "UTF8", c->uri, NULL};
  PQfinish(c->pg);
  memset(c->prepared, 0, sizeof c->prepared);
  c->listening = c->ending = false;
  c->pg = PQconnectdbParams(keys, values, 1);
  if (PQstatus(c->pg) != CONNECTION_OK) {
    say(error, n, PQerrorMessage(c->pg));
    return HD_SQL_DOWN;
  }
  return script(c,
                "SET client_min_messages = warning; SET statement_timeout = '20s';"
                "SET idle_in_transaction_session_timeout = '20s'",
                error, n);
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

static hd_sql run(void *user, hd_query query, const char *sql, const hd_param *params, int n_params,
                  hd_arena *arena, hd_rows *rows, char *error, size_t n) {
  connection *c = user;
  const char *values[HD_MAX_PARAMS];
  char name[16];
  for (int i = 0; i < n_params; i++)
    values[i] = params[i].type == 'i'   ? hd_arena_printf(arena, "%lld", (long long)params[i].i)
                : params[i].type == 'd' ? hd_arena_printf(arena, "%.17g", params[i].d)
                                        : params[i].text;
  snprintf(name, sizeof name, "q%d", (int)query);
  if (!c->prepared[query]) {
    PGresult *p = PQprepare(c->pg, name, sql, 0, NULL);
    hd_sql done = PQresultStatus(p) == PGRES_COMMAND_OK ? HD_SQL_OK : failed(c, p, error, n);
    PQclear(p);
    if (done != HD_SQL_OK)
      return done;
    c->prepared[query] = true;
  }
  PGresult *r = PQexecPrepared(c->pg, name, n_params, values, NULL, NULL, 0);
  ExecStatusType status = PQresultStatus(r);
  hd_sql done =
      status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? HD_SQL_OK : failed(c, r, error, n);
  if (done == HD_SQL_OK)
    read_rows(r, arena, rows);
  PQclear(r);
  return done;
}

static bool is_lost(void *user) {
  const connection *c = user;
  return c->ending || PQstatus(c->pg) == CONNECTION_BAD;
}

static int listen_to(void *user) {
  connection *c = user;
  char error[256];
  if (!c->listening)
    c->listening = script(c, "LISTEN heddle", error, sizeof error) == HD_SQL_OK;
  return c->listening ? PQsocket(c->pg) : -1;
}

static bool heard(void *user) {
  connection *c = user;
  bool any = false;
  PQconsumeInput(c->pg);
  for (PGnotify *n = PQnotifies(c->pg); n; n = PQnotifies(c->pg)) {
    any = true;
    PQfreemem(n);
  }
  return any;
}

static void close_it(void *user) {
  connection *c = user;
  PQfinish(c->pg);
  hd_free(c->uri);
  hd_free(c);
}

const hd_driver hd_postgresql_driver = {.words = words,
                                        .connect = connect_to,
                                        .run = run,
                                        .script = script,
                                        .begin = "BEGIN",
                                        .is_lost = is_lost,
                                        .listen = listen_to,
                                        .heard = heard,
                                        .close = close_it};
