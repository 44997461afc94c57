#include "Emit/user_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "Support/diag.h"

/* ---- words ---- */

heddle_status hd_user_refuse_here(hd_user_reader *r, const char *legal) {
  hd_loc loc = {"user IR", r->line, (uint32_t)(r->at - r->line_begin) + 1};
  int n = 0;
  while (r->at + n < r->end && n < 40 && r->at[n] != '\n' && r->at[n])
    n++;
  return hd_error(r->ctx, HEDDLE_UNSUPPORTED, loc, "user.text",
                  "got `%.*s`; legal without heddle-epilogue: %s", n, r->at, legal);
}

heddle_status hd_user_refuse_count(hd_user_reader *r, const char *what, int most) {
  hd_loc loc = {"user IR", r->line, 1};
  return hd_error(r->ctx, HEDDLE_UNSUPPORTED, loc, "user.size",
                  "user function: got too many %s; legal: up to %d", what, most);
}

void hd_user_skip_spaces(hd_user_reader *r) {
  while (r->at < r->end) {
    if (*r->at == ';')
      while (r->at < r->end && *r->at != '\n')
        r->at++;
    else if (*r->at == '\n')
      r->line++, r->line_begin = ++r->at;
    else if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
      r->at++;
    else
      return;
  }
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-' || c == '+';
}

hd_user_word hd_user_peek_word(hd_user_reader *r) {
  hd_user_skip_spaces(r);
  hd_user_word word = {r->at, 0};
  while (r->at + word.n < r->end && is_word_char(r->at[word.n]))
    word.n++;
  return word;
}

bool hd_user_word_is(hd_user_word word, const char *other) {
  return word.n == strlen(other) && memcmp(word.at, other, word.n) == 0;
}

bool hd_user_accept_word(hd_user_reader *r, const char *word) {
  hd_user_word got = hd_user_peek_word(r);
  if (!hd_user_word_is(got, word))
    return false;
  r->at += got.n;
  return true;
}

bool hd_user_accept_char(hd_user_reader *r, char c) {
  hd_user_skip_spaces(r);
  if (r->at == r->end || *r->at != c)
    return false;
  r->at++;
  return true;
}

heddle_status hd_user_expect(hd_user_reader *r, char c) {
  char legal[] = "`?`";
  legal[1] = c;
  return hd_user_accept_char(r, c) ? HEDDLE_OK : hd_user_refuse_here(r, legal);
}

heddle_status hd_user_expect_word(hd_user_reader *r, const char *word) {
  return hd_user_accept_word(r, word) ? HEDDLE_OK : hd_user_refuse_here(r, word);
}

/* %NAME or @NAME without its first character. */
heddle_status hd_user_read_name(hd_user_reader *r, char first, hd_user_word *word) {
  HD_TRY(hd_user_expect(r, first));
  hd_user_word got = {r->at, 0};
  while (r->at + got.n < r->end && is_word_char(r->at[got.n]))
    got.n++;
  if (!got.n)
    return hd_user_refuse_here(r, "a name of letters, digits, `.`, `_`, `$` or `-`");
  r->at += got.n;
  *word = got;
  return HEDDLE_OK;
}

heddle_status hd_user_read_integer(hd_user_reader *r, int64_t least, int64_t most, int64_t *value) {
  hd_user_word word = hd_user_peek_word(r);
  char digits[24];
  char *end = digits;
  if (word.n > 0 && word.n < sizeof digits) {
    memcpy(digits, word.at, word.n);
    digits[word.n] = '\0';
    errno = 0;
    *value = strtoll(digits, &end, 10);
    if (end == digits + word.n && errno == 0 && *value >= least && *value <= most) {
      r->at += word.n;
      return HEDDLE_OK;
    }
  }
  return hd_user_refuse_here(r, "an integer of its type");
}

/* ---- types ---- */

static bool accept_type(hd_user_reader *r, hd_user_type *type) {
  static const struct {
    const char *word;
    hd_user_type type;
  } others[] = {{"half", HD_USER_HALF},
                {"bfloat", HD_USER_BFLOAT},
                {"float", HD_USER_FLOAT},
                {"double", HD_USER_DOUBLE},
                {"ptr", HD_USER_PTR}};
  hd_user_word word = hd_user_peek_word(r);
  for (size_t i = 0; i < HD_COUNT(others); i++)
    if (hd_user_word_is(word, others[i].word)) {
      r->at += word.n;
      *type = others[i].type;
      return true;
    }
  int width = 0;
  for (size_t i = 1; i < word.n && word.n <= 3; i++)
    width = word.at[i] >= '0' && word.at[i] <= '9' ? 10 * width + word.at[i] - '0' : 65;
  if (word.n < 2 || word.at[0] != 'i' || width < 1 || width > 64)
    return false;
  r->at += word.n;
  *type = (hd_user_type)width;
  return true;
}

