/* Service/fields.h: the tables of fields.def and routes.def, for validation and openapi.json. */
#ifndef HD_FIELDS_H
#define HD_FIELDS_H

#include <stdbool.h>

typedef enum hd_field_type {
  HD_FIELD_TEXT,  /* by `pattern`; "": any */
  HD_FIELD_WORDS, /* one of `words` */
  HD_FIELD_KEY,   /* a product key */
  HD_FIELD_INT,
  HD_FIELD_NUMBER,
  HD_FIELD_BOOL,
  HD_FIELD_INTS,
  HD_FIELD_NUMBERS,
  HD_FIELD_KEYS,
  HD_FIELD_LIST, /* of `object` */
  HD_FIELD_ONE,  /* `object` */
  HD_FIELD_ANY
} hd_field_type;

typedef struct hd_kind {
  hd_field_type type;
  const char *name;         /* as in the table */
  const char *pattern;      /* TEXT: the regular expression that says it */
  const char *object;       /* LIST, ONE */
  const char *const *words; /* WORDS; NULL ends it */
} hd_kind;

/* One line of a table: a field of `owner`; or, with no name, the head of an object. */
typedef struct hd_field {
  const char *owner, *name, *doc;
  hd_kind kind;
  bool required;
  double least, most;
} hd_field;

/* All of them in the order of the table; name NULL: an object begins. */
const hd_field *hd_fields(int *n);
/* The parameters of the query; owner is the route's name. */
const hd_field *hd_query_fields(int *n);
/* The fields of an object; *n may be 0. */
const hd_field *hd_fields_of(const char *object, int *n);
/* Whether a text is of the kind's characters. */
bool hd_kind_has(const hd_kind *kind, const char *text);

#endif
