/* Manifest <-> JSON, both directions driven by manifest_fields. Paths in messages look like
 * variant[0].tmap[1].box. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "Kernel/manifest_fields.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/strbuf.h"

/* The first key of the file. */
#define VERSION_KEY "heddle_manifest"

/* Writing. The json_… calls below return NULL only if memory is exhausted. jansson propagates the
 * NULL, and the error is reported once, at the end. */

static json_t *write_record(const hd_field *fields, const void *base);
static json_t *write_field(const hd_field *field, const void *base);

static int32_t list_count(const hd_field *field, const void *base) {
  int32_t n;
  memcpy(&n, (const char *)base + field->count_offset, sizeof n);
  return n;
}

static bool is_scalar_list(const hd_field *field) { return field->record[0].key[0] == '\0'; }

static json_t *write_list(const hd_field *field, const void *base) {
  json_t *list = json_array();
  const char *item = (const char *)base + field->offset;
  for (int32_t i = 0; i < list_count(field, base); i++, item += field->size) {
    json_t *value = is_scalar_list(field) ? write_field(field->record, item)
                                          : write_record(field->record, item);
    if (json_array_append_new(list, value) != 0) {
      json_decref(list);
      return NULL;
    }
  }
  return list;
}

static json_t *write_string(const char *text) { return text ? json_string(text) : json_null(); }

static json_t *write_field(const hd_field *field, const void *base) {
  const void *at = (const char *)base + field->offset;
  switch (field->kind) {
  case HD_FIELD_STRING:
  case HD_FIELD_OPTIONAL:
    return write_string(*(const char *const *)at);
  case HD_FIELD_HASH:
    return json_string(at);
  case HD_FIELD_BOOL:
    return json_boolean(*(const bool *)at);
  case HD_FIELD_I32:
    return json_integer(*(const int32_t *)at);
  case HD_FIELD_I64:
    return json_integer(*(const int64_t *)at);
  case HD_FIELD_NAME:
    return write_string(field->names->name((int)*(const unsigned *)at));
  case HD_FIELD_RECORD:
    return write_record(field->record, at);
  case HD_FIELD_LIST:
  case HD_FIELD_MATCH:
    return write_list(field, base);
  }
  return NULL;
}

static json_t *write_record(const hd_field *fields, const void *base) {
  json_t *object = json_object();
  for (const hd_field *field = fields; field->key; field++) {
    if (json_object_set_new(object, field->key, write_field(field, base)) != 0) {
      json_decref(object);
      return NULL;
    }
  }
  return object;
}

heddle_status hd_manifest_write(heddle_context *ctx, const hd_manifest *manifest, char **json) {
  uint64_t before = hd_memory_shortages();
  hd_memory_count_json();
  HD_TRY(hd_manifest_check(ctx, manifest));
  json_t *fields = write_record(hd_manifest_fields, manifest), *root = json_object();
  bool made = fields && /* the version stands before the fields */
              json_object_set_new(root, VERSION_KEY, json_integer(HD_MANIFEST_VERSION)) == 0 &&
              json_object_update(root, fields) == 0;
  char *text = made ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(fields);
  json_decref(root);
  heddle_status status = hd_memory_status(ctx, before, HEDDLE_OK);
  if (status == HEDDLE_OK)
    *json = text;
  else
    hd_free(text);
  return status;
}

/* Reading. */

typedef struct reader {
  heddle_context *ctx;
  hd_arena *arena;
} reader;

/* The current position, for messages: a linked list on the stack. */
typedef struct place {
  const struct place *parent;
  const char *key;
  int32_t index; /* -1: not in a list */
} place;

static void format_place(const place *at, hd_strbuf *out) {
  if (at->parent) {
    format_place(at->parent, out);
    if (at->index < 0)
      hd_strbuf_add(out, ".");
  }
  if (at->index >= 0)
    hd_strbuf_printf(out, "[%d]", at->index);
  else
    hd_strbuf_add(out, at->key);
}

static heddle_status refuse(const reader *r, const place *at, const char *rule, const char *what) {
  hd_strbuf path = {0};
  format_place(at, &path);
  hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, rule, "manifest key %s: %s", hd_strbuf_text(&path),
           what);
  hd_strbuf_free(&path);
  return HEDDLE_INVALID;
}

static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                      "a real",    "true",     "false",    "null"};
  return names[json_typeof(value)];
}

