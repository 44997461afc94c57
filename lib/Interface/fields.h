/* Interface/fields.h: tables of fields.def and of the queries of routes.def. */
#ifndef HD_FIELDS_H
#define HD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hd_field_type {
  HD_FIELD_TEXT,  /* checked with `pattern`; "": any text */
  HD_FIELD_WORDS, /* one of `words` */
  HD_FIELD_KEY,   /* a product key; pattern accepts most of them */
  HD_FIELD_INT,
  HD_FIELD_NUMBER,
  HD_FIELD_BOOL,
  HD_FIELD_OBJECT /* `object` */
} hd_field_type;

typedef struct hd_kind {
  hd_field_type type;
  bool is_list; /* a list of the type; bounds of its elements: */
  double least, most;
  const char *pattern, *object;
  const char *const *words; /* ends with NULL */
} hd_kind;

/* A field of `owner`. */
typedef struct hd_field {
  const char *owner, *name, *doc;
  hd_kind kind;
  bool required;
  double least, most; /* of a text: its bytes; of a number: its value; of a list: its length */
} hd_field;

/* The fields of an object, or the parameters of a route. */
typedef struct hd_fields {
  const hd_field *list;
  int n;
  const char *name, *doc; /* of the object */
} hd_fields;

/* The i-th object, from 0; false if there are no more. */
bool hd_object_at(int i, hd_fields *fields);
hd_fields hd_fields_of(const char *object);
hd_fields hd_query_of(const char *route);
/* Whether a text of n bytes matches a pattern of the forms ^[set]*$, ^[set]+$, ^[set][set]*$. */
bool hd_pattern_fits(const char *pattern, const char *text, size_t n);

#endif
