#include "IR/op_info.h"

#include <string.h>

#define HD_IN(set, name, letter) #letter
#define HD_IN_OPTIONAL(set, name, letter) #letter "?"
#define HD_IN_LIST(set, name, letter) #letter "*"
#define HD_OPERANDS(set, list) static const char letters_##set[] = list "";
#include "IR/ops.def"
#undef HD_OPERANDS
#undef HD_IN
#undef HD_IN_OPTIONAL
#undef HD_IN_LIST

#define HD_IN(set, name, letter) #name " "
#define HD_IN_OPTIONAL HD_IN
#define HD_IN_LIST HD_IN
#define HD_OPERANDS(set, list) static const char names_##set[] = list "";
#include "IR/ops.def"
#undef HD_OPERANDS

static const hd_op_info op_infos[HD_N_OPS] = {
#define HD_OP(name, text, levels, operands, results, n_regions, issuer, effects, attributes, doc)  \
  {text,                                                                                           \
   levels,                                                                                         \
   letters_##operands,                                                                             \
   names_##operands,                                                                               \
   results,                                                                                        \
   n_regions,                                                                                      \
   HD_BY_##issuer,                                                                                 \
   #issuer,                                                                                        \
   effects,                                                                                        \
   attributes,                                                                                     \
   doc},
#include "IR/ops.def"
#undef HD_OP
};

static const struct {
  const char *name;
  hd_attr_kind kind;
} attr_infos[HD_N_ATTRS] = {
#define HD_ATTR(name, text, kind) {text, HD_ATTR_KIND_##kind},
#include "IR/attrs.def"
#undef HD_ATTR
};

const hd_op_info *hd_op_get_info(hd_op_kind kind) {
  return (unsigned)kind < HD_N_OPS ? &op_infos[kind] : NULL;
}

bool hd_op_is_of_level(const hd_op_info *info, hd_level level) {
  static const char letters[] = {'P', 'T', 'R'};
  return strchr(info->levels, letters[level]) || (*info->levels == 'S' && level == HD_LEVEL_ROLE);
}

const char *hd_attr_name(hd_attr_key key) {
  return (unsigned)key < HD_N_ATTRS ? attr_infos[key].name : NULL;
}

hd_attr_kind hd_attr_get_kind(hd_attr_key key) {
  return attr_infos[key].kind;
}

const char *hd_attr_kind_text(hd_attr_kind kind) {
  static const char *const texts[] = {[HD_ATTR_KIND_INT] = "an integer",
                                      [HD_ATTR_KIND_STRING] = "a quoted string",
                                      [HD_ATTR_KIND_SYMBOL] = "a bare word",
                                      [HD_ATTR_KIND_ARG] = "the name of an argument",
                                      [HD_ATTR_KIND_ELEM] = "an element type",
                                      [HD_ATTR_KIND_INTS] = "a list of integers",
                                      [HD_ATTR_KIND_EXPRS] = "a list of expressions",
                                      [HD_ATTR_KIND_FLAG] = "a flag, without a value"};
  return texts[kind];
}

hd_op_kind hd_op_find_kind(const char *text) {
  int i = 0;
  while (i < HD_N_OPS && strcmp(op_infos[i].text, text) != 0)
    i++;
  return (hd_op_kind)i;
}

hd_attr_key hd_attr_find_key(const char *text) {
  int i = 0;
  while (i < HD_N_ATTRS && strcmp(attr_infos[i].name, text) != 0)
    i++;
  return (hd_attr_key)i;
}

const char *hd_find_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ')
    if (strncmp(p, word, n) == 0 && (p[n] == '\0' || p[n] == ' ' || p[n] == '!'))
      return p + n;
  return NULL;
}

uint32_t hd_op_effects(hd_op_kind kind) {
  static const char *const words[] = {"pure",      "rd_global", "wr_global", "rd_shared",
                                      "wr_shared", "rd_tmem",   "wr_tmem",   "async",
                                      "generic",   "asyncp",    "sync"};
  uint32_t effects = 0;
  for (uint32_t i = 0; i < HD_COUNT(words); i++)
    if (hd_find_word(op_infos[kind].effects_text, words[i]))
      effects |= 1u << i;
  return effects;
}

hd_attr_use hd_attr_get_use(hd_op_kind kind, hd_attr_key key) {
  const char *after = hd_find_word(op_infos[kind].attributes, attr_infos[key].name);
  return !after ? HD_ATTR_REFUSED : *after == '!' ? HD_ATTR_REQUIRED : HD_ATTR_OPTIONAL;
}

bool hd_slot_next(const char **cursor, hd_slot *slot) {
  const char *p = *cursor;
  if (!*p)
    return false;
  *slot = (hd_slot){.letter = *p++};
  slot->optional = *p == '?';
  slot->repeated = *p == '*';
  *cursor = p + (slot->optional || slot->repeated);
  return true;
}

/* ORDER LETTERS: the letters of ops.def, their types, and the text of a type in messages. */
static const struct {
  char letter;
  hd_type_kind kind;
  const char *text;
} letters[] = {
    {'i', HD_TYPE_I32, "i32"},         {'l', HD_TYPE_I64, "i64"},
    {'b', HD_TYPE_I1, "i1"},           {'f', HD_TYPE_F32, "f32"},
    {'p', HD_TYPE_PTR, "a ptr"},       {'t', HD_TYPE_TMAP, "tmap"},
    {'m', HD_TYPE_MATRIX, "a matrix"}, {'s', HD_TYPE_BUFFER, "buffer"},
    {'r', HD_TYPE_BARRIER, "barrier"}, {'c', HD_TYPE_CURSOR, "cursor"},
    {'g', HD_TYPE_FRAG, "a frag"},     {'.', HD_TYPE_NONE, "a value"},
};

const char *hd_slot_text(char letter) {
  for (size_t i = 0; i < HD_COUNT(letters); i++)
    if (letters[i].letter == letter)
      return letters[i].text;
  return "?";
}

bool hd_slot_takes(char letter, hd_type type) {
  for (size_t i = 0; i < HD_COUNT(letters); i++)
    if (letters[i].letter == letter)
      return letters[i].kind == HD_TYPE_NONE ? type.kind != HD_TYPE_NONE
                                             : letters[i].kind == type.kind;
  return false;
}
