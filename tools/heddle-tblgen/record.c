#include "record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void record_error(const record *r, const char *format, ...) {
  json_t *locs = json_object_get(r->fields, "!locs");
  const char *loc = json_string_value(json_array_get(locs, 0));
  va_list args;
  va_start(args, format);
  fprintf(stderr, "specs/%s: error: %s: ", loc ? loc : "?", r->name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  r->in->n_errors++;
}

json_t *dump_instances(dump *d, const char *class_name) {
  return json_object_get(json_object_get(d->root, "!instanceof"), class_name);
}

record dump_record(dump *d, const char *name) {
  return (record){d, name, json_object_get(d->root, name)};
}

const char *record_string(const record *r, const char *field) {
  json_t *value = json_object_get(r->fields, field);
  if (!json_is_string(value)) {
    record_error(r, "field %s is not a string", field);
    return "";
  }
  return json_string_value(value);
}

long record_int(const record *r, const char *field) {
  json_t *value = json_object_get(r->fields, field);
  if (!json_is_integer(value)) {
    record_error(r, "field %s is not an integer", field);
    return 0;
  }
  return (long)json_integer_value(value);
}

json_t *record_list(const record *r, const char *field) {
  json_t *value = json_object_get(r->fields, field);
  if (!json_is_array(value))
    record_error(r, "field %s is not a list", field);
  return value;
}

record record_ref(const record *r, json_t *value) {
  const char *name = json_string_value(json_object_get(value, "def"));
  if (!name) {
    record_error(r, "a reference is not a record");
    return dump_record(r->in, "NoFragment");
  }
  return dump_record(r->in, name);
}

record record_def(const record *r, const char *field) {
  return record_ref(r, json_object_get(r->fields, field));
}

bool record_is(const record *r, const char *name) {
  return !strcmp(r->name, name);
}
