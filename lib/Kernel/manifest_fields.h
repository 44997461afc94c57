/* Kernel/manifest_fields.h: the manifest's layout as data, one line per field. Drives both the JSON
 * writer and the reader, so that they cannot disagree. */
#ifndef HD_MANIFEST_FIELDS_H
#define HD_MANIFEST_FIELDS_H

#include "Kernel/manifest.h"

typedef enum hd_field_kind {
  HD_FIELD_STRING,
  HD_FIELD_OPTIONAL, /* a string or null */
  HD_FIELD_HASH,     /* char[33]: 32 hexadecimal digits, or empty */
  HD_FIELD_BOOL,
  HD_FIELD_I32, /* least..most */
  HD_FIELD_I64,
  HD_FIELD_NAME,   /* an enumerator, written by name */
  HD_FIELD_RECORD, /* a struct, in place */
  HD_FIELD_LIST,   /* an array; another member is its count, set from the JSON array's length */
  HD_FIELD_MATCH   /* an array; its length must equal the count, which was read before */
} hd_field_kind;

typedef struct hd_field hd_field;

/* The names of an enumeration. */
typedef struct hd_names {
  const char *what;                /* "an element type" */
  const char *(*name)(int number); /* NULL if the number is out of range */
} hd_names;

struct hd_field {
  const char *key; /* NULL ends a record */
  hd_field_kind kind;
  size_t offset;
  int64_t least, most;    /* I32, I64: the legal range */
  const hd_names *names;  /* NAME */
  const hd_field *record; /* RECORD: its fields; LIST, MATCH: the fields of each element */
  size_t count_offset;    /* LIST, MATCH: offset of the int32_t count */
  size_t size;            /* LIST, MATCH: bytes per element */
  int32_t cap;            /* LIST, MATCH: the array's length */
};

/* The fields of hd_manifest, in the order in which they are written. */
extern const hd_field hd_manifest_fields[];

#endif
