/* matrix_move.h: ldmatrix and stmatrix: every element has its own number, so one run shows where each
 * comes from. */
#ifndef ONEHOT_MATRIX_MOVE_H
#define ONEHOT_MATRIX_MOVE_H

#include "batch.h"

bool matrix_move_run(gpu *g, const hd_spec_row *row, const hd_target *target, totals *t);

#endif
