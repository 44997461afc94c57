/* The OpenAPI 3.1 document, from the tables that router and validation use. */
#include <stdio.h>
#include <string.h>

#include "Interface/fields.h"
#include "Interface/interface.h"

static json_t *reference(const char *object) {
  char text[96];
  snprintf(text, sizeof text, "#/components/schemas/%s", object);
  return json_pack("{ss}", "$ref", text);
}

/* A schema with bounds; bounds are integers if JSON can represent them exactly. */
static json_t *bounded(const char *type, const char *const names[2], double least, double most) {
  json_t *schema = json_pack("{ss}", "type", type);
  const double values[] = {least, most};
  for (int i = 0; i < 2; i++)
    if (values[i] > -9e15 && values[i] < 9e15)
      json_object_set_new(schema, names[i],
                          values[i] == (double)(json_int_t)values[i]
                              ? json_integer((json_int_t)values[i])
                              : json_real(values[i]));
  return schema;
}

static json_t *number_schema(const char *type, double least, double most) {
  static const char *const bounds[] = {"minimum", "maximum"};
  json_t *schema = bounded(type, bounds, least, most);
  if (most >= 9e15)
    json_object_set_new(schema, "format", json_string("int64"));
  return schema;
}

static json_t *one_schema(const hd_kind *kind, double least, double most) {
  static const char *const lengths[] = {"minLength", "maxLength"};
  json_t *schema, *words;
  switch (kind->type) {
  case HD_FIELD_TEXT:
  case HD_FIELD_KEY:
    schema = bounded("string", lengths, least, most);
    if (*kind->pattern)
      json_object_set_new(schema, "pattern", json_string(kind->pattern));
    return schema;
  case HD_FIELD_WORDS:
    words = json_array();
    for (const char *const *w = kind->words; *w; w++)
      json_array_append_new(words, json_string(*w));
    return json_pack("{ss, so}", "type", "string", "enum", words);
  case HD_FIELD_BOOL:
    return json_pack("{ss}", "type", "boolean");
  case HD_FIELD_OBJECT:
    return reference(kind->object);
  default:
    return number_schema(kind->type == HD_FIELD_INT ? "integer" : "number", least, most);
  }
}

static json_t *schema_of(const hd_field *f) {
  static const char *const counts[] = {"minItems", "maxItems"};
  if (!f->kind.is_list)
    return one_schema(&f->kind, f->least, f->most);
  json_t *schema = bounded("array", counts, f->least, f->most);
  json_object_set_new(schema, "items", one_schema(&f->kind, f->kind.least, f->kind.most));
  return schema;
}

/* Unknown fields are refused in bodies and in objects within them; answers may get new fields. */
static bool is_in_body(const char *object) {
  hd_fields f;
  for (int i = 0; i < HD_N_ROUTES; i++)
    if (strcmp(hd_route_get((hd_route_id)i)->body, object) == 0)
      return true;
  for (int i = 0; hd_object_at(i, &f); i++)
    for (int k = 0; k < f.n; k++)
      if (f.list[k].kind.object && strcmp(f.list[k].kind.object, object) == 0 && is_in_body(f.name))
        return true;
  return false;
}

static json_t *schema_of_field(const hd_field *f) {
  json_t *schema = schema_of(f);
  if (*f->doc && !json_object_get(schema, "$ref"))
    json_object_set_new(schema, "description", json_string(f->doc));
  return f->required ? schema : json_pack("{s[o, {ss}]}", "anyOf", schema, "type", "null");
}

static json_t *schemas(void) {
  hd_fields f;
  json_t *all = json_object();
  for (int i = 0; hd_object_at(i, &f); i++) {
    json_t *properties = json_object(), *required = json_array();
    for (int k = 0; k < f.n; k++) {
      json_object_set_new(properties, f.list[k].name, schema_of_field(&f.list[k]));
      if (f.list[k].required)
        json_array_append_new(required, json_string(f.list[k].name));
    }
    json_t *object = json_pack("{ss, ss, so, so}", "type", "object", "description", f.doc,
                               "properties", properties, "required", required);
    if (is_in_body(f.name))
      json_object_set_new(object, "additionalProperties", json_false());
    json_object_set_new(all, f.name, object);
  }
  return all;
}

/* ---- routes ---- */

static void add_query(json_t *parameters, const hd_route *route) {
  const hd_fields fields = hd_query_of(route->name);
  for (int i = 0; i < fields.n; i++) {
    const hd_field *f = &fields.list[i];
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
  if (hd_route_has_body(route))
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
