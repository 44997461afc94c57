/* Validates bodies and queries with fields.def and routes.def. Refuses the first error, with its
 * location. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Interface/fields.h"
#include "Interface/interface.h"
#include "Interface/product_key.h"
#include "Support/memory.h"
#include "Support/nearest.h"
#include "Support/strbuf.h"

typedef struct check {
  hd_arena *arena;
  hd_problem *problem;
} check;

/* The location of a value; formatted only for a refusal. */
typedef struct place {
  const struct place *up; /* NULL: the outermost */
  const char *name;       /* NULL: an element of a list */
  size_t index;
} place;

static bool check_object(const check *c, const hd_fields *fields, const json_t *json,
                         const place *at);

static void add_path(hd_strbuf *out, const place *at) {
  if (!at)
    return;
  add_path(out, at->up);
  if (at->name)
    hd_strbuf_printf(out, "%s%s", out->len ? "." : "", at->name);
  else
    hd_strbuf_printf(out, "[%zu]", at->index);
}

/* "race.contenders[2].role"; NULL for the outermost object. */
static const char *path_of(const check *c, const place *at) {
  hd_strbuf out = {0};
  add_path(&out, at);
  const char *text = out.len ? hd_arena_strdup(c->arena, out.text) : NULL;
  hd_strbuf_free(&out);
  return text;
}

static bool refuse(const check *c, hd_rule rule, const place *at, const char *value,
                   const char *legal, const char *nearest) {
  *c->problem = (hd_problem){rule, path_of(c, at), value, legal, nearest};
  return false;
}

/* The value as JSON, truncated. */
static const char *shown(const check *c, const json_t *json) {
  char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
  const char *out = hd_arena_printf(c->arena, "%.200s", text ? text : "?");
  hd_free(text);
  return out;
}

static bool wrong_type(const check *c, const place *at, const json_t *json, const char *legal) {
  return refuse(c, HD_RULE_FIELD_TYPE, at, shown(c, json), legal, NULL);
}

/* Checks the bounds of a count; the refusal prints "N UNIT". */
static bool check_count(const check *c, const place *at, size_t n, const char *unit, double least,
                        double most) {
  return ((double)n >= least && (double)n <= most) ||
         refuse(c, HD_RULE_FIELD_VALUE, at, hd_arena_printf(c->arena, "%zu %s", n, unit),
                hd_arena_printf(c->arena, "%.0f to %.0f %s", least, most, unit), NULL);
}

/* ---- single values ---- */

static bool check_key(const check *c, const place *at, const char *text) {
  hd_product_key key;
  hd_key_problem problem = {0};
  if (hd_key_parse(text, &key, &problem))
    return true;
  return refuse(c, HD_RULE_PRODUCT_KEY, at, hd_arena_strdup(c->arena, problem.word), problem.legal,
                *problem.nearest ? hd_arena_strdup(c->arena, problem.nearest) : NULL);
}

/* Iterates over names that are `stride` bytes apart, until NULL or n names (n may be 0). */
typedef struct names {
  const char *const *at;
  size_t stride;
  int n;
} names;

static const char *next_name(void *user) {
  names *all = user;
  if (all->n-- <= 0)
    return NULL;
  const char *name = *all->at;
  all->at = (const char *const *)((const char *)all->at + all->stride);
  return name;
}

/* Refuses a value that is none of the names. */
static bool refuse_name(const check *c, hd_rule rule, const place *at, const char *value,
                        const names *all) {
  hd_strbuf legal = {0};
  names list = *all, near = *all;
  for (const char *name; (name = next_name(&list));)
    hd_strbuf_printf(&legal, "%s%s", legal.len ? ", " : "", name);
  refuse(c, rule, at, value, legal.len ? hd_arena_strdup(c->arena, legal.text) : "none",
         hd_nearest_name(value, next_name, &near));
  hd_strbuf_free(&legal);
  return false;
}

