/* Kernel/manifest_fields.h: the manifest's layout as data, one line a field; drives the JSON writer
 * and reader alike, so that they cannot disagree. */
#ifndef HD_MANIFEST_FIELDS_H
#define HD_MANIFEST_FIELDS_H

#include "Kernel/manifest.h"

typedef enum hd_field_kind {
  HD_FIELD_STRING,
  HD_FIELD_OPTIONAL, /* a string or null */
  HD_FIELD_HASH,     /* char[33]; 32 hexadecimal digits, or empty */
  HD_FIELD_BOOL,
  HD_FIELD_I32, /* least..most */
  HD_FIELD_I64,
  HD_FIELD_NAME,   /* an enumerator, written by name */
  HD_FIELD_RECORD, /* a struct, in place */
  HD_FIELD_LIST,   /* an array whose count is another member; read with its length */
  HD_FIELD_MATCH   /* the same, but its length must equal the count, read before */
} hd_field_kind;

typedef struct hd_field hd_field;

/* The names of an enumeration. */
typedef struct hd_names {
  const char *what;                /* "an element type" */
  const char *(*name)(int number); /* NULL past the last */
} hd_names;

struct hd_field {
  const char *key; /* NULL ends a record */
  hd_field_kind kind;
  size_t offset;
  int64_t least, most;    /* numbers */
  const hd_names *names;  /* NAME */
  const hd_field *record; /* RECORD; LIST, MATCH: of each element */
  size_t count_offset;    /* LIST, MATCH: of the int32_t count */
  size_t size;            /* LIST, MATCH: bytes an element */
  int32_t cap;            /* LIST, MATCH: the array's length */
};

/* The fields of hd_manifest, in the order in which they are written. */
extern const hd_field hd_manifest_fields[];

#endif
