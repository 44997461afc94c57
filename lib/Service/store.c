#include "Service/store.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "Service/store_driver.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/strbuf.h"

struct hd_store {
  const hd_driver *driver;
  void *connection;        /* owned */
  char *sql[HD_N_QUERIES]; /* owned; of this database */
  bool lost, in_transaction;
  char error[512];
};

/* ---- statements ---- */

typedef struct statement {
  hd_query query;
  bool postgresql; /* its own form */
  const char *text;
} statement;

enum { OWN_any = false, OWN_postgresql = true };

static const statement statements[] = {
#define HD_STATEMENT(name, dialect, text) {HD_Q_##name, OWN_##dialect, text},
#include "statements.inc"
#undef HD_STATEMENT
};

/* The columns of a choice, of which each driver's words tell the rest. */
static const char choice_columns[] =
    "c.product, c.class, c.policy, c.version AS \"version:int\", h.serial AS \"serial:int\","
    " c.schedule, c.default_schedule, c.us AS \"us:num\", c.default_us AS \"default_us:num\","
    " CASE WHEN c.mode = 'alone' THEN c.us END AS \"sustained_us:num\","
    " CASE WHEN c.mode = 'alone' THEN c.default_us END AS \"default_sustained_us:num\","
    " c.mode, c.device, c.driver, c.at AS \"date:day\", c.build, c.cubin,"
    " c.lease AS \"lease:int\", c.origin,"
    " CASE WHEN h.version = c.version THEN h.pinned ELSE 0 END AS \"pinned:bool\"";

static const char *word_of(const hd_driver *driver, const char *begin, size_t n) {
  if (n == strlen("choice") && strncmp(begin, "choice", n) == 0)
    return choice_columns;
  for (const char *const *w = driver->words; *w; w += 2)
    if (strlen(*w) == n && strncmp(*w, begin, n) == 0)
      return w[1];
  return NULL;
}

/* The text with its words in braces replaced; owned. */
static char *in_words_of(const hd_driver *driver, const char *text) {
  hd_strbuf out = {0};
  for (const char *at = text; *at;) {
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    const char *word = end ? word_of(driver, at + 1, (size_t)(end - at - 1)) : NULL;
    if (word)
      hd_strbuf_add(&out, word);
    else
      hd_strbuf_addn(&out, at, 1);
    at = word ? end + 1 : at + 1;
  }
  return hd_strbuf_take(&out);
}

static void prepare_texts(hd_store *s) {
  for (size_t i = 0; i < HD_COUNT(statements); i++) {
    const statement *t = &statements[i];
    if (t->postgresql && s->driver != &hd_postgresql_driver)
      continue;
    hd_free(s->sql[t->query]);
    s->sql[t->query] = in_words_of(s->driver, t->text);
  }
}

/* ---- connection ---- */

static hd_sql reconnect(hd_store *s) {
  hd_sql done = s->driver->connect(s->connection, s->error, sizeof s->error);
  s->lost = done != HD_SQL_OK;
  s->in_transaction = false;
  return done;
}

static hd_sql result(hd_store *s, hd_sql done) {
  if (done == HD_SQL_DOWN && s->driver->is_lost(s->connection))
    s->lost = true;
  return done;
}

heddle_status hd_store_open(heddle_context *ctx, const char *url, hd_store **store) {
  static const char sqlite[] = "sqlite:", postgresql[] = "postgresql:", uri[] = "postgresql://";
  bool is_sqlite = strncmp(url, sqlite, strlen(sqlite)) == 0;
  if (!is_sqlite && strncmp(url, postgresql, strlen(postgresql)) != 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "store.url",
                    "got \"%.100s\"; legal: sqlite:PATH, postgresql://USER@HOST/DATABASE; "
                    "nearest: sqlite:heddle.db",
                    url);
  hd_store *s = hd_try_zalloc(ctx, sizeof *s, "a connection to the database");
  if (!s)
    return HEDDLE_NO_MEMORY;
  s->driver = is_sqlite ? &hd_sqlite_driver : &hd_postgresql_driver;
  if (is_sqlite)
    s->connection = hd_sqlite_create(url + strlen(sqlite));
  else /* a URI as it is, else the words behind the scheme */
    s->connection =
        hd_postgresql_create(strncmp(url, uri, strlen(uri)) == 0 ? url : url + strlen(postgresql));
  prepare_texts(s);
  if (reconnect(s) != HD_SQL_OK) {
    heddle_status status = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "store.connect",
                                    "cannot open the database: %s", s->error);
    hd_store_close(s);
    return status;
  }
  *store = s;
  return HEDDLE_OK;
}

