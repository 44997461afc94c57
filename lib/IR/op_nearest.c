/* What a misspelt op, attribute or element type should have been. */
#include "IR/op_info.h"
#include "Support/nearest.h"

static const char *next_op(void *user) {
  int *i = user;
  return *i < HD_N_OPS ? hd_op_get_info((hd_op_kind)(*i)++)->text : NULL;
}

const char *hd_op_nearest(const char *wrong) {
  int i = 0;
  return hd_nearest_name(wrong, next_op, &i);
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
