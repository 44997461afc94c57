/* Accepts the usual form of a legal body in one pass, without a tree of values. Whatever is unusual
 * (escapes, text beyond ASCII, product keys, more than 18 digits before the point, what a double
 * rounds to 0) or wrong is left to hd_validate, which can also say what is wrong. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "Interface/fields.h"
#include "Interface/interface.h"

enum { MAX_DIGITS = 18, MAX_FIELDS = 64 };

typedef struct scan {
  const char *at; /* the text ends with NUL, which no rule below passes */
} scan;

/* A text between two quotes. */
typedef struct span {
  const char *text;
  size_t n;
} span;

static bool scan_object(scan *s, const hd_fields *fields, size_t *n_elements);

static void skip_space(scan *s) {
  while (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')
    s->at++;
}

/* Passes one character and the space around it. */
static bool scan_char(scan *s, char c) {
  skip_space(s);
  if (*s->at != c)
    return false;
  s->at++;
  skip_space(s);
  return true;
}

static bool scan_literal(scan *s, const char *literal) {
  size_t n = strlen(literal);
  if (strncmp(s->at, literal, n) != 0)
    return false;
  s->at += n;
  return true;
}

static bool scan_string(scan *s, span *out) {
  if (*s->at != '"')
    return false;
  const char *begin = ++s->at;
  while (*s->at >= ' ' && *s->at <= '~' && *s->at != '"' && *s->at != '\\')
    s->at++;
  *out = (span){begin, (size_t)(s->at - begin)};
  return *s->at++ == '"';
}

static bool is_name(span text, const char *name) {
  return strncmp(text.text, name, text.n) == 0 && name[text.n] == '\0';
}

static bool within(double x, double least, double most) {
  return x >= least && x <= most;
}

/* ---- single values ---- */

static bool scan_text(scan *s, const hd_kind *kind, double least, double most) {
  span text;
  if (!scan_string(s, &text))
    return false;
  if (kind->type == HD_FIELD_WORDS) {
    for (const char *const *w = kind->words; *w; w++)
      if (is_name(text, *w))
        return true;
    return false;
  }
  return within((double)text.n, least, most) && hd_pattern_fits(kind->pattern, text.text, text.n);
}

static size_t scan_digits(scan *s) {
  size_t n = strspn(s->at, "0123456789");
  s->at += n;
  return n;
}

static bool scan_number(scan *s, bool is_int, double least, double most) {
  const char *begin = s->at;
  s->at += *s->at == '-';
  bool zero = *s->at == '0';
  size_t n = scan_digits(s);
  if (n == 0 || (zero && n > 1) || n > MAX_DIGITS)
    return false;
  bool point = *s->at == '.', power;
  s->at += point;
  if (point && scan_digits(s) == 0)
    return false;
  power = *s->at == 'e' || *s->at == 'E';
  s->at += power;
  s->at += power && (*s->at == '-' || *s->at == '+');
  if (power && scan_digits(s) == 0)
    return false;
  double x = strtod(begin, NULL);
  bool underflow = x == 0 && isdigit((unsigned char)begin[strspn(begin, "-0.")]);
  return !(is_int && (point || power)) && !underflow && within(x, least, most);
}

static bool scan_one(scan *s, const hd_kind *kind, const hd_fields *fields, double least,
                     double most) {
  switch (kind->type) {
  case HD_FIELD_TEXT:
  case HD_FIELD_WORDS:
    return scan_text(s, kind, least, most);
  case HD_FIELD_KEY:
    return false;
  case HD_FIELD_BOOL:
    return scan_literal(s, "true") || scan_literal(s, "false");
  case HD_FIELD_OBJECT:
    return scan_object(s, fields, NULL);
  default:
    return scan_number(s, kind->type == HD_FIELD_INT, least, most);
  }
}

/* ---- fields and objects ---- */

static bool scan_list(scan *s, const hd_field *f, const hd_fields *fields, size_t *n_elements) {
  size_t n = 0;
  if (!scan_char(s, '['))
    return false;
  if (*s->at != ']')
    do {
      if (!scan_one(s, &f->kind, fields, f->kind.least, f->kind.most))
        return false;
      n++;
    } while (scan_char(s, ','));
  if (n_elements)
    *n_elements = n;
  return scan_char(s, ']') && within((double)n, f->least, f->most);
}

static bool scan_field(scan *s, const hd_field *f, size_t *n_elements) {
  hd_fields fields = {0};
  if (!f->required && scan_literal(s, "null"))
    return true;
  if (f->kind.type == HD_FIELD_OBJECT)
    fields = hd_fields_of(f->kind.object);
  return f->kind.is_list ? scan_list(s, f, &fields, n_elements)
                         : scan_one(s, &f->kind, &fields, f->least, f->most);
}

/* The index of a field, searched from `from` on: most senders keep the order of fields.def. */
static int field_from(const hd_fields *fields, span name, int from) {
  for (int i = 0; i < fields->n; i++) {
    int at = (from + i) % fields->n;
    if (is_name(name, fields->list[at].name))
      return at;
  }
  return -1;
}

static bool scan_object(scan *s, const hd_fields *fields, size_t *n_elements) {
  uint64_t seen = 0;
  if (fields->n > MAX_FIELDS || !scan_char(s, '{'))
    return false;
  if (*s->at != '}') {
    int at = -1;
    do {
      span name;
      if (!scan_string(s, &name) || !scan_char(s, ':'))
        return false;
      at = field_from(fields, name, at + 1);
      if (at < 0 || (seen >> at & 1) || !scan_field(s, &fields->list[at], n_elements))
        return false;
      seen |= UINT64_C(1) << at;
    } while (scan_char(s, ','));
  }
  for (int i = 0; i < fields->n; i++)
    if (fields->list[i].required && !(seen >> i & 1))
      return false;
  return scan_char(s, '}');
}

bool hd_scan(const char *object, const char *text, size_t n, size_t *n_elements) {
  const hd_fields fields = hd_fields_of(object);
  scan s = {text};
  *n_elements = 0;
  return scan_object(&s, &fields, n_elements) && s.at == text + n;
}
