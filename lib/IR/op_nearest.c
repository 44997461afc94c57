#include <string.h>

#include "IR/op_info.h"

enum { MAX_NAME = 40 };

/* Edit distance (insert, delete, change, swap of neighbours counted as two) of short names. */
static int distance(const char *x, const char *y) {
  size_t nx = strlen(x), ny = strlen(y);
  if (nx > MAX_NAME || ny > MAX_NAME)
    return MAX_NAME;
  int row[MAX_NAME + 1];
  for (size_t j = 0; j <= ny; j++)
    row[j] = (int)j;
  for (size_t i = 1; i <= nx; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= ny; j++) {
      int change = diagonal + (x[i - 1] != y[j - 1]);
      int gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
      diagonal = row[j];
      row[j] = change < gap ? change : gap;
    }
  }
  return row[ny];
}

const char *hd_nearest_name(const char *wrong, hd_next_name *next, void *user) {
  const char *best = NULL;
  int best_distance = (int)(strlen(wrong) / 2) + 2; /* further away is no help */
  for (const char *name = next(user); name; name = next(user)) {
    int d = distance(wrong, name);
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

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
