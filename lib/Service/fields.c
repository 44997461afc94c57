#include "Service/fields.h"

#include <stdint.h>
#include <string.h>

#include "Service/request.h"

/* ---- tables ---- */

#define NO_OBJECT(...)
#define OBJECT           NO_OBJECT
#define FIELD            NO_OBJECT
#define WORDS(kind, ...) static const char *const words_##kind[] = {__VA_ARGS__, NULL};
#include "Service/fields.def"

#define WORD_KIND(kind) {HD_FIELD_WORDS, #kind, .words = words_##kind}
#define VERDICT         WORD_KIND(VERDICT)
#define OUTCOME         WORD_KIND(OUTCOME)
#define WHY             WORD_KIND(WHY)
#define ROLE            WORD_KIND(ROLE)
#define MODE            WORD_KIND(MODE)
#define STATE           WORD_KIND(STATE)
#define KEY             {HD_FIELD_KEY, "KEY"}
#define CLASS           {HD_FIELD_TEXT, "CLASS", "^[A-Za-z0-9][A-Za-z0-9 ._:+/()-]*$"}
#define WORD            {HD_FIELD_TEXT, "WORD", "^[A-Za-z0-9_.:-]*$"}
#define NAME            {HD_FIELD_TEXT, "NAME", "^[ !#-%(-;=?-\\[\\]-~]*$"}
#define HEX             {HD_FIELD_TEXT, "HEX", "^[0-9a-f]*$"}
#define TEXT            {HD_FIELD_TEXT, "TEXT", ""}
#define SCHEDULE        {HD_FIELD_TEXT, "SCHEDULE", "^[a-z0-9_=.x ]+$"}
#define INT             {HD_FIELD_INT, "INT"}
#define NUMBER          {HD_FIELD_NUMBER, "NUMBER"}
#define BOOL            {HD_FIELD_BOOL, "BOOL"}
#define INTS            {HD_FIELD_INTS, "INTS"}
#define NUMBERS         {HD_FIELD_NUMBERS, "NUMBERS"}
#define KEYS            {HD_FIELD_KEYS, "KEYS"}
#define ANY             {HD_FIELD_ANY, "ANY"}
#define LIST(x)         {HD_FIELD_LIST, "LIST", .object = #x}
#define ONE(x)          {HD_FIELD_ONE, "ONE", .object = #x}
#define REQUIRED        true
#define OPTIONAL        false

static const hd_field fields[] = {
#define OBJECT(object, text) {.owner = #object, .doc = text},
#define FIELD(field, kind_, need, least_, most_, text)                                             \
  {.name = #field,                                                                                 \
   .kind = kind_,                                                                                  \
   .required = need,                                                                               \
   .least = (double)(least_),                                                                      \
   .most = (double)(most_),                                                                        \
   .doc = text},
#define WORDS NO_OBJECT
#include "Service/fields.def"
};

static const hd_field query_fields[] = {
#define ROUTE(...)
#define QUERY(route, field, kind_, need, least_, most_, text)                                      \
  {.owner = #route,                                                                                \
   .name = field,                                                                                  \
   .kind = kind_,                                                                                  \
   .required = need,                                                                               \
   .least = (double)(least_),                                                                      \
   .most = (double)(most_),                                                                        \
   .doc = text},
#include "Service/routes.def"
};

const hd_field *hd_fields(int *n) {
  *n = (int)HD_COUNT(fields);
  return fields;
}

const hd_field *hd_query_fields(int *n) {
  *n = (int)HD_COUNT(query_fields);
  return query_fields;
}

const hd_field *hd_fields_of(const char *object, int *n) {
  size_t begin = 0, end;
  while (begin < HD_COUNT(fields) &&
         (fields[begin].name || strcmp(fields[begin].owner, object) != 0))
    begin++;
  for (end = begin + 1; end < HD_COUNT(fields) && fields[end].name;)
    end++;
  *n = begin < HD_COUNT(fields) ? (int)(end - begin - 1) : 0;
  return &fields[begin] + (*n > 0);
}

/* The same as the patterns, which are for others to read. */
bool hd_kind_has(const hd_kind *kind, const char *text) {
  static const struct {
    const char *name, *also; /* beside letters and digits */
    bool upper;
  } sets[] = {{"CLASS", " ._:+/()-", true}, {"WORD", "_.:-", true}, {"SCHEDULE", "_=. ", false}};
  if (strcmp(kind->name, "TEXT") == 0)
    return true;
  if (strcmp(kind->name, "HEX") == 0)
    return text[strspn(text, "0123456789abcdef")] == '\0';
  if (strcmp(kind->name, "NAME") == 0) {
    for (; *text; text++)
      if (*text < ' ' || *text > '~' || strchr("\"<>&'\\", *text))
        return false;
    return true;
  }
  size_t i = 0;
  while (i < HD_COUNT(sets) && strcmp(sets[i].name, kind->name) != 0)
    i++;
  if (strcmp(kind->name, "CLASS") == 0 && strchr(sets[0].also, *text))
    return false;
  for (; *text; text++) {
    bool letter = (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
                  (sets[i].upper && *text >= 'A' && *text <= 'Z');
    if (!letter && !strchr(sets[i].also, *text))
      return false;
  }
  return true;
}
