/* copy.global: every part of every row of B is copied once, to its own position, with B's sizes. It
 * accesses no shared memory and waits for nothing. */
#include <string.h>

#include "Check/check_machine.h"

/* An entry of the record of D is a strip by some columns; here it is a part of a row. */
enum { STRIP = HD_CK_STRIP, COLUMNS = 8 };

static int64_t parts_of(const hd_op *copy) {
  int64_t panel = hd_op_int(copy, HD_ATTR_PANEL, 1);
  return (hd_op_int(copy, HD_ATTR_ROW_BYTES, 0) + panel - 1) / panel;
}

/* The name of the argument that is copied. */
static const char *name_source(const hd_op *copy) {
  const hd_op *source = hd_copy_global_source(copy)->op;
  return source && source->kind == HD_OP_ARG ? hd_op_str(source, HD_ATTR_ARG) : "none";
}

void hd_ck_copy_global(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  hd_ck_extents *x = m->extents;
  int64_t row = w->env[step->args[HD_AT_copy_global_row]].i,
          part = w->env[step->args[HD_AT_copy_global_part]].i,
          rows = w->env[step->args[HD_AT_copy_global_n]].i,
          pitch = w->env[step->args[HD_AT_copy_global_pitch]].i;
  int64_t elems = hd_op_int(op, HD_ATTR_ROW_BYTES, 0) * 8 /
                  heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits;
  if (m->at.n < 0)
    return hd_ck_undecided(m, op, "a copy of a number of rows that no argument gives");
  if (strcmp(name_source(op), "b") != 0)
    return hd_ck_find(m, "data", (hd_check_access){0}, hd_ck_here(m, w, op, -1),
                      "the argument that the op is for", "what is copied is argument %s, not b",
                      name_source(op));
  if (x->m < 0) { /* the record of the copy, by rows and parts, in place of D's */
    x->m = m->at.n * STRIP;
    x->n = parts_of(op) * COLUMNS;
    x->store_op = op;
    hd_ck_store_begin(x);
  }
  if (rows != m->at.n)
    return hd_ck_differ(m, w, step, "bounds", "mask with n of the launch", "rows", rows, m->at.n);
  if (hd_op_int(op, HD_ATTR_BYTES, 0) < hd_op_int(op, HD_ATTR_ROW_BYTES, 0))
    return hd_ck_differ(m, w, step, "bounds", "rows apart from each other",
                        "bytes of the copy's pitch", hd_op_int(op, HD_ATTR_BYTES, 0),
                        hd_op_int(op, HD_ATTR_ROW_BYTES, 0));
  if (pitch < elems)
    return hd_ck_differ(m, w, step, "bounds", "a pitch no shorter than a row",
                        "elements of the pitch", pitch, elems);
  if (row < 0 || part < 0)
    return hd_ck_undecided(m, op, "a part of a row below 0");
  if (part >= parts_of(op))
    return hd_ck_differ(m, w, step, "bounds", "parts of a row", "part", part, parts_of(op) - 1);
  if (row < rows)
    hd_ck_store_mark(m, w, step, 0, row * STRIP, part * COLUMNS);
}
