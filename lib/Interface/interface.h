/* Interface/interface.h: what crosses HTTP: routes, objects and refusals as tables, and what is
 * checked against them. */
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

/* What was refused. Texts may be NULL; they are constants, or live in an arena. */
typedef struct hd_problem {
  hd_rule rule;
  const char *where, *value, *legal, *nearest;
} hd_problem;

/* ---- routes: the lines of routes.def ---- */

/* What a token allows: bits. */
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
#include "Interface/routes.def"
  HD_N_ROUTES
} hd_route_id;

enum { HD_MAX_PATH = 2, HD_MAX_QUERY = 6 };
/* Of a path with its query: twice what the longest legal one takes with each byte escaped. */
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
/* Whether the handler needs no database: it runs at once. */
bool hd_route_is_in_memory(const hd_route *route);
/* The route of a method and path, path values put into `values`. NULL: *other says which methods
 * the path has ("": there is no such path). */
const hd_route *hd_route_find(const char *method, const char *path, int64_t values[HD_MAX_PATH],
                              const char **other);

/* ---- validation ---- */

/* Whether `json` is an object of fields.def; false: *problem names the first field that is not. */
bool hd_validate(hd_arena *arena, const char *object, const json_t *json, hd_problem *problem);
/* The query's parameters of a route as an object of their types (owned; NULL: the route has none),
 * also when it is false. */
bool hd_validate_query(hd_arena *arena, const hd_route *route, const char *const (*pairs)[2], int n,
                       json_t **query, hd_problem *problem);

/* The interface as OpenAPI 3.1; owned. */
char *hd_openapi_text(void);

#endif