void hd_store_close(hd_store *s) {
  if (!s)
    return;
  s->driver->close(s->connection);
  for (int i = 0; i < HD_N_QUERIES; i++)
    hd_free(s->sql[i]);
  hd_free(s);
}

bool hd_store_is_postgresql(const hd_store *s) {
  return s->driver == &hd_postgresql_driver;
}

const char *hd_store_error(const hd_store *s) {
  return s->error;
}

/* ---- running ---- */

hd_sql hd_store_run(hd_store *s, hd_query query, hd_arena *arena, hd_rows *rows, const char *types,
                    ...) {
  hd_param params[HD_MAX_PARAMS];
  int n = 0;
  va_list args;
  va_start(args, types);
  for (; types[n]; n++) {
    hd_param *p = &params[n];
    *p = (hd_param){.type = types[n]};
    if (p->type == 'i')
      p->i = va_arg(args, int64_t);
    else if (p->type == 'd')
      p->d = va_arg(args, double);
    else if (p->type == 't')
      p->text = va_arg(args, const char *);
    else {
      const json_t *json = va_arg(args, const json_t *);
      char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
      p->text = text ? hd_arena_strdup(arena, text) : NULL;
      hd_free(text);
    }
    if (p->type == 'j' || (p->type == 'd' && isnan(p->d)))
      p->type = 't';
  }
  va_end(args);
  if (s->lost && (s->in_transaction || reconnect(s) != HD_SQL_OK))
    return HD_SQL_DOWN;
  *rows = (hd_rows){0};
  return result(s, s->driver->run(s->connection, query, s->sql[query], params, n, arena, rows,
                                  s->error, sizeof s->error));
}

static hd_sql script(hd_store *s, const char *sql) {
  return result(s, s->driver->script(s->connection, sql, s->error, sizeof s->error));
}

hd_sql hd_store_begin(hd_store *s) {
  if (s->lost && reconnect(s) != HD_SQL_OK)
    return HD_SQL_DOWN;
  hd_sql done = script(s, s->driver->begin);
  if (done != HD_SQL_OK && s->lost && reconnect(s) == HD_SQL_OK) /* it was idle, and cut */
    done = script(s, s->driver->begin);
  s->in_transaction = done == HD_SQL_OK;
  return done;
}

hd_sql hd_store_commit(hd_store *s) {
  hd_sql done = s->lost ? HD_SQL_DOWN : script(s, "COMMIT");
  if (done != HD_SQL_OK)
    hd_store_rollback(s);
  s->in_transaction = false;
  return done;
}

void hd_store_rollback(hd_store *s) {
  char error[sizeof s->error]; /* the first one tells why */
  if (s->in_transaction && !s->lost &&
      s->driver->script(s->connection, "ROLLBACK", error, sizeof error) == HD_SQL_DOWN)
    s->lost = true;
  s->in_transaction = false;
}

hd_sql hd_store_notify(hd_store *s) {
  return hd_store_is_postgresql(s) && !s->lost ? script(s, "NOTIFY heddle") : HD_SQL_OK;
}

int hd_store_listen(hd_store *s) {
  if (s->lost && reconnect(s) != HD_SQL_OK)
    return -1;
  return s->driver->listen(s->connection);
}

bool hd_store_heard(hd_store *s) {
  return !s->lost && s->driver->heard(s->connection);
}

/* ---- schema ---- */

typedef struct schema {
  const char *name, *text;
} schema;

static const schema schemas[] = {
#define HD_SCHEMA(name, text) {#name, text},
#include "schemas.inc"
#undef HD_SCHEMA
};

static const char *schema_text(const hd_store *s, int version) {
  char name[32];
  snprintf(name, sizeof name, "%s_%03d", hd_store_is_postgresql(s) ? "postgresql" : "sqlite",
           version);
  for (size_t i = 0; i < HD_COUNT(schemas); i++)
    if (strcmp(schemas[i].name, name) == 0)
      return schemas[i].text;
  return NULL;
}

/* Of the database: its schema, 0 for none, and the oldest that a daemon must know to work with it.
 */
static hd_sql read_version(hd_store *s, int64_t *version, int64_t *oldest) {
  hd_arena arena = {0};
  hd_rows rows;
  *version = *oldest = 0;
  hd_sql done = hd_store_run(s, HD_Q_schema_there, &arena, &rows, "");
  if (done == HD_SQL_OK && hd_cell_int(&rows, 0, 0)) {
    done = hd_store_run(s, HD_Q_schema_get, &arena, &rows, "");
    for (int i = 0; i < rows.n; i++)
      if (strcmp(hd_cell_text(&rows, i, 0), "schema") == 0)
        *version = hd_cell_int(&rows, i, 1);
      else
        *oldest = hd_cell_int(&rows, i, 1);
  }
  hd_arena_free(&arena);
  return done;
}