static bool check_word(const check *c, const hd_kind *kind, const place *at, const char *text) {
  const names all = {kind->words, sizeof *kind->words, INT32_MAX};
  for (const char *const *w = kind->words; *w; w++)
    if (strcmp(*w, text) == 0)
      return true;
  return refuse_name(c, HD_RULE_FIELD_VALUE, at, text, &all);
}

static bool check_text(const check *c, const hd_kind *kind, const place *at, const json_t *json,
                       double least, double most) {
  if (!json_is_string(json))
    return wrong_type(c, at, json, kind->type == HD_FIELD_KEY ? "a product key" : "a string");
  const char *text = json_string_value(json);
  if (kind->type == HD_FIELD_WORDS)
    return check_word(c, kind, at, text);
  if (kind->type == HD_FIELD_KEY) /* product keys have their own length limit */
    return check_key(c, at, text);
  if (!check_count(c, at, strlen(text), "bytes", least, most))
    return false;
  return hd_pattern_fits(kind->pattern, text, strlen(text)) ||
         refuse(c, HD_RULE_FIELD_VALUE, at, shown(c, json), kind->pattern, NULL);
}

static bool check_number(const check *c, const hd_kind *kind, const place *at, const json_t *json,
                         double least, double most) {
  bool is_int = kind->type == HD_FIELD_INT;
  if (is_int ? !json_is_integer(json) : !json_is_number(json))
    return wrong_type(c, at, json, is_int ? "an integer" : "a number");
  double x = json_number_value(json);
  if (x >= least && x <= most)
    return true;
  return refuse(c, HD_RULE_FIELD_VALUE, at, shown(c, json),
                hd_arena_printf(c->arena, "%.15g to %.15g", least, most),
                hd_arena_printf(c->arena, "%.15g", x < least ? least : most));
}

static bool check_one(const check *c, const hd_kind *kind, const hd_fields *fields, const place *at,
                      const json_t *json, double least, double most) {
  switch (kind->type) {
  case HD_FIELD_TEXT:
  case HD_FIELD_WORDS:
  case HD_FIELD_KEY:
    return check_text(c, kind, at, json, least, most);
  case HD_FIELD_BOOL:
    return json_is_boolean(json) || wrong_type(c, at, json, "true, false");
  case HD_FIELD_OBJECT:
    return check_object(c, fields, json, at);
  default:
    return check_number(c, kind, at, json, least, most);
  }
}

/* ---- fields and objects ---- */

static bool check_field(const check *c, const hd_field *f, const place *at, const json_t *json) {
  const hd_kind *kind = &f->kind;
  hd_fields fields = {0};
  if (kind->type == HD_FIELD_OBJECT)
    fields = hd_fields_of(kind->object);
  if (!kind->is_list)
    return check_one(c, kind, &fields, at, json, f->least, f->most);
  if (!json_is_array(json))
    return wrong_type(c, at, json, "a list");
  size_t n = json_array_size(json);
  if (!check_count(c, at, n, "elements", f->least, f->most))
    return false;
  for (size_t i = 0; i < n; i++)
    if (!check_one(c, kind, &fields, &(place){at, NULL, i}, json_array_get(json, i), kind->least,
                   kind->most))
      return false;
  return true;
}

/* The index of a field; -1: none has this name. */
static int field_named(const hd_fields *fields, const char *name) {
  for (int i = 0; i < fields->n; i++)
    if (strcmp(fields->list[i].name, name) == 0)
      return i;
  return -1;
}

static bool unknown_field(const check *c, const hd_fields *fields, const char *name,
                          const place *at) {
  const names all = {fields->n ? &fields->list->name : NULL, sizeof *fields->list, fields->n};
  return refuse_name(c, HD_RULE_FIELD_UNKNOWN, at, name, &all);
}

