/* matrix_move.h: ldmatrix and stmatrix: every 16-bit element has its own number, so one run shows
 * where each comes from. */
#ifndef ONEHOT_MATRIX_MOVE_H
#define ONEHOT_MATRIX_MOVE_H

#include "batch.h"

enum { MOVE_BYTES = 32 * 16 };

/* ldmatrix: in is the image (32 rows of 16 bytes), out the registers (reg * 32 + lane); stmatrix
 * the other way. */
typedef struct matrix_move {
  uint32_t in[MOVE_BYTES / 4], out[MOVE_BYTES / 4];
} matrix_move;

char *matrix_move_text(const hd_spec_row *row, const hd_target *target); /* owned */
/* Numbers the elements; the job borrows move. */
gpu_job matrix_move_job(matrix_move *move);
/* Bytes that are not where specs/ says. inject: looks into the neighbouring row, and must find
 * some. */
unsigned matrix_move_wrong(const hd_spec_row *row, matrix_move *move, bool inject,
                           unsigned *n_checks);

bool matrix_move_run(gpu *g, const hd_spec_row *row, const hd_target *target, bool inject,
                     totals *t);

#endif
