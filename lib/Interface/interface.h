/* Interface/interface.h: the HTTP interface: tables of routes, objects and refusals, and validation
 * with them. */
#ifndef HD_INTERFACE_H
#define HD_INTERFACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "Support/arena.h"

/* ---- refusals: the lines of errors.def ---- */

typedef enum hd_rule {
#define ERROR(name, rule, status, title) HD_RULE_##name,
#include "Interface/errors.def"
  HD_N_RULES
} hd_rule;

typedef struct hd_rule_info {
  const char *rule, *title;
  int status;
} hd_rule_info;
const hd_rule_info *hd_rule_get(hd_rule rule);

/* A refusal. Texts may be NULL; they are constants, or allocated in an arena. */
typedef struct hd_problem {
  hd_rule rule;
  const char *where, *value, *legal, *nearest;
} hd_problem;

/* ---- routes: the lines of routes.def ---- */

/* Scopes of a token, as bits. */
typedef enum hd_scope {
  HD_SCOPE_NONE = 0,
  HD_SCOPE_LOOKUP = 1,
  HD_SCOPE_SUBMIT = 2, /* includes lookups */
  HD_SCOPE_WORK = 4,
  HD_SCOPE_ADMIN = 8 /* everything */
} hd_scope;

typedef enum hd_route_id {
#define ROUTE(name, ...) HD_ROUTE_##name,
#define QUERY(...)
#include "Interface/routes.def"
  HD_N_ROUTES
} hd_route_id;

enum { HD_MAX_PATH = 2, HD_MAX_QUERY = 6 };
/* Limit of a path with its query: twice the longest legal one with each byte escaped. */
enum { HD_MAX_URI_BYTES = 4096 };

typedef struct hd_route {
  hd_route_id id;
  const char *name, *method, *path, *scope_name;
  const char *body, *answer, *summary; /* as in the table */
  hd_scope scope;
  size_t max_body;
} hd_route;

const hd_route *hd_route_get(hd_route_id id);
bool hd_route_has_body(const hd_route *route);
/* Whether the handler needs no database; it is then run at once. */
bool hd_route_is_in_memory(const hd_route *route);
/* Finds the route of a method and path, and stores path values to `values`. NULL: *other has the
 * methods of this path ("": unknown path). */
const hd_route *hd_route_find(const char *method, const char *path, int64_t values[HD_MAX_PATH],
                              const char **other);

/* ---- validation ---- */

/* Whether `json` matches an object of fields.def; false: *problem names the first wrong field. */
bool hd_validate(hd_arena *arena, const char *object, const json_t *json, hd_problem *problem);
/* Whether a body of n bytes, followed by NUL, is certainly JSON that matches an object of
 * fields.def: what it accepts, jansson (each name once) and hd_validate accept. False: ask them.
 * *n_elements: the length of the last list that is a field of the object; 0: none. */
bool hd_scan(const char *object, const char *text, size_t n, size_t *n_elements);
/* Converts the query parameters of a route to a typed object (owned; NULL: the route has no
 * parameters). *query is set even if the result is false. */
bool hd_validate_query(hd_arena *arena, const hd_route *route, const char *const (*pairs)[2], int n,
                       json_t **query, hd_problem *problem);

/* Fields of a validated object; a bool is an int of 0 or 1. */
const char *hd_text_of(const json_t *object, const char *name, const char *otherwise);
int64_t hd_int_of(const json_t *object, const char *name, int64_t otherwise);
double hd_num_of(const json_t *object, const char *name); /* NaN: absent */

/* The interface as an OpenAPI 3.1 document; owned. */
char *hd_openapi_text(void);

#endif
