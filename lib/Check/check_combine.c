/* combine.global: every part of every column of D is the sum of the columns that its own indices
 * name, and is written once, with the launch's sizes. It accesses no shared memory. The data of the
 * predecessor is available after grid.wait (R8, for all global memory). */
#include "Check/check_machine.h"

/* An entry of the record of D is a strip by some columns; here it is a part of a column. */
enum { STRIP = HD_CK_STRIP, COLUMNS = 8 };

static int64_t column_bytes(const hd_op *op) {
  return hd_op_int(op, HD_ATTR_M, 0) *
         heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits / 8;
}

static int64_t parts_of(const hd_op *op) {
  int64_t panel = hd_op_int(op, HD_ATTR_PANEL, 1);
  return (column_bytes(op) + panel - 1) / panel;
}

void hd_ck_combine(hd_ck_machine *m, hd_ck_warp *w, const hd_ck_step *step) {
  const hd_op *op = step->op;
  hd_ck_extents *x = m->extents;
  int64_t column = w->env[step->args[HD_AT_combine_global_column]].i,
          part = w->env[step->args[HD_AT_combine_global_part]].i,
          n = w->env[step->args[HD_AT_combine_global_n]].i,
          t = w->env[step->args[HD_AT_combine_global_t]].i,
          ldd = w->env[step->args[HD_AT_combine_global_ldd]].i;
  if (m->at.n < 0)
    return hd_ck_undecided(m, op, "columns of a number of products that no argument gives");
  if (x->m < 0) { /* the record of D, by columns and their parts */
    x->m = m->at.t * STRIP;
    x->n = parts_of(op) * COLUMNS;
    x->store_op = op;
    hd_ck_store_begin(x);
  }
  if (n != m->at.n)
    return hd_ck_differ(m, w, step, "bounds", "mask with n of the launch",
                        "columns of the products", n, m->at.n);
  if (t != m->at.t)
    return hd_ck_differ(m, w, step, "bounds", "mask with t of the launch", "columns of D", t,
                        m->at.t);
  if (hd_op_int(op, HD_ATTR_BYTES, 0) < column_bytes(op))
    return hd_ck_differ(m, w, step, "bounds", "columns apart from each other",
                        "bytes from column to column", hd_op_int(op, HD_ATTR_BYTES, 0),
                        column_bytes(op));
  if (ldd < hd_op_int(op, HD_ATTR_M, 0))
    return hd_ck_differ(m, w, step, "bounds", "a pitch no shorter than a column",
                        "elements of D's pitch", ldd, hd_op_int(op, HD_ATTR_M, 0));
  if (column < 0 || part < 0)
    return hd_ck_undecided(m, op, "a part of a column below 0");
  if (column < t && part < parts_of(op))
    hd_ck_store_mark(m, w, step, 0, column * STRIP, part * COLUMNS);
}
