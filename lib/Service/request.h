/* Service/request.h: one request on its way: what was asked, by whom, and the answer. */
#ifndef HD_REQUEST_H
#define HD_REQUEST_H

#include "Service/shared_text.h"
#include "Service/store.h"
#include "Support/strbuf.h"

typedef struct hd_service hd_service;
struct hd_request;

/* The lines of errors.def. */
typedef enum hd_rule {
#define ERROR(name, rule, status, title) HD_RULE_##name,
#include "Service/errors.def"
  HD_N_RULES
} hd_rule;

typedef struct hd_rule_info {
  const char *rule, *title;
  int status;
} hd_rule_info;
const hd_rule_info *hd_rule_get(hd_rule rule);

/* What a token allows, in the order of routes.def: bits. */
typedef enum hd_scope {
  HD_SCOPE_NONE = 0,
  HD_SCOPE_LOOKUP = 1,
  HD_SCOPE_SUBMIT = 2, /* and to look up */
  HD_SCOPE_WORK = 4,
  HD_SCOPE_ADMIN = 8 /* everything */
} hd_scope;

typedef enum hd_route_id {
#define ROUTE(name, ...) HD_ROUTE_##name,
#define QUERY(...)
#include "Service/routes.def"
  HD_N_ROUTES
} hd_route_id;

enum { HD_MAX_PATH = 2, HD_MAX_QUERY = 6, HD_MAX_SEGMENTS = 5 };

typedef struct hd_route {
  hd_route_id id;
  const char *name, *method, *path, *scope_name, *body, *answer, *summary;
  hd_scope scope;
  size_t max_body;
  void (*run)(struct hd_request *r);
} hd_route;

const hd_route *hd_route_get(hd_route_id id);
/* The route of a method and path, path values put into `path`. NULL: *other says which methods the
 * path has ("" : there is no such path). */
const hd_route *hd_route_find(const char *method, const char *path, int64_t values[HD_MAX_PATH],
                              const char **other);
/* Whether the handler needs no database: it runs at once. */
bool hd_route_is_in_memory(const hd_route *route);

/* Who asks. Without tokens: tenant "default", every scope, no name. */
typedef struct hd_who {
  char name[65], tenant[65];
  unsigned scopes;
} hd_who;

typedef struct hd_request {
  hd_service *service;
  const hd_route *route;
  int64_t path[HD_MAX_PATH];
  char id[17];
  hd_who who;
  json_t *query; /* owned: the parameters, validated and typed; NULL: none */
  json_t *body;  /* owned: the object, validated */
  char *raw;     /* owned: the text that it was read from, for a handler that passes it on */
  double begun;  /* monotonic seconds */

  hd_store *store; /* borrowed while a worker has the request */
  hd_arena arena;  /* ends with the request */
  hd_sql sql;      /* the first statement that was not OK */
  bool begun_tx, rolls_back;
  bool wakes_jobs, wakes_choices; /* what others must hear of after COMMIT */
  int64_t job, lease;             /* for the log line */

  int status;       /* 0: not answered yet */
  const char *rule; /* of a refusal; NULL: none */
  const char *type; /* of the answer */
  char *text;       /* owned; NULL: none */
  size_t n_text;
  hd_shared_text *shared; /* owned reference: the answer instead of text; NULL: none */
  char header_name[24];
  const char *header_value; /* NULL: none; lives in the arena */

  double wait_until;       /* a claim that waits; 0: it does not */
  struct hd_request *next; /* of a queue or waiting list */
  void *connection;        /* the HTTP library's */
} hd_request;

/* Answers with an object (consumed). */
void hd_answer_json(hd_request *r, int status, json_t *object);
void hd_answer_text(hd_request *r, int status, const char *type, char *text);
void hd_answer_nothing(hd_request *r); /* 204 */

/* Refuses; strings may be NULL, and are copied. Returns false, so that a check is one line. */
bool hd_refuse(hd_request *r, hd_rule rule, const char *where, const char *value, const char *legal,
               const char *nearest);
/* Forgets the answer: a transaction is run again. */
void hd_request_reset(hd_request *r);
void hd_request_free(hd_request *r);

/* Validates `json` against an object of fields.def; refuses by the field's name. */
bool hd_validate(hd_request *r, const char *object, const json_t *json);
/* The query's parameters of the route as an object of their types; refuses. */
bool hd_validate_query(hd_request *r, const char *const (*pairs)[2], int n);

/* Runs a statement for a handler. False when it failed: the handler returns, and its caller
 * answers. */
#define HD_RUN(r, query, rows, ...)                                                                \
  hd_sql_ok((r), hd_store_run((r)->store, HD_Q_##query, &(r)->arena, (rows), __VA_ARGS__))
bool hd_sql_ok(hd_request *r, hd_sql sql);
/* Begins the transaction that the request ends with; COMMIT comes after the handler. */
bool hd_begin(hd_request *r);
/* A line of the log of events, in this transaction. */
bool hd_event(hd_request *r, const char *kind, int64_t job, int64_t lease, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Of a validated object. */
const char *hd_text_of(const json_t *object, const char *name, const char *otherwise);
int64_t hd_int_of(const json_t *object, const char *name, int64_t otherwise);
double hd_num_of(const json_t *object, const char *name); /* NaN: absent */

/* One handler for each route. */
#define ROUTE(name, ...) void hd_route_##name(hd_request *r);
#define QUERY(...)
#include "Service/routes.def"

#endif
