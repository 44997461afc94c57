/* Bodies and queries against fields.def and routes.def: the first breach is refused by its place.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/fields.h"
#include "Service/product_key.h"
#include "Service/request.h"
#include "Support/memory.h"
#include "Support/nearest.h"

/* Where a value stands: made into a text only when it is refused. */
typedef struct place {
  const struct place *up; /* NULL: the outermost */
  const char *name;       /* NULL: an element of a list */
  size_t index;
} place;

typedef struct object_fields {
  const hd_field *list;
  int n;
} object_fields;

static bool validate_object(hd_request *r, const object_fields *fields, const json_t *json,
                            const place *at);

static object_fields fields_of(const char *object) {
  object_fields f;
  f.list = hd_fields_of(object, &f.n);
  return f;
}

static void add_path(hd_strbuf *out, const place *at) {
  if (!at)
    return;
  add_path(out, at->up);
  if (at->name)
    hd_strbuf_printf(out, "%s%s", out->len ? "." : "", at->name);
  else
    hd_strbuf_printf(out, "[%zu]", at->index);
}

/* As "race.contenders[2].role"; NULL for the outermost object. */
static const char *path_of(hd_request *r, const place *at) {
  hd_strbuf out = {0};
  add_path(&out, at);
  const char *text = out.len ? hd_arena_strdup(&r->arena, out.text) : NULL;
  hd_strbuf_free(&out);
  return text;
}

/* What was found, as JSON, cut off. */
static const char *shown(hd_request *r, const json_t *json) {
  char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
  const char *out = hd_arena_printf(&r->arena, "%.200s", text ? text : "?");
  hd_free(text);
  return out;
}

static bool wrong_type(hd_request *r, const place *at, const json_t *json, const char *legal) {
  return hd_refuse(r, HD_RULE_FIELD_TYPE, path_of(r, at), shown(r, json), legal, NULL);
}

/* ---- texts ---- */

static bool check_key(hd_request *r, const place *at, const char *text) {
  hd_product_key key;
  hd_key_problem problem = {0};
  if (hd_key_parse(text, &key, &problem))
    return true;
  return hd_refuse(r, HD_RULE_PRODUCT_KEY, path_of(r, at), problem.word, problem.legal,
                   *problem.nearest ? problem.nearest : NULL);
}

static const char *next_word(void *user) {
  return *(*(const char *const **)user)++;
}

static bool check_word(hd_request *r, const hd_field *f, const place *at, const char *text) {
  hd_strbuf legal = {0};
  const char *const *w = f->kind.words, *const *first = f->kind.words;
  for (; *w; w++) {
    if (strcmp(*w, text) == 0)
      return hd_strbuf_free(&legal), true;
    hd_strbuf_printf(&legal, "%s%s", w == first ? "" : ", ", *w);
  }
  const char *nearest = hd_nearest_name(text, next_word, &first);
  hd_refuse(r, HD_RULE_FIELD_VALUE, path_of(r, at), text, hd_strbuf_text(&legal), nearest);
  hd_strbuf_free(&legal);
  return false;
}

static bool check_text(hd_request *r, const hd_field *f, const place *at, const json_t *json) {
  if (!json_is_string(json))
    return wrong_type(r, at, json, "a string");
  const char *text = json_string_value(json);
  size_t n = strlen(text);
  if (f->kind.type == HD_FIELD_WORDS)
    return check_word(r, f, at, text);
  if ((double)n < f->least || (double)n > f->most)
    return hd_refuse(r, HD_RULE_FIELD_VALUE, path_of(r, at),
                     hd_arena_printf(&r->arena, "%zu bytes", n),
                     hd_arena_printf(&r->arena, "%.0f to %.0f bytes", f->least, f->most), NULL);
  if (f->kind.type == HD_FIELD_KEY)
    return check_key(r, at, text);
  if (!hd_kind_has(&f->kind, text))
    return hd_refuse(r, HD_RULE_FIELD_VALUE, path_of(r, at), shown(r, json), f->kind.pattern, NULL);
  return true;
}

/* ---- numbers ---- */

static bool check_number(hd_request *r, const hd_field *f, const place *at, const json_t *json) {
  bool is_int = f->kind.type == HD_FIELD_INT || f->kind.type == HD_FIELD_INTS;
  if (is_int ? !json_is_integer(json) : !json_is_number(json))
    return wrong_type(r, at, json, is_int ? "an integer" : "a number");
  double x = json_number_value(json);
  if (x >= f->least && x <= f->most)
    return true;
  return hd_refuse(r, HD_RULE_FIELD_VALUE, path_of(r, at), shown(r, json),
                   hd_arena_printf(&r->arena, "%.15g to %.15g", f->least, f->most),
                   hd_arena_printf(&r->arena, "%.15g", x < f->least ? f->least : f->most));
}

/* ---- lists ---- */

static bool check_element(hd_request *r, const hd_field *f, const object_fields *fields,
                          const place *at, const json_t *json) {
  if (f->kind.type == HD_FIELD_LIST)
    return validate_object(r, fields, json, at);
  if (f->kind.type != HD_FIELD_KEYS)
    return check_number(r, f, at, json);
  if (!json_is_string(json))
    return wrong_type(r, at, json, "a product key");
  return check_key(r, at, json_string_value(json));
}

