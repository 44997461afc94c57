/* Suggestions for misspelt ops, attributes and element types. */
#include "IR/op_info.h"
#include "Support/nearest.h"

struct op_cursor {
  hd_level level;
  int i;
};

static const char *next_op(void *user) {
  struct op_cursor *c = user;
  while (c->i < HD_N_OPS) {
    const hd_op_info *info = hd_op_get_info((hd_op_kind)c->i++);
    if (hd_op_is_of_level(info, c->level))
      return info->text;
  }
  return NULL;
}

const char *hd_op_nearest(const char *wrong, hd_level level) {
  struct op_cursor c = {level, 0};
  return hd_nearest_name(wrong, next_op, &c);
}

void hd_op_list(hd_level level, hd_strbuf *out) {
  struct op_cursor c = {level, 0};
  const char *before = "";
  for (const char *name = next_op(&c); name; name = next_op(&c), before = ", ")
    hd_strbuf_printf(out, "%s%s", before, name);
}

struct attr_cursor {
  hd_op_kind kind;
  int i;
};

static const char *next_attr(void *user) {
  struct attr_cursor *c = user;
  while (c->i < HD_N_ATTRS) {
    hd_attr_key key = (hd_attr_key)c->i++;
    if (hd_attr_get_use(c->kind, key) != HD_ATTR_REFUSED)
      return hd_attr_name(key);
  }
  return NULL;
}

const char *hd_attr_nearest(hd_op_kind kind, const char *wrong) {
  struct attr_cursor c = {kind, 0};
  return hd_nearest_name(wrong, next_attr, &c);
}

static const char *next_elem(void *user) {
  int *i = user;
  return *i < HEDDLE_N_ELEMS ? heddle_elem_get((heddle_elem)(*i)++)->name : NULL;
}

const char *hd_elem_nearest(const char *wrong) {
  int i = 0;
  return hd_nearest_name(wrong, next_elem, &i);
}
