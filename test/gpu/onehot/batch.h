/* batch.h: runs many problems of one form together and compares them element by element. The
 * comparison verifies lib/Spec, the only source of element positions. */
#ifndef ONEHOT_BATCH_H
#define ONEHOT_BATCH_H

#include "packing.h"

typedef struct totals {
  uint64_t checks, mismatches, cases;
} totals;

typedef struct batch batch;

/* Loads the form's kernel; NULL after printing an error. Adds to *counts. */
batch *batch_open(gpu *g, const form *f, const hd_target *target, totals *counts);
/* Adds a problem; runs the collected ones when the batch is full. */
bool batch_add(batch *b, problem *p);
/* Runs the remaining problems and frees the batch. */
bool batch_close(batch *b);

#endif