heddle_status hd_user_read_type(hd_user_reader *r, hd_user_type *type) {
  if (!accept_type(r, type))
    return hd_user_refuse_here(r, "i1 to i64, half, bfloat, float, double or ptr");
  if (*type == HD_USER_PTR && hd_user_accept_word(r, "addrspace")) {
    int64_t space;
    HD_TRY(hd_user_expect(r, '('));
    HD_TRY(hd_user_read_integer(r, 0, 1, &space));
    HD_TRY(hd_user_expect(r, ')'));
    *type = space ? HD_USER_GLOBAL_PTR : HD_USER_PTR;
  }
  return HEDDLE_OK;
}

/* ---- names ---- */

static hd_user_name *find_name(hd_user_reader *r, hd_user_word word, bool is_block) {
  uint32_t hash = 2166136261u ^ is_block;
  for (size_t i = 0; i < word.n; i++)
    hash = (hash ^ (uint8_t)word.at[i]) * 16777619u;
  hd_user_name *found = &r->names[hash & (HD_USER_NAMES - 1)];
  while (found->word.at && !(found->is_block == is_block && found->word.n == word.n &&
                             memcmp(found->word.at, word.at, word.n) == 0))
    found = found == &r->names[HD_USER_NAMES - 1] ? r->names : found + 1;
  return found;
}

/* Adds a value. Each name may be defined only once. */
heddle_status hd_user_define_value(hd_user_reader *r, hd_user_word word, hd_user_type type,
                                   int32_t index) {
  hd_user_name *found = find_name(r, word, false);
  if (found->word.at)
    return hd_user_refuse_here(r, "a name that is not taken");
  *found = (hd_user_name){word, false, type, index};
  return HEDDLE_OK;
}

/* Finds the number of a label. Labels are numbered in the order of their first use. */
heddle_status hd_user_find_label(hd_user_reader *r, hd_user_word word, int32_t *label) {
  hd_user_name *found = find_name(r, word, true);
  if (!found->word.at) {
    if (r->n_labels == HD_USER_BLOCKS)
      return hd_user_refuse_count(r, "blocks", HD_USER_BLOCKS);
    r->order[r->n_labels] = HD_USER_NO_BLOCK;
    *found = (hd_user_name){word, true, 0, r->n_labels++};
  }
  *label = found->index;
  return HEDDLE_OK;
}

/* Reads the target of a branch, which must be a block that has not begun yet. */
heddle_status hd_user_read_target(hd_user_reader *r, int32_t *label) {
  hd_user_word word;
  HD_TRY(hd_user_expect_word(r, "label"));
  HD_TRY(hd_user_read_name(r, '%', &word));
  HD_TRY(hd_user_find_label(r, word, label));
  return r->order[*label] == HD_USER_NO_BLOCK
             ? HEDDLE_OK
             : hd_user_refuse_here(r, "branches to blocks further down");
}

/* ---- constants and operands ---- */