static bool check_list(hd_request *r, const hd_field *f, const place *at, const json_t *list) {
  hd_field element = *f;
  object_fields fields = {0};
  if (!json_is_array(list))
    return wrong_type(r, at, list, "a list");
  size_t n = json_array_size(list);
  if ((double)n < f->least || (double)n > f->most)
    return hd_refuse(r, HD_RULE_FIELD_VALUE, path_of(r, at),
                     hd_arena_printf(&r->arena, "%zu elements", n),
                     hd_arena_printf(&r->arena, "%.0f to %.0f elements", f->least, f->most), NULL);
  if (f->kind.type == HD_FIELD_NUMBERS) { /* their own range: times */
    element.least = 0;
    element.most = 1e9;
  }
  if (f->kind.type == HD_FIELD_LIST)
    fields = fields_of(f->kind.object);
  for (size_t i = 0; i < n; i++)
    if (!check_element(r, &element, &fields, &(place){at, NULL, i}, json_array_get(list, i)))
      return false;
  return true;
}

/* ---- objects ---- */

static bool check_field(hd_request *r, const hd_field *f, const place *at, const json_t *json) {
  switch (f->kind.type) {
  case HD_FIELD_TEXT:
  case HD_FIELD_WORDS:
  case HD_FIELD_KEY:
    return check_text(r, f, at, json);
  case HD_FIELD_INT:
  case HD_FIELD_NUMBER:
    return check_number(r, f, at, json);
  case HD_FIELD_BOOL:
    return json_is_boolean(json) || wrong_type(r, at, json, "true, false");
  case HD_FIELD_ONE: {
    object_fields fields = fields_of(f->kind.object);
    return validate_object(r, &fields, json, at);
  }
  case HD_FIELD_ANY:
    return true;
  default:
    return check_list(r, f, at, json);
  }
}

typedef struct names {
  const hd_field *list;
  int i, n;
} names;

static const char *next_name(void *user) {
  names *n = user;
  return n->i < n->n ? n->list[n->i++].name : NULL;
}

static bool unknown_field(hd_request *r, const object_fields *fields, const char *name,
                          const char *where) {
  const hd_field *list = fields->list;
  int n = fields->n;
  hd_strbuf legal = {0};
  names all = {list, 0, n};
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(&legal, "%s%s", i ? ", " : "", list[i].name);
  hd_refuse(r, HD_RULE_FIELD_UNKNOWN, where, name, n ? hd_strbuf_text(&legal) : "none",
            hd_nearest_name(name, next_name, &all));
  hd_strbuf_free(&legal);
  return false;
}

static const hd_field *field_named(const hd_field *list, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(list[i].name, name) == 0)
      return &list[i];
  return NULL;
}

static bool validate_object(hd_request *r, const object_fields *fields, const json_t *json,
                            const place *at) {
  const char *name;
  json_t *value;
  if (!json_is_object(json))
    return wrong_type(r, at, json, "an object");
  json_object_foreach((json_t *)json, name, value) {
    if (!field_named(fields->list, fields->n, name))
      return unknown_field(r, fields, name, path_of(r, at));
  }
  for (int i = 0; i < fields->n; i++) {
    const hd_field *f = &fields->list[i];
    const json_t *field = json_object_get(json, f->name);
    place here = {at, f->name, 0};
    if (!field && f->required)
      return hd_refuse(r, HD_RULE_FIELD_MISSING, path_of(r, &here), NULL, f->doc, NULL);
    bool absent = !field || (json_is_null(field) && !f->required);
    if (!absent && !check_field(r, f, &here, field))
      return false;
  }
  return true;
}

bool hd_validate(hd_request *r, const char *object, const json_t *json) {
  object_fields fields = fields_of(object);
  return validate_object(r, &fields, json, NULL);
}

/* ---- queries ---- */

/* A text of a query as what its kind wants; NULL: it is none such. */
static json_t *typed(const hd_field *f, const char *text) {
  char *end;
  if (f->kind.type == HD_FIELD_BOOL)
    return strcmp(text, "1") == 0 || strcmp(text, "0") == 0 ? json_boolean(*text == '1') : NULL;
  if (f->kind.type != HD_FIELD_INT)
    return json_string(text); /* NULL for what is no UTF-8 */
  errno = 0;
  long long x = strtoll(text, &end, 10);
  bool digits = *text && (*text != '-' || text[1]) && strspn(text, "-0123456789") == strlen(text);
  return digits && !*end && errno == 0 ? json_integer(x) : NULL;
}

bool hd_validate_query(hd_request *r, const char *const (*pairs)[2], int n_pairs) {
  int n, first = 0, mine = 0;
  const hd_field *all = hd_query_fields(&n);
  while (first < n && strcmp(all[first].owner, r->route->name) != 0)
    first++;
  while (first + mine < n && strcmp(all[first + mine].owner, r->route->name) == 0)
    mine++;
  all += first;
  if (mine)
    r->query = json_object();
  for (int i = 0; i < n_pairs; i++) {
    const hd_field *f = field_named(all, mine, pairs[i][0]);
    if (!f)
      return unknown_field(r, &(object_fields){all, mine}, pairs[i][0], "query");
    json_t *value = typed(f, pairs[i][1] ? pairs[i][1] : "");
    if (!value)
      return hd_refuse(r, HD_RULE_FIELD_TYPE, f->name, pairs[i][1],
                       f->kind.type == HD_FIELD_BOOL  ? "0, 1"
                       : f->kind.type == HD_FIELD_INT ? "an integer"
                                                      : "UTF-8",
                       NULL);
    json_object_set_new(r->query, f->name, value);
    if (!check_field(r, f, &(place){NULL, f->name, 0}, value))
      return false;
  }
  for (int i = 0; i < mine; i++)
    if (all[i].required && !json_object_get(r->query, all[i].name))
      return hd_refuse(r, HD_RULE_FIELD_MISSING, all[i].name, NULL, all[i].doc, NULL);
  return true;
}
