#include "Interface/fields.h"

#include <stdint.h>
#include <string.h>

#include "Support/arena.h"

/* ---- kinds ---- */

#define NO_OBJECT(...)
#define OBJECT           NO_OBJECT
#define FIELD            NO_OBJECT
#define WORDS(kind, ...) static const char *const words_##kind[] = {__VA_ARGS__, NULL};
#include "Interface/fields.def"

#define WORD_KIND(kind)                                                                            \
  { HD_FIELD_WORDS, .words = words_##kind }
#define VERDICT WORD_KIND(VERDICT)
#define OUTCOME WORD_KIND(OUTCOME)
#define WHY     WORD_KIND(WHY)
#define ROLE    WORD_KIND(ROLE)
#define MODE    WORD_KIND(MODE)
#define STATE   WORD_KIND(STATE)
#define TEXT_KIND(p)                                                                               \
  { HD_FIELD_TEXT, .pattern = p }
#define CLASS    TEXT_KIND("^[A-Za-z0-9][A-Za-z0-9 ._:+/()-]*$")
#define WORD     TEXT_KIND("^[A-Za-z0-9_.:-]*$")
#define NAME     TEXT_KIND("^[ !#-%(-;=?-\\[\\]-~]*$")
#define HEX      TEXT_KIND("^[0-9a-f]*$")
#define TEXT     TEXT_KIND("")
#define SCHEDULE TEXT_KIND("^[a-z0-9_=.x ]+$")
#define TYPE     "(f16|bf16|tf32|e4m3|e5m2|e3m2|e2m3|e2m1|e2m1p|s8|u8|s4|u4|f32|s32|ue8m0|ue4m3)"
#define SIZE     "[1-9][0-9]{0,5}" /* sizes of seven digits, up to 1048576, are legal, too */
#define KEY_PATTERN                                                                                \
  "^sm_[1-9][0-9]{1,2}[af]? a=" TYPE " b=" TYPE " acc=" TYPE " d=" TYPE " m=" SIZE " n=" SIZE      \
  " k=" SIZE " (k|mn)_major (row|col)_major( weights_ready)?$"
#define KEY                                                                                        \
  { HD_FIELD_KEY, .pattern = KEY_PATTERN }
#define KEYS                                                                                       \
  { HD_FIELD_KEY, true, 1, 400, .pattern = KEY_PATTERN }
#define INT                                                                                        \
  { .type = HD_FIELD_INT }
#define NUMBER                                                                                     \
  { .type = HD_FIELD_NUMBER }
#define NUMBERS                                                                                    \
  { HD_FIELD_NUMBER, true, 0, 1e9, .object = NULL }
#define BOOL                                                                                       \
  { .type = HD_FIELD_BOOL }
#define LIST(x)                                                                                    \
  { HD_FIELD_OBJECT, true, .object = #x }
#define ONE(x)                                                                                     \
  { HD_FIELD_OBJECT, .object = #x }
#define REQUIRED true
#define OPTIONAL false

/* ---- tables ---- */

static const hd_field fields[] = {
/* an entry without a name begins an object */
#define OBJECT(object, text) {.owner = #object, .doc = text},
#define FIELD(field, kind, need, least, most, text)                                                \
  {NULL, #field, text, kind, need, (double)(least), (double)(most)},
#define WORDS NO_OBJECT
#include "Interface/fields.def"
};

static const hd_field queries[] = {
#define ROUTE(...)
#define QUERY(route, field, kind, need, least, most, text)                                         \
  {#route, field, text, kind, need, (double)(least), (double)(most)},
#include "Interface/routes.def"
};

/* The object that begins at an entry. */
static hd_fields object_from(size_t at) {
  size_t end = at + 1;
  while (end < HD_COUNT(fields) && fields[end].name)
    end++;
  return (hd_fields){&fields[at + 1], (int)(end - at - 1), fields[at].owner, fields[at].doc};
}

bool hd_object_at(int i, hd_fields *out) {
  for (size_t at = 0; at < HD_COUNT(fields); at++)
    if (!fields[at].name && i-- == 0) {
      *out = object_from(at);
      return true;
    }
  return false;
}

hd_fields hd_fields_of(const char *object) {
  for (size_t at = 0; at < HD_COUNT(fields); at++)
    if (!fields[at].name && strcmp(fields[at].owner, object) == 0)
      return object_from(at);
  return (hd_fields){0};
}

hd_fields hd_query_of(const char *route) {
  hd_fields f = {.name = route};
  for (size_t i = 0; i < HD_COUNT(queries); i++)
    if (strcmp(queries[i].owner, route) == 0) {
      f.list = f.n ? f.list : &queries[i];
      f.n++;
    }
  return f;
}

/* ---- patterns ---- */

/* Reads the set "[…]" at `pattern`. Returns its end. */
static const char *read_set(const char *pattern, bool has[256]) {
  memset(has, 0, 256);
  for (pattern++; *pattern != ']'; pattern++) {
    pattern += *pattern == '\\';
    unsigned char from = (unsigned char)*pattern, to = from;
    if (pattern[1] == '-' && pattern[2] != ']') {
      pattern += 2;
      pattern += *pattern == '\\';
      to = (unsigned char)*pattern;
    }
    memset(has + from, true, (size_t)(to - from) + 1);
  }
  return pattern + 1;
}

bool hd_pattern_fits(const char *pattern, const char *text, size_t n) {
  bool has[256];
  if (!*pattern)
    return true;
  const char *end = read_set(pattern + 1, has);
  for (size_t i = 0; i < n; i++) {
    if (!has[(unsigned char)text[i]])
      return false;
    if (*end == '[')
      end = read_set(end, has);
  }
  return *end != '['; /* the first character is missing, as with a length below 1 */
}