static uint64_t hex_digits(hd_user_word word, size_t from) {
  uint64_t bits = 0;
  for (size_t i = from; i < word.n; i++) {
    char c = word.at[i];
    bits = bits << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return bits;
}

static bool all_hex(hd_user_word word, size_t from, size_t n_digits) {
  if (word.n != from + n_digits)
    return false;
  for (size_t i = from; i < word.n; i++)
    if (!strchr("0123456789abcdefABCDEF", word.at[i]))
      return false;
  return true;
}

/* LLVM's hexadecimal forms: 0xH (half), 0xR (bfloat), 0x (the bits of a double, also for float). */
static bool read_hex(hd_user_word word, hd_user_type type, double *value) {
  if (word.n < 3 || memcmp(word.at, "0x", 2) != 0)
    return false;
  if (type == HD_USER_HALF && word.at[2] == 'H' && all_hex(word, 3, 4)) {
    *value = hd_elem_to_double(HEDDLE_F16, (uint32_t)hex_digits(word, 3));
  } else if (type == HD_USER_BFLOAT && word.at[2] == 'R' && all_hex(word, 3, 4)) {
    *value = hd_elem_to_double(HEDDLE_BF16, (uint32_t)hex_digits(word, 3));
  } else if (type >= HD_USER_FLOAT && all_hex(word, 2, 16)) {
    uint64_t bits = hex_digits(word, 2);
    memcpy(value, &bits, sizeof *value);
  } else {
    return false;
  }
  return true;
}

static bool read_decimal(hd_user_word word, double *value) {
  char digits[64]; /* a copy, since the text may end with the word and without a NUL */
  if (word.n >= sizeof digits || !memchr(word.at, '.', word.n))
    return false;
  memcpy(digits, word.at, word.n);
  digits[word.n] = '\0';
  if (strspn(digits, "0123456789+-.eE") < word.n)
    return false;
  char *end;
  *value = hd_strtod(digits, &end);
  return end == digits + word.n;
}

static heddle_status read_real(hd_user_reader *r, hd_user_type type, double *value) {
  hd_user_word word = hd_user_peek_word(r);
  bool read = read_hex(word, type, value) || (type >= HD_USER_FLOAT && read_decimal(word, value));
  if (read && type == HD_USER_FLOAT && *value == *value)
    read = (double)(float)*value == *value;
  if (!read)
    return hd_user_refuse_here(
        r, "a number that its type holds exactly: 1.5, or 0x and the digits of a double");
  r->at += word.n;
  return HEDDLE_OK;
}

static heddle_status read_int_constant(hd_user_reader *r, hd_user_type type, int64_t *value) {
  bool yes = type == 1 && hd_user_accept_word(r, "true");
  if (yes || (type == 1 && hd_user_accept_word(r, "false"))) {
    *value = -(int64_t)yes;
    return HEDDLE_OK;
  }
  int64_t least = type == 64 ? INT64_MIN : -(INT64_C(1) << (type - 1));
  int64_t most = type == 64 ? INT64_MAX : type == 1 ? 1 : -least - 1;
  HD_TRY(hd_user_read_integer(r, least, most, value));
  *value = type == 1 ? -(*value & 1) : *value;
  return HEDDLE_OK;
}

/* Reads an operand of a given type: a local value, the address of a table, or a number. */
heddle_status hd_user_read_operand(hd_user_reader *r, hd_user_type type, hd_user_operand *operand) {
  hd_user_word word;
  *operand = (hd_user_operand){.type = type};
  hd_user_skip_spaces(r);
  if (r->at < r->end && *r->at == '%') {
    HD_TRY(hd_user_read_name(r, '%', &word));
    const hd_user_name *found = find_name(r, word, false);
    operand->kind = HD_USER_VALUE;
    operand->index = found->index;
    return found->word.at && found->type == type
               ? HEDDLE_OK
               : hd_user_refuse_here(r, "a value of that type, defined above");
  }
  if (r->at < r->end && *r->at == '@' && type == HD_USER_PTR) {
    HD_TRY(hd_user_read_name(r, '@', &word));
    operand->kind = HD_USER_TABLE;
    for (int32_t i = 0; i < r->f->n_tables; i++)
      if (r->f->table[i].name_bytes == word.n && !memcmp(r->f->table[i].name, word.at, word.n)) {
        operand->index = i;
        return HEDDLE_OK;
      }
    return hd_user_refuse_here(r, "a constant that is defined above");
  }
  if (hd_user_is_int(type)) {
    operand->kind = HD_USER_INT;
    return read_int_constant(r, type, &operand->i);
  }
  operand->kind = HD_USER_REAL;
  return hd_user_is_float(type) ? read_real(r, type, &operand->f)
                                : hd_user_refuse_here(r, "a pointer from user, or a constant's");
}

heddle_status hd_user_read_typed(hd_user_reader *r, hd_user_operand *operand) {
  hd_user_type type;
  HD_TRY(hd_user_read_type(r, &type));
  return hd_user_read_operand(r, type, operand);
}

/* Reads two operands of the type that precedes them. */
heddle_status hd_user_read_pair(hd_user_reader *r, hd_user_type type, hd_user_instruction *in) {
  in->n_operands = 2;
  HD_TRY(hd_user_read_operand(r, type, &in->operand[0]));
  HD_TRY(hd_user_expect(r, ','));
  return hd_user_read_operand(r, type, &in->operand[1]);
}

heddle_status hd_user_read_align(hd_user_reader *r, int32_t *align) {
  int64_t bytes = 0;
  if (hd_user_accept_char(r, ',')) {
    HD_TRY(hd_user_expect_word(r, "align"));
    HD_TRY(hd_user_read_integer(r, 1, 256, &bytes));
    if (bytes & (bytes - 1))
      return hd_user_refuse_here(r, "an alignment that is a power of two");
  }
  *align = (int32_t)bytes;
  return HEDDLE_OK;
}
