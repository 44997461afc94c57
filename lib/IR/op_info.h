/* IR/op_info.h: lookups in ops.def and attrs.def that the parser, the printer and the verifier
 * share. */
#ifndef HD_OP_INFO_H
#define HD_OP_INFO_H

#include "IR/ir.h"

/* The op or attribute of that name; HD_N_OPS and HD_N_ATTRS when there is none. */
hd_op_kind hd_op_find_kind(const char *text);
hd_attr_key hd_attr_find_key(const char *text);
/* Whether ops of this kind may stand at a level. */
bool hd_op_is_of_level(const hd_op_info *info, hd_level level);
/* The nearest name to a wrong one (Support/nearest.h), of a level's ops; NULL when none is near. */
const char *hd_op_nearest(const char *wrong, hd_level level);
/* "kernel, size, …": a level's ops. */
void hd_op_list(hd_level level, hd_strbuf *out);
/* Among the attributes that the op takes. */
const char *hd_attr_nearest(hd_op_kind kind, const char *wrong);
const char *hd_elem_nearest(const char *wrong);
/* Whether the op takes the attribute (HD_ATTR_REFUSED: no), and whether it must have it. */
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
/* "i32", "a fragment", …; whether a type fits the letter. */
const char *hd_slot_text(char letter);
bool hd_slot_takes(char letter, hd_type type);

/* Text of a type ("ptr<bf16>"), and its first word ("ptr"); NULL: no kind of type. */
void hd_type_print(hd_type type, hd_strbuf *out);
const char *hd_type_word(hd_type_kind kind);

/* A word in a list that spaces separate: what stands behind it (a space, '!' or the end); NULL: it
 * is not there. */
const char *hd_find_word(const char *list, const char *word);

/* Regions inside each other. */
enum { HD_MAX_DEPTH = 64 };

#endif
