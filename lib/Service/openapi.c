/* The interface as OpenAPI 3.1, of the same tables as router and validation. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "Service/fields.h"
#include "Service/request.h"
#include "Service/service.h"

static json_t *reference(const char *object) {
  char text[96];
  snprintf(text, sizeof text, "#/components/schemas/%s", object);
  return json_pack("{ss}", "$ref", text);
}

/* A bound as an integer where it is one that JSON has exactly. */
static void set_bound(json_t *schema, const char *name, double value) {
  if (value > -9e15 && value < 9e15)
    json_object_set_new(schema, name,
                        value == (double)(json_int_t)value ? json_integer((json_int_t)value)
                                                           : json_real(value));
}

static json_t *number_schema(const char *type, double least, double most) {
  json_t *schema = json_pack("{ss}", "type", type);
  set_bound(schema, "minimum", least);
  set_bound(schema, "maximum", most);
  if (most >= 9e15)
    json_object_set_new(schema, "format", json_string("int64"));
  return schema;
}

static json_t *text_schema(const hd_field *f, const char *pattern) {
  json_t *schema = json_pack("{ss}", "type", "string");
  set_bound(schema, "minLength", f->kind.type == HD_FIELD_KEY ? 1 : f->least);
  set_bound(schema, "maxLength", f->kind.type == HD_FIELD_KEYS ? 400 : f->most);
  if (*pattern)
    json_object_set_new(schema, "pattern", json_string(pattern));
  return schema;
}

static json_t *words_schema(const hd_field *f) {
  json_t *words = json_array();
  for (const char *const *w = f->kind.words; *w; w++)
    json_array_append_new(words, json_string(*w));
  return json_pack("{ss, so}", "type", "string", "enum", words);
}

static json_t *list_schema(const hd_field *f, json_t *items) {
  json_t *schema = json_pack("{ss, so}", "type", "array", "items", items);
  set_bound(schema, "minItems", f->least);
  set_bound(schema, "maxItems", f->most);
  return schema;
}

static json_t *schema_of(const hd_field *f) {
#define TYPE "(f16|bf16|tf32|e4m3|e5m2|e3m2|e2m3|e2m1|e2m1p|s8|u8|s4|u4|f32|s32|ue8m0|ue4m3)"
#define SIZE "[1-9][0-9]{0,5}"
  static const char key[] = /* sizes of seven digits are legal, too, up to 1048576 */
      "^sm_[1-9][0-9]{1,2}[af]? a=" TYPE " b=" TYPE " acc=" TYPE " d=" TYPE " m=" SIZE " n=" SIZE
      " k=" SIZE " (k|mn)_major (row|col)_major( weights_ready)?$";
  switch (f->kind.type) {
  case HD_FIELD_TEXT:
    return text_schema(f, f->kind.pattern);
  case HD_FIELD_KEY:
    return text_schema(f, key);
  case HD_FIELD_WORDS:
    return words_schema(f);
  case HD_FIELD_INT:
    return number_schema("integer", f->least, f->most);
  case HD_FIELD_NUMBER:
    return number_schema("number", f->least, f->most);
  case HD_FIELD_BOOL:
    return json_pack("{ss}", "type", "boolean");
  case HD_FIELD_INTS:
    return list_schema(f, json_pack("{ss}", "type", "integer"));
  case HD_FIELD_NUMBERS:
    return list_schema(f, number_schema("number", 0, 1e9));
  case HD_FIELD_KEYS:
    return list_schema(f, text_schema(f, key));
  case HD_FIELD_LIST:
    return list_schema(f, reference(f->kind.object));
  case HD_FIELD_ONE:
    return reference(f->kind.object);
  default:
    return json_object();
  }
}

static json_t *described(json_t *schema, const char *doc) {
  if (*doc && !json_object_get(schema, "$ref"))
    json_object_set_new(schema, "description", json_string(doc));
  return schema;
}

/* In bodies unknown names are refused; answers may grow. */
static bool is_body(const char *object) {
  static const char *const nested[] = {"device",    "code", "use",   "measurement",
                                       "contender", "race", "canary"};
  for (int i = 0; i < HD_N_ROUTES; i++)
    if (strcmp(hd_route_get((hd_route_id)i)->body, object) == 0)
      return true;
  for (size_t i = 0; i < HD_COUNT(nested); i++)
    if (strcmp(nested[i], object) == 0)
      return true;
  return false;
}

