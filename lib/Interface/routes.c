/* The router: a table of routes.def, found by method and path; and a table of errors.def. */
#include <ctype.h>
#include <string.h>

#include "Interface/interface.h"

static const hd_rule_info rules[] = {
#define ERROR(name, rule, status, title) {rule, title, status},
#include "Interface/errors.def"
};

const hd_rule_info *hd_rule_get(hd_rule rule) {
  return &rules[rule];
}

static const hd_route routes[HD_N_ROUTES] = {
#define ROUTE(name_, method_, path_, scope_, body_, answer_, max_kib, summary_)                    \
  [HD_ROUTE_##name_] = {.id = HD_ROUTE_##name_,                                                    \
                        .name = #name_,                                                            \
                        .method = #method_,                                                        \
                        .path = path_,                                                             \
                        .scope_name = #scope_,                                                     \
                        .body = #body_,                                                            \
                        .answer = #answer_,                                                        \
                        .summary = summary_,                                                       \
                        .scope = HD_SCOPE_##scope_,                                                \
                        .max_body = (size_t)(max_kib)*1024},
#define QUERY(...)
#include "Interface/routes.def"
};

const hd_route *hd_route_get(hd_route_id id) {
  return &routes[id];
}

bool hd_route_has_body(const hd_route *route) {
  return strcmp(route->body, "NONE") != 0;
}

bool hd_route_is_in_memory(const hd_route *route) {
  switch (route->id) {
  case HD_ROUTE_choice:
  case HD_ROUTE_choices:
  case HD_ROUTE_public_key:
  case HD_ROUTE_alive:
  case HD_ROUTE_ready:
  case HD_ROUTE_metrics:
  case HD_ROUTE_openapi:
  case HD_ROUTE_style:
    return true;
  default:
    return false;
  }
}

/* Parses a segment as a positive integer; 0 if it is not one. */
static int64_t number(const char *text, size_t n) {
  int64_t value = 0;
  if (n == 0 || n > 18 || *text == '0')
    return 0;
  for (size_t i = 0; i < n; i++) {
    if (!isdigit((unsigned char)text[i]))
      return 0;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

static bool matches(const char *pattern, const char *path, int64_t values[HD_MAX_PATH]) {
  int n_values = 0;
  while (*pattern && *path) {
    if (*pattern != '{') {
      if (*pattern++ != *path++)
        return false;
      continue;
    }
    size_t n = strcspn(path, "/");
    int64_t value = number(path, n);
    if (!value || n_values == HD_MAX_PATH)
      return false;
    values[n_values++] = value;
    path += n;
    pattern = strchr(pattern, '}') + 1;
  }
  return *pattern == '\0' && *path == '\0';
}

const hd_route *hd_route_find(const char *method, const char *path, int64_t values[HD_MAX_PATH],
                              const char **other) {
  if (strcmp(method, "HEAD") == 0)
    method = "GET";
  *other = "";
  for (int i = 0; i < HD_N_ROUTES; i++) {
    if (!matches(routes[i].path, path, values))
      continue;
    if (strcmp(routes[i].method, method) == 0)
      return &routes[i];
    *other = **other && strcmp(*other, routes[i].method) != 0 ? "GET, POST" : routes[i].method;
  }
  return NULL;
}
