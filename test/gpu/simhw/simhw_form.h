/* simhw_form.h: runs one kernel on both sides and measures the difference. */
#ifndef SIMHW_FORM_H
#define SIMHW_FORM_H

#include "packing.h"

/* The two sides. Without a device, the other side is the product in double precision. */
typedef struct sides {
  gpu *g; /* NULL: none */
  const hd_target *target;
  bool inject; /* the simulator sees one bit of A inverted */
} sides;

/* Over all cases of a row. rel: the difference divided by |c| + sum of |a*b|, the scale of rounding
 * errors. */
typedef struct apart {
  uint64_t n_exact, n_unequal; /* elements of D from small integers, and those whose bits differ */
  double max_abs, max_rel;     /* of D from random normal values */
} apart;

/* False after printing an error: a side did not run. */
bool simhw_form(const sides *s, const form *f, apart *r);
/* ldmatrix and stmatrix: moved bits. */
bool simhw_move(const sides *s, const hd_spec_row *row, apart *r);

#endif
