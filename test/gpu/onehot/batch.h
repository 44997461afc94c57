/* batch.h: many problems of one form in the register and shared-memory layouts of specs/, run
 * together, compared element by element. What is judged here is lib/Spec: nothing else says where an
 * element lies. */
#ifndef ONEHOT_BATCH_H
#define ONEHOT_BATCH_H

#include "gpu.h"
#include "problem.h"

/* How an operand lies in shared memory: a tile `steps` instructions wide, of which this one uses
 * number `step`. */
typedef struct shared_form {
  hd_canonical canonical;
  unsigned steps, step;
} shared_form;

/* One kernel: a row, a selector, immediates, shared forms. */
typedef struct form {
  const hd_spec_row *row;
  unsigned selector;
  bool trans_a, trans_b, negate_a, negate_b;
  shared_form a, b; /* of operands in shared memory */
} form;

typedef struct totals {
  uint64_t checks, mismatches, cases;
} totals;

typedef struct batch batch;

/* PTX of the form's kernel (kernel_text.c); owned. */
char *kernel_text(const form *f, const hd_target *target, unsigned ptx);

/* Loads the form's kernel; NULL after a message. Adds to *counts. */
batch *batch_open(gpu *g, const form *f, const hd_target *target, totals *counts);
/* Adds a problem; runs what has gathered when the batch is full. */
bool batch_add(batch *b, problem *p);
/* Runs the rest and frees. */
bool batch_close(batch *b);

#endif
