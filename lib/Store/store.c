#include "Store/store.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Store/store_driver.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/strbuf.h"

struct hd_store {
  const hd_driver *driver;
  hd_connection *connection; /* owned; driver->size bytes */
  char *sql[HD_N_QUERIES];   /* owned; in the dialect of this database */
  bool lost, in_transaction;
};

/* ---- statements ---- */

typedef struct statement {
  hd_query query;
  bool postgresql; /* only for PostgreSQL */
  const char *text;
} statement;

enum { OWN_any = false, OWN_postgresql = true };

static const statement statements[] = {
#define HD_STATEMENT(name, dialect, text) {HD_Q_##name, OWN_##dialect, text},
#include "statements.inc"
#undef HD_STATEMENT
};

/* The columns of a choice (HD_CHOICE_…). The drivers define all other words. */
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

/* The text with words in braces replaced; owned. */
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
  hd_sql done = s->driver->connect(s->connection);
  s->lost = done != HD_SQL_OK;
  s->in_transaction = false;
  return done;
}

static hd_sql result(hd_store *s, hd_sql done) {
  if (done == HD_SQL_DOWN && s->driver->is_lost && s->driver->is_lost(s->connection))
    s->lost = true;
  return done;
}

/* The driver of a URL. *where: a path, a URI of libpq, or the words after the scheme. NULL: unknown
 * scheme. */
static const hd_driver *driver_of(const char *url, const char **where) {
  static const char sqlite[] = "sqlite:", postgresql[] = "postgresql:", uri[] = "postgresql://";
  bool is_sqlite = strncmp(url, sqlite, strlen(sqlite)) == 0;
  if (!is_sqlite && strncmp(url, postgresql, strlen(postgresql)) != 0)
    return NULL;
  *where = strncmp(url, uri, strlen(uri)) == 0 ? url : strchr(url, ':') + 1;
  return is_sqlite ? &hd_sqlite_driver : &hd_postgresql_driver;
}

heddle_status hd_store_open(heddle_context *ctx, const char *url, hd_store **store) {
  const char *where;
  const hd_driver *driver = driver_of(url, &where);
  if (!driver)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "store.url",
                    "got \"%.100s\"; legal: sqlite:PATH, postgresql://USER@HOST/DATABASE; "
                    "nearest: sqlite:heddle.db",
                    url);
  uint64_t before = hd_memory_shortages();
  hd_store *s = hd_try_zalloc(ctx, sizeof *s, "a connection to the database");
  if (!s)
    return HEDDLE_NO_MEMORY;
  s->driver = driver;
  s->connection = hd_xzalloc(driver->size);
  s->connection->where = hd_xstrdup(where);
  prepare_texts(s);
  heddle_status status = HEDDLE_OK;
  hd_sql done = reconnect(s);
  if (done != HD_SQL_OK) {
    bool foreign = done == HD_SQL_FOREIGN;
    status = hd_error(ctx, foreign ? HEDDLE_INVALID : HEDDLE_ENVIRONMENT, HD_NOWHERE,
                      foreign ? "store.foreign" : "store.connect", "cannot open the database: %s",
                      s->connection->error);
  }
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *store = s;
  else
    hd_store_close(s);
  return status;
}

void hd_store_close(hd_store *s) {
  if (!s)
    return;
  s->driver->disconnect(s->connection);
  hd_free(s->connection->where);
  hd_free(s->connection);
  for (int i = 0; i < HD_N_QUERIES; i++)
    hd_free(s->sql[i]);
  hd_free(s);
}

bool hd_store_is_postgresql(const hd_store *s) {
  return s->driver == &hd_postgresql_driver;
}

const char *hd_store_error(const hd_store *s) {
  return s->connection->error;
}

heddle_status hd_store_failed(heddle_context *ctx, const hd_store *s) {
  return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "store.run", "%s", hd_store_error(s));
}

/* ---- running ---- */

hd_sql hd_store_no_memory(hd_store *s) {
  snprintf(s->connection->error, sizeof s->connection->error, "memory ran out");
  return HD_SQL_DOWN;
}

hd_sql hd_store_run(hd_store *s, hd_query query, hd_arena *arena, hd_rows *rows, const char *types,
                    ...) {
  hd_param params[HD_MAX_PARAMS];
  int n = 0;
  uint64_t before = hd_memory_shortages();
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
      hd_memory_add_shortages(json && !text);
      hd_free(text);
    }
    if (p->type == 'j' || (p->type == 'd' && isnan(p->d)))
      p->type = 't';
  }
  va_end(args);
  if (s->lost && (s->in_transaction || reconnect(s) != HD_SQL_OK))
    return HD_SQL_DOWN;
  *rows = (hd_rows){0};
  if (hd_memory_shortages() != before) /* a missing text would be stored as NULL */
    return hd_store_no_memory(s);
  hd_sql done = s->driver->run(s->connection, query, s->sql[query], params, n, arena, rows);
  return done == HD_SQL_OK && hd_memory_shortages() != before ? hd_store_no_memory(s)
                                                              : result(s, done);
}

static hd_sql script(hd_store *s, const char *sql) {
  return result(s, s->driver->script(s->connection, sql));
}

hd_sql hd_store_script(hd_store *s, const char *text) {
  char *sql = in_words_of(s->driver, text);
  hd_sql done = script(s, sql);
  hd_free(sql);
  return done;
}

hd_sql hd_store_mark(hd_store *s) {
  return s->driver->mark ? script(s, s->driver->mark) : HD_SQL_OK;
}

hd_sql hd_store_begin(hd_store *s) {
  if (s->lost && reconnect(s) != HD_SQL_OK)
    return HD_SQL_DOWN;
  hd_sql done = script(s, s->driver->begin);
  if (done != HD_SQL_OK && s->lost && reconnect(s) == HD_SQL_OK) /* an idle connection was closed */
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
  char error[sizeof s->connection->error]; /* keep the first error, which is the cause */
  memcpy(error, s->connection->error, sizeof error);
  if (s->in_transaction && !s->lost && script(s, "ROLLBACK") == HD_SQL_DOWN)
    s->lost = true;
  memcpy(s->connection->error, error, sizeof error);
  s->in_transaction = false;
}

hd_sql hd_store_notify(hd_store *s) {
  return hd_store_is_postgresql(s) && !s->lost ? script(s, "NOTIFY heddle") : HD_SQL_OK;
}

hd_sql hd_store_vacuum(hd_store *s) {
  return hd_store_is_postgresql(s) && !s->lost ? script(s, "VACUUM (SKIP_LOCKED) head")
                                               : HD_SQL_OK;
}

int hd_store_listen(hd_store *s) {
  if (s->lost && reconnect(s) != HD_SQL_OK)
    return -1;
  return s->driver->listen ? s->driver->listen(s->connection) : -1;
}

bool hd_store_heard(hd_store *s) {
  return !s->lost && s->driver->heard && s->driver->heard(s->connection);
}
