/* IR/op_info.h: lookups in ops.def and attrs.def that the parser, the printer and the verifier
 * share. */
#ifndef HD_OP_INFO_H
#define HD_OP_INFO_H

#include "IR/ir.h"

/* The op or attribute of that name; HD_N_OPS or HD_N_ATTRS if unknown. */
hd_op_kind hd_op_find_kind(const char *text);
hd_attr_key hd_attr_find_key(const char *text);
/* Whether ops of this kind are allowed at a level. */
bool hd_op_is_of_level(const hd_op_info *info, hd_level level);
/* The nearest name to a wrong one (Support/nearest.h) among a level's ops; NULL: none is near. */
const char *hd_op_nearest(const char *wrong, hd_level level);
/* Lists the ops of a level: "kernel, size, …". */
void hd_op_list(hd_level level, hd_strbuf *out);
/* The same among the attributes of an op. */
const char *hd_attr_nearest(hd_op_kind kind, const char *wrong);
const char *hd_elem_nearest(const char *wrong);
/* Whether the op accepts the attribute (HD_ATTR_REFUSED: no), and whether it requires it. */
typedef enum hd_attr_use { HD_ATTR_REFUSED, HD_ATTR_OPTIONAL, HD_ATTR_REQUIRED } hd_attr_use;
hd_attr_use hd_attr_get_use(hd_op_kind kind, hd_attr_key key);
/* "an integer", "a list of expressions", … */
const char *hd_attr_kind_text(hd_attr_kind kind);

/* One letter of an operand or result list of ops.def. */
typedef struct hd_slot {
  char letter;
  bool optional, repeated;
} hd_slot;
/* Reads the letter at *cursor and moves on; false at the end. */
bool hd_slot_next(const char **cursor, hd_slot *slot);
/* Text of a letter, e.g. "i32"; whether a type fits the letter. */
const char *hd_slot_text(char letter);
bool hd_slot_takes(char letter, hd_type type);

/* Text of a type ("ptr<bf16>"), and its first word ("ptr"); NULL: not a kind of type. */
void hd_type_print(hd_type type, hd_strbuf *out);
const char *hd_type_word(hd_type_kind kind);

/* Finds a word in a list separated by spaces. Returns a pointer to the character after the word (a
 * space, '!' or the end), or NULL. */
const char *hd_find_word(const char *list, const char *word);

/* Maximum nesting depth of regions. */
enum { HD_MAX_DEPTH = 64 };

#endif
