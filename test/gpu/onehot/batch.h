/* batch.h: many problems of one form, run together, compared element by element. What is compared
 * here is lib/Spec: nothing else says where an element lies. */
#ifndef ONEHOT_BATCH_H
#define ONEHOT_BATCH_H

#include "packing.h"

typedef struct totals {
  uint64_t checks, mismatches, cases;
} totals;

typedef struct batch batch;

/* Loads the form's kernel; NULL after a message. Adds to *counts. */
batch *batch_open(gpu *g, const form *f, const hd_target *target, totals *counts);
/* Adds a problem; runs what has gathered when the batch is full. */
bool batch_add(batch *b, problem *p);
/* Runs the rest and frees. */
bool batch_close(batch *b);

#endif