static heddle_status refuse_type(const reader *r, const place *at, const json_t *got,
                                 const char *expected) {
  char what[96];
  snprintf(what, sizeof what, "got %s; legal: %s", type_name(got), expected);
  return refuse(r, at, "manifest.type", what);
}

static heddle_status read_integer(const reader *r, const place *at, const hd_field *field,
                                  const json_t *json, int64_t *value) {
  if (!json_is_integer(json))
    return refuse_type(r, at, json, "an integer");
  *value = json_integer_value(json);
  if (*value >= field->least && *value <= field->most)
    return HEDDLE_OK;
  char what[128];
  snprintf(what, sizeof what,
           "got %" PRId64 "; legal: %" PRId64 " to %" PRId64 "; nearest: %" PRId64, *value,
           field->least, field->most, *value < field->least ? field->least : field->most);
  return refuse(r, at, "manifest.range", what);
}

static heddle_status read_string(const reader *r, const place *at, const hd_field *field,
                                 const json_t *json, const char **text) {
  if (json_is_null(json) && field->kind == HD_FIELD_OPTIONAL) {
    *text = NULL;
    return HEDDLE_OK;
  }
  if (!json_is_string(json))
    return refuse_type(r, at, json, "a string");
  *text = hd_arena_strdup(r->arena, json_string_value(json));
  return HEDDLE_OK;
}

static heddle_status read_hash(const reader *r, const place *at, const json_t *json, char *out) {
  if (!json_is_string(json))
    return refuse_type(r, at, json, "a string");
  const char *text = json_string_value(json);
  size_t n = json_string_length(json);
  if ((n != 0 && n != 32) || strspn(text, "0123456789abcdef") != n)
    return refuse(r, at, "manifest.hash",
                  "got another text; legal: 32 hexadecimal digits, or none");
  memcpy(out, text, n + 1);
  return HEDDLE_OK;
}

static heddle_status read_name(const reader *r, const place *at, const hd_field *field,
                               const json_t *json, void *out) {
  if (!json_is_string(json))
    return refuse_type(r, at, json, field->names->what);
  const char *name;
  for (int i = 0; (name = field->names->name(i)) != NULL; i++) {
    if (strcmp(name, json_string_value(json)) == 0) {
      unsigned number = (unsigned)i;
      memcpy(out, &number, sizeof number);
      return HEDDLE_OK;
    }
  }
  char what[128];
  snprintf(what, sizeof what, "got \"%.40s\"; legal: %s such as \"%s\"", json_string_value(json),
           field->names->what, field->names->name(1));
  return refuse(r, at, "manifest.name", what);
}

static heddle_status read_record(const reader *r, const place *at, const hd_field *fields,
                                 const json_t *json, void *base);
static heddle_status read_field(const reader *r, const place *at, const hd_field *field,
                                const json_t *json, void *base);

static heddle_status read_length(const reader *r, const place *at, const hd_field *field,
                                 const json_t *json, void *base) {
  size_t n = json_array_size(json);
  int32_t expected = field->kind == HD_FIELD_MATCH ? list_count(field, base) : field->cap;
  if (n > (size_t)field->cap || (field->kind == HD_FIELD_MATCH && n != (size_t)expected)) {
    char what[96];
    snprintf(what, sizeof what, "got %zu elements; legal: %s%d", n,
             field->kind == HD_FIELD_MATCH ? "" : "at most ", expected);
    return refuse(r, at, "manifest.length", what);
  }
  int32_t count = (int32_t)n;
  memcpy((char *)base + field->count_offset, &count, sizeof count);
  return HEDDLE_OK;
}

static heddle_status read_list(const reader *r, const place *at, const hd_field *field,
                               const json_t *json, void *base) {
  if (!json_is_array(json))
    return refuse_type(r, at, json, "an array");
  HD_TRY(read_length(r, at, field, json, base));
  char *item = (char *)base + field->offset;
  for (size_t i = 0; i < json_array_size(json); i++, item += field->size) {
    place inner = {at, NULL, (int32_t)i};
    const json_t *value = json_array_get(json, i);
    HD_TRY(is_scalar_list(field) ? read_field(r, &inner, field->record, value, item)
                                 : read_record(r, &inner, field->record, value, item));
  }
  return HEDDLE_OK;
}

