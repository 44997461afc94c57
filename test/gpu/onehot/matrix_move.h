/* matrix_move.h: ldmatrix and stmatrix. Every 16-bit element has its own number, so one run shows
 * where each element comes from. */
#ifndef ONEHOT_MATRIX_MOVE_H
#define ONEHOT_MATRIX_MOVE_H

#include "batch.h"

enum { MOVE_BYTES = 32 * 16 };

/* ldmatrix: in is the image (32 rows of 16 bytes), out the registers (reg * 32 + lane); stmatrix
 * the reverse. */
typedef struct matrix_move {
  uint32_t in[MOVE_BYTES / 4], out[MOVE_BYTES / 4];
} matrix_move;

char *matrix_move_text(const hd_spec_row *row, const hd_target *target); /* owned */
/* Numbers the elements; move is borrowed by the job. */
gpu_job matrix_move_job(matrix_move *move);
/* The number of bytes that are not where specs/ puts them. inject: compares with the neighbouring
 * row, which must give differences. */
unsigned matrix_move_wrong(const hd_spec_row *row, matrix_move *move, bool inject,
                           unsigned *n_checks);

bool matrix_move_run(gpu *g, const hd_spec_row *row, const hd_target *target, bool inject,
                     totals *t);

#endif
