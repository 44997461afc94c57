/* simhw_form.h: one kernel on both sides, and how far they are apart. */
#ifndef SIMHW_FORM_H
#define SIMHW_FORM_H

#include "packing.h"

/* Who runs. Without a device the other side is the product in double precision. */
typedef struct sides {
  gpu *g; /* NULL: none */
  const hd_target *target;
  bool inject; /* the simulator sees one bit of A inverted */
} sides;

/* Over all cases of a row. rel: difference over |c| + sum of |a*b|, the scale of rounding
 * errors. */
typedef struct apart {
  uint64_t n_exact, n_unequal; /* elements of D from small integers, and those whose bits differ */
  double max_abs, max_rel;     /* of D from random normal values */
} apart;

/* False after a message: a side did not run. */
bool simhw_form(const sides *s, const form *f, apart *r);
/* ldmatrix and stmatrix: bits that move. */
bool simhw_move(const sides *s, const hd_spec_row *row, apart *r);

#endif