static json_t *schemas(void) {
  int n;
  const hd_field *list = hd_fields(&n);
  json_t *all = json_object(), *object = NULL, *properties = NULL, *required = NULL;
  for (int i = 0; i < n; i++) {
    const hd_field *f = &list[i];
    if (f->name) {
      json_t *schema = described(schema_of(f), f->doc);
      if (!f->required) /* absent, or null */
        schema = json_pack("{s[o, {ss}]}", "anyOf", schema, "type", "null");
      json_object_set_new(properties, f->name, schema);
      if (f->required)
        json_array_append_new(required, json_string(f->name));
      continue;
    }
    properties = json_object();
    required = json_array();
    object = json_pack("{ss, ss, so, so}", "type", "object", "description", f->doc, "properties",
                       properties, "required", required);
    if (is_body(f->owner))
      json_object_set_new(object, "additionalProperties", json_false());
    json_object_set_new(all, f->owner, object);
  }
  return all;
}

/* ---- routes ---- */

static void add_query(json_t *parameters, const hd_route *route) {
  int n;
  const hd_field *list = hd_query_fields(&n);
  for (int i = 0; i < n; i++) {
    const hd_field *f = &list[i];
    if (strcmp(f->owner, route->name) != 0)
      continue;
    json_t *schema =
        f->kind.type == HD_FIELD_BOOL ? json_pack("{s[ii]}", "enum", 0, 1) : schema_of(f);
    json_array_append_new(parameters, json_pack("{ss, ss, sb, so, ss}", "name", f->name, "in",
                                                "query", "required", (int)f->required, "schema",
                                                schema, "description", f->doc));
  }
}

static void add_path(json_t *parameters, const hd_route *route) {
  for (const char *at = strchr(route->path, '{'); at; at = strchr(at + 1, '{')) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "}"), at + 1);
    json_array_append_new(parameters,
                          json_pack("{ss, ss, sb, so}", "name", name, "in", "path", "required", 1,
                                    "schema", number_schema("integer", 1, 999999999999999)));
  }
}

static json_t *answer_of(const hd_route *route) {
  if (strcmp(route->answer, "NONE") == 0)
    return json_pack("{ss}", "description", "done");
  const char *type = strcmp(route->answer, "PAGE") == 0   ? "text/html"
                     : strcmp(route->answer, "TEXT") == 0 ? "text/plain"
                                                          : "application/json";
  bool is_json = strcmp(type, "application/json") == 0;
  if (route->id == HD_ROUTE_style)
    type = "text/css";
  return json_pack("{ss, s{s{so}}}", "description", route->summary, "content", type, "schema",
                   is_json && strcmp(route->answer, "any") != 0 ? reference(route->answer)
                                                                : json_object());
}

static json_t *operation(const hd_route *route) {
  json_t *parameters = json_array(), *answers = json_object();
  add_path(parameters, route);
  add_query(parameters, route);
  json_object_set_new(answers,
                      strcmp(route->answer, "NONE") == 0 ? "204"
                      : route->id == HD_ROUTE_claim      ? "201"
                                                         : "200",
                      answer_of(route));
  if (route->id == HD_ROUTE_claim)
    json_object_set_new(answers, "204", json_pack("{ss}", "description", "there is no job"));
  if (hd_route_is_in_memory(route))
    json_object_set_new(answers, "304", json_pack("{ss}", "description", "not modified"));
  json_object_set_new(answers, "default",
                      json_pack("{ss, s{s{so}}}", "description", "refused", "content",
                                "application/problem+json", "schema", reference("problem")));
  json_t *out = json_pack("{ss, ss, so, so}", "operationId", route->name, "summary", route->summary,
                          "parameters", parameters, "responses", answers);
  if (strcmp(route->body, "NONE") != 0)
    json_object_set_new(out, "requestBody",
                        json_pack("{sb, s{s{so}}}", "required", 1, "content", "application/json",
                                  "schema", reference(route->body)));
  if (route->scope != HD_SCOPE_NONE)
    json_object_set_new(out, "security", json_pack("[{s[s]}]", "token", route->scope_name));
  return out;
}

char *hd_openapi_text(void) {
  json_t *paths = json_object();
  for (int i = 0; i < HD_N_ROUTES; i++) {
    const hd_route *route = hd_route_get((hd_route_id)i);
    json_t *path = json_object_get(paths, route->path);
    if (!path) {
      path = json_object();
      json_object_set_new(paths, route->path, path);
    }
    json_object_set_new(path, strcmp(route->method, "GET") == 0 ? "get" : "post", operation(route));
  }
  json_t *root =
      json_pack("{ss, s{ss, ss, ss}, so, s{so, s{s{ss, ss}}}}", "openapi", "3.1.0", "info", "title",
                "Heddle tuning service", "version", "1", "description",
                "docs/service.md is the protocol", "paths", paths, "components", "schemas",
                schemas(), "securitySchemes", "token", "type", "http", "scheme", "bearer");
  char *text = json_dumps(root, JSON_INDENT(1));
  json_decref(root);
  return text;
}
