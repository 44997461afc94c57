/* record.h: typed reading of `llvm-tblgen -dump-json` records. A wrong or missing field is an error
 * that names record and field; reading goes on, so that one run reports everything. */
#ifndef TBLGEN_RECORD_H
#define TBLGEN_RECORD_H

#include <jansson.h>
#include <stdbool.h>

/* The dump, and the number of errors reported so far. */
typedef struct dump {
  json_t *root;
  unsigned n_errors;
} dump;

/* One record. */
typedef struct record {
  dump *in;
  const char *name; /* borrowed from the dump */
  json_t *fields;
} record;

/* Reports "NAME (file:line): text" on standard error and counts it. */
void record_error(const record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The names of all records of a class, or NULL when there is none of that class. */
json_t *dump_instances(dump *d, const char *class_name);
record dump_record(dump *d, const char *name);

const char *record_string(const record *r, const char *field); /* never NULL */
long record_int(const record *r, const char *field);
json_t *record_list(const record *r, const char *field);
record record_def(const record *r, const char *field);
/* The record that a list element refers to. */
record record_ref(const record *r, json_t *value);
bool record_is(const record *r, const char *name);

#endif