static heddle_status read_field(const reader *r, const place *at, const hd_field *field,
                                const json_t *json, void *base) {
  void *out = (char *)base + field->offset;
  int64_t number = 0;
  switch (field->kind) {
  case HD_FIELD_STRING:
  case HD_FIELD_OPTIONAL:
    return read_string(r, at, field, json, out);
  case HD_FIELD_HASH:
    return read_hash(r, at, json, out);
  case HD_FIELD_BOOL:
    if (!json_is_boolean(json))
      return refuse_type(r, at, json, "true or false");
    *(bool *)out = json_is_true(json);
    return HEDDLE_OK;
  case HD_FIELD_I32:
    HD_TRY(read_integer(r, at, field, json, &number));
    *(int32_t *)out = (int32_t)number;
    return HEDDLE_OK;
  case HD_FIELD_I64:
    return read_integer(r, at, field, json, out);
  case HD_FIELD_NAME:
    return read_name(r, at, field, json, out);
  case HD_FIELD_RECORD:
    return read_record(r, at, field->record, json, out);
  case HD_FIELD_LIST:
  case HD_FIELD_MATCH:
    return read_list(r, at, field, json, base);
  }
  return HD_BUG(r->ctx, "a field of no kind");
}

static const hd_field *find_field(const hd_field *fields, const char *key) {
  for (; fields->key; fields++) {
    if (strcmp(fields->key, key) == 0)
      return fields;
  }
  return NULL;
}

static heddle_status refuse_unknown(const reader *r, const place *at, const hd_field *fields,
                                    const json_t *json) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)json, key, value) {
    place inner = {at, key, -1};
    bool is_version = !at && strcmp(key, VERSION_KEY) == 0;
    if (!is_version && !find_field(fields, key))
      return refuse(r, &inner, "manifest.unknown-key", "no such key");
  }
  return HEDDLE_OK;
}

static heddle_status read_record(const reader *r, const place *at, const hd_field *fields,
                                 const json_t *json, void *base) {
  if (!json_is_object(json))
    return refuse_type(r, at, json, "an object");
  for (const hd_field *field = fields; field->key; field++) {
    place inner = {at, field->key, -1};
    const json_t *value = json_object_get(json, field->key);
    if (!value)
      return refuse(r, &inner, "manifest.missing-key", "missing");
    HD_TRY(read_field(r, &inner, field, value, base));
  }
  return refuse_unknown(r, at, fields, json);
}

static heddle_status check_version(const reader *r, const json_t *root) {
  const json_t *version = json_object_get(root, VERSION_KEY);
  if (json_is_integer(version) && json_integer_value(version) == HD_MANIFEST_VERSION)
    return HEDDLE_OK;
  if (!json_is_integer(version))
    return hd_error(r->ctx, HEDDLE_INVALID, HD_NOWHERE, "manifest.version",
                    "not a heddle manifest; legal: the key \"" VERSION_KEY "\" with %d",
                    HD_MANIFEST_VERSION);
  return hd_error(r->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "manifest.version",
                  "got manifest version %" JSON_INTEGER_FORMAT "; legal: %d",
                  json_integer_value(version), HD_MANIFEST_VERSION);
}

heddle_status hd_manifest_read(heddle_context *ctx, const char *json, size_t n_bytes,
                               hd_arena *arena, hd_manifest *manifest) {
  json_error_t error;
  uint64_t before = hd_memory_shortages();
  hd_memory_count_json();
  json_t *root = json_loadb(json, n_bytes, JSON_REJECT_DUPLICATES, &error);
  heddle_status status = hd_memory_status(ctx, before, HEDDLE_OK);
  if (status != HEDDLE_OK) { /* out of memory: jansson's result is not reliable */
    json_decref(root);
    return status;
  }
  if (!root)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "manifest.json", "line %d column %d: %s",
                    error.line, error.column, error.text);
  reader r = {ctx, arena};
  hd_manifest *made = HD_NEW(arena, hd_manifest);
  status = check_version(&r, root);
  if (status == HEDDLE_OK)
    status = read_record(&r, NULL, hd_manifest_fields, root, made);
  json_decref(root);
  if (status == HEDDLE_OK)
    status = hd_manifest_check(ctx, made);
  HD_TRY(hd_memory_status(ctx, before, status));
  hd_manifest_index(made);
  *manifest = *made;
  return HEDDLE_OK;
}