/* values[i]: of field i; NULL: absent. */
static bool check_values(const check *c, const hd_fields *fields, json_t *const *values,
                         const place *at) {
  for (int i = 0; i < fields->n; i++) {
    const hd_field *f = &fields->list[i];
    const place here = {at, f->name, 0};
    if (!values[i] && f->required)
      return refuse(c, HD_RULE_FIELD_MISSING, &here, NULL, f->doc, NULL);
    bool absent = !values[i] || (json_is_null(values[i]) && !f->required);
    if (!absent && !check_field(c, f, &here, values[i]))
      return false;
  }
  return true;
}

static bool check_object(const check *c, const hd_fields *fields, const json_t *json,
                         const place *at) {
  const char *name;
  json_t *value;
  bool ok = true;
  if (!json_is_object(json))
    return wrong_type(c, at, json, "an object");
  /* not of the arena, which a waiting request keeps */
  json_t **values = hd_xzalloc(sizeof *values * (size_t)(fields->n + 1));
  json_object_foreach((json_t *)json, name, value) {
    int i = field_named(fields, name);
    ok = i >= 0 || unknown_field(c, fields, hd_arena_strdup(c->arena, name), at);
    if (!ok)
      break;
    values[i] = value;
  }
  ok = ok && check_values(c, fields, values, at);
  hd_free(values);
  return ok;
}

bool hd_validate(hd_arena *arena, const char *object, const json_t *json, hd_problem *problem) {
  const hd_fields fields = hd_fields_of(object);
  return check_object(&(check){arena, problem}, &fields, json, NULL);
}

/* ---- queries ---- */

/* Converts a query's text to the type of its kind; NULL if it is malformed, and *legal says what is
 * legal. */
static json_t *typed(const hd_field *f, const char *text, const char **legal) {
  char *end;
  *legal = f->kind.type == HD_FIELD_BOOL  ? "0, 1"
           : f->kind.type == HD_FIELD_INT ? "an integer"
                                          : "UTF-8";
  if (f->kind.type == HD_FIELD_BOOL)
    return strcmp(text, "1") == 0 || strcmp(text, "0") == 0 ? json_boolean(*text == '1') : NULL;
  if (f->kind.type != HD_FIELD_INT)
    return json_string(text); /* NULL if not UTF-8 */
  errno = 0;
  long long x = strtoll(text, &end, 10);
  bool digits = *text && (*text != '-' || text[1]) && strspn(text, "-0123456789") == strlen(text);
  return digits && !*end && errno == 0 ? json_integer(x) : NULL;
}

bool hd_validate_query(hd_arena *arena, const hd_route *route, const char *const (*pairs)[2], int n,
                       json_t **query, hd_problem *problem) {
  const check c = {arena, problem};
  const hd_fields fields = hd_query_of(route->name);
  const place all = {NULL, "query", 0};
  const char *legal;
  *query = fields.n ? json_object() : NULL;
  for (int i = 0; i < n; i++) {
    int at = field_named(&fields, pairs[i][0]);
    if (at < 0)
      return unknown_field(&c, &fields, pairs[i][0], &all);
    const hd_field *f = &fields.list[at];
    json_t *value = typed(f, pairs[i][1], &legal);
    if (!value)
      return refuse(&c, HD_RULE_FIELD_TYPE, &(place){NULL, f->name, 0}, pairs[i][1], legal, NULL);
    json_object_set_new(*query, f->name, value);
    if (!check_field(&c, f, &(place){NULL, f->name, 0}, value))
      return false;
  }
  for (int i = 0; i < fields.n; i++) {
    const hd_field *f = &fields.list[i];
    if (f->required && !json_object_get(*query, f->name))
      return refuse(&c, HD_RULE_FIELD_MISSING, &(place){NULL, f->name, 0}, NULL, f->doc, NULL);
  }
  return true;
}

/* ---- validated objects ---- */

const char *hd_text_of(const json_t *object, const char *name, const char *otherwise) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : otherwise;
}

int64_t hd_int_of(const json_t *object, const char *name, int64_t otherwise) {
  const json_t *value = json_object_get(object, name);
  return json_is_integer(value)   ? json_integer_value(value)
         : json_is_boolean(value) ? json_is_true(value)
                                  : otherwise;
}

double hd_num_of(const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
