/* Service/request.h: one request on its way: what was asked, by whom, and the answer. */
#ifndef HD_REQUEST_H
#define HD_REQUEST_H

#include "Interface/interface.h"
#include "Service/shared_text.h"
#include "Store/store.h"
#include "Support/strbuf.h"

typedef struct hd_service hd_service;
struct hd_request;

/* Of a handler, or of what happens by itself. */
typedef void hd_handler(struct hd_request *r);

/* Who asks. Without tokens: tenant "default", every scope, no name. */
typedef struct hd_who {
  char name[65], tenant[65];
  unsigned scopes;
} hd_who;

typedef struct hd_request {
  hd_service *service;
  const hd_route *route; /* NULL: it has none, or happens by itself */
  hd_handler *run;
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
  const char *header_name, *header_value; /* NULL: none; the value lives in the arena */

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
bool hd_refuse_problem(hd_request *r, const hd_problem *problem);
/* That there is none with such an id. */
bool hd_refuse_id(hd_request *r, hd_rule rule, int64_t id);
/* A header of the answer, its value as printf makes it. */
void hd_answer_header(hd_request *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Forgets the answer: a transaction is run again. */
void hd_request_reset(hd_request *r);
void hd_request_resume(hd_request *r); /* the answer can be sent */
/* Whether the listener of a request that waits has hung up. */
bool hd_request_is_gone(const hd_request *r);
void hd_request_free(hd_request *r);

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
#include "Interface/routes.def"

#endif