/* What each version is the first to ask of a daemon: below `oldest` it cannot work with the tables.
 * A version that only adds keeps the oldest of the one before it. */
static const int oldest_of[HD_SCHEMA_VERSION + 1] = {[1] = 1};

static hd_sql upgrade(hd_store *s, int64_t from, int64_t to) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = HD_SQL_OK;
  for (int64_t v = from + 1; v <= to && done == HD_SQL_OK; v++)
    done = script(s, schema_text(s, (int)v));
  if (done == HD_SQL_OK)
    done = hd_store_run(s, HD_Q_schema_set, &arena, &rows, "ti", "schema", to);
  if (done == HD_SQL_OK)
    done = hd_store_run(s, HD_Q_schema_set, &arena, &rows, "ti", "schema_oldest",
                        (int64_t)oldest_of[to]);
  hd_arena_free(&arena);
  return done;
}

heddle_status hd_store_migrate(heddle_context *ctx, hd_store *s, int version) {
  int64_t to = version ? version : HD_SCHEMA_VERSION, now = 0, oldest = 0;
  hd_sql done = hd_store_begin(s);
  if (done == HD_SQL_OK && hd_store_is_postgresql(s)) /* two daemons that start at the same time */
    done = script(s, "SELECT pg_advisory_xact_lock(1751476332)");
  if (done == HD_SQL_OK)
    done = read_version(s, &now, &oldest);
  if (done == HD_SQL_OK && now < to)
    done = upgrade(s, now, to);
  if (done == HD_SQL_OK)
    done = hd_store_commit(s);
  hd_store_rollback(s);
  if (done != HD_SQL_OK)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "store.migrate",
                    "cannot bring the database to schema %lld: %s", (long long)to, s->error);
  if (oldest > HD_SCHEMA_VERSION)
    return hd_error(
        ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "store.schema",
        "the database has schema %lld; legal: daemons of schema %lld and later, this one "
        "is of %d",
        (long long)now, (long long)oldest, HD_SCHEMA_VERSION);
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
                                      "cannot write %s: %s", path, s->error);
}

/* ---- rows ---- */

const char *hd_cell(const hd_rows *r, int row, int col) {
  return row < r->n && col < r->n_cols ? r->cell[row * r->n_cols + col] : NULL;
}

const char *hd_cell_text(const hd_rows *r, int row, int col) {
  const char *text = hd_cell(r, row, col);
  return text ? text : "";
}

int64_t hd_cell_int(const hd_rows *r, int row, int col) {
  return strtoll(hd_cell_text(r, row, col), NULL, 10);
}

double hd_cell_num(const hd_rows *r, int row, int col) {
  return strtod(hd_cell_text(r, row, col), NULL);
}

void hd_time_format(int64_t ms, char out[32]) {
  time_t seconds = (time_t)(ms / 1000);
  struct tm tm;
  gmtime_r(&seconds, &tm);
  size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out + n, 32 - n, ".%03dZ", (int)(ms % 1000));
}

static json_t *typed(const char *type, const char *text) {
  char time[32];
  if (strcmp(type, "int") == 0)
    return json_integer(strtoll(text, NULL, 10));
  if (strcmp(type, "num") == 0)
    return json_real(strtod(text, NULL));
  if (strcmp(type, "bool") == 0)
    return json_boolean(strtoll(text, NULL, 10) != 0);
  if (strcmp(type, "json") == 0)
    return json_loads(text, JSON_DECODE_ANY, NULL);
  hd_time_format(strtoll(text, NULL, 10), time);
  return json_stringn(time, strcmp(type, "day") == 0 ? 10 : strlen(time));
}

json_t *hd_row_json(const hd_rows *r, int row) {
  json_t *object = json_object();
  for (int i = 0; i < r->n_cols; i++) {
    const char *text = hd_cell(r, row, i), *type = strchr(r->name[i], ':');
    char name[64];
    if (!text)
      continue;
    snprintf(name, sizeof name, "%.*s", type ? (int)(type - r->name[i]) : 63, r->name[i]);
    json_object_set_new(object, name, type ? typed(type + 1, text) : json_string(text));
  }
  return object;
}

json_t *hd_rows_json(const hd_rows *r) {
  json_t *list = json_array();
  for (int i = 0; i < r->n; i++)
    json_array_append_new(list, hd_row_json(r, i));
  return list;
}
