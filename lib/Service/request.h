/* Service/request.h: a request: its contents, its sender, and the answer. */
#ifndef HD_REQUEST_H
#define HD_REQUEST_H

#include "Interface/interface.h"
#include "Service/shared_text.h"
#include "Store/store.h"
#include "Support/strbuf.h"

typedef struct hd_service hd_service;
struct hd_request;

/* Handles a request, or does a part of the keeper's work. */
typedef void hd_handler(struct hd_request *r);

/* The sender. Without tokens: tenant "default", every scope, no name. */
typedef struct hd_who {
  char name[65], tenant[65];
  unsigned scopes;
} hd_who;

typedef struct hd_request {
  hd_service *service;
  const hd_route *route; /* NULL: unknown route, or the keeper's work */
  hd_handler *run;
  int64_t path[HD_MAX_PATH];
  char id[17];
  hd_who who;
  json_t *query; /* owned: validated and typed parameters; NULL: none */
  json_t *body;  /* owned: the validated object; NULL: none, or only raw */
  char *raw;     /* owned: measurements as text; NULL: another route */
  size_t n_rows; /* of raw */
  double begun;  /* monotonic seconds */

  hd_store *store; /* borrowed while a worker handles the request */
  hd_arena arena;  /* freed with the request */
  hd_sql sql;      /* the first result that was not OK */
  bool begun_tx, rolls_back;
  bool wakes_jobs, wakes_choices; /* others to notify after COMMIT */
  int64_t job, lease;             /* for the log line */

  int status;       /* 0: not answered yet */
  const char *rule; /* rule of a refusal; NULL: none */
  const char *type; /* content type of the answer */
  char *text;       /* owned; NULL: none */
  size_t n_text;
  hd_shared_text *shared; /* owned reference: sent instead of text; NULL: none */
  const char *header_name, *header_value; /* NULL: none; the value is in the arena */

  double wait_until;       /* end of a claim's wait; 0: it does not wait */
  struct hd_request *next; /* in a queue or waiting list */
  void *connection;        /* of the HTTP library */
} hd_request;

/* Answers with an object (consumed). */
void hd_answer_json(hd_request *r, int status, json_t *object);
void hd_answer_text(hd_request *r, int status, const char *type, char *text);
void hd_answer_nothing(hd_request *r); /* 204 */

/* Refuses the request. Strings may be NULL, and are copied. Returns false, for checks in one
 * line. */
bool hd_refuse(hd_request *r, hd_rule rule, const char *where, const char *value, const char *legal,
               const char *nearest);
bool hd_refuse_problem(hd_request *r, const hd_problem *problem);
/* Refuses an unknown id. */
bool hd_refuse_id(hd_request *r, hd_rule rule, int64_t id);
/* Sets a header of the answer, formatted as by printf. */
void hd_answer_header(hd_request *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Clears the answer, before a transaction is repeated. */
void hd_request_reset(hd_request *r);
void hd_request_resume(hd_request *r); /* the answer can be sent */
/* Whether the client of a waiting request has closed the connection. */
bool hd_request_is_gone(const hd_request *r);
void hd_request_free(hd_request *r);

/* Runs a statement for a handler. If it returns false, the statement failed: the handler returns,
 * and its caller answers. */
#define HD_RUN(r, query, rows, ...)                                                                \
  hd_sql_ok((r), hd_store_run((r)->store, HD_Q_##query, &(r)->arena, (rows), __VA_ARGS__))
bool hd_sql_ok(hd_request *r, hd_sql sql);
/* Begins the transaction of the request; the caller commits after the handler. */
bool hd_begin(hd_request *r);
/* Adds an event in this transaction. */
bool hd_event(hd_request *r, const char *kind, int64_t job, int64_t lease, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* One handler for each route. */
#define ROUTE(name, ...) void hd_route_##name(hd_request *r);
#define QUERY(...)
#include "Interface/routes.def"

#endif
