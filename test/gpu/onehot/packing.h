/* packing.h: packs a problem in the register and shared-memory layouts of specs/, for the kernel of
 * kernel_text.c. specs/ is the only source of element positions. */
#ifndef ONEHOT_PACKING_H
#define ONEHOT_PACKING_H

#include "gpu.h"
#include "problem.h"

/* How an operand lies in shared memory: in a tile `steps` instructions wide, of which this one uses
 * number `step`. */
typedef struct shared_form {
  hd_canonical canonical;
  unsigned steps, step;
} shared_form;

/* One kernel: a row, a selector, immediates, shared forms. */
typedef struct form {
  const hd_spec_row *row;
  unsigned selector;
  bool trans_a, trans_b, negate_a, negate_b, satfinite;
  int32_t c_base; /* s32: added to every element of C, to reach the ends of the range */
  shared_form a, b; /* of operands in shared memory */
} form;

/* PTX of the form's kernel for a target (kernel_text.c); owned. */
char *kernel_text(const form *f, const hd_target *target, unsigned ptx);
/* The same in the oldest PTX version that supports the row. */
char *kernel_text_oldest(const form *f, const hd_target *target);

/* The meaning of a problem's numbers: container bits and value, indexed by number as uint8_t. */
typedef struct encoder {
  uint32_t bits[256];
  double value[256];
} encoder;

typedef struct encoders {
  encoder a, b, c;
} encoders;

/* Sets e to the elements nearest to 256 values. */
void encoder_set(encoder *e, heddle_elem elem, const double value[256]);
/* Each number represents itself; in C, itself plus c_base. */
void encoders_integers(encoders *e, const form *f);
/* The result of the form for a sum outside s32: the end of the range with .satfinite, else its low
 * 32 bits. */
int32_t form_bounded(const form *f, int64_t sum);

typedef struct packing packing;

/* NULL if the shared form of an operand does not exist. */
packing *packing_open(const form *f);
void packing_free(packing *k);

/* Bytes of one case: registers and the images of shared memory; accumulators. */
size_t packing_in_bytes(const packing *k);
size_t packing_out_bytes(const packing *k);
/* From p it uses only random bits, for lanes that do not contribute. */
void packing_pack(const packing *k, const encoders *e, problem *p, void *in);
/* Inverts the highest bit of A's first element. */
void packing_flip(const packing *k, void *in);

/* The launch of n_cases consecutive cases. */
gpu_job packing_job(const packing *k, const void *in, void *out, unsigned n_cases);

/* Elements of D in the order of the registers: container bits and position. */
size_t packing_n_d(const packing *k);
uint32_t packing_d(const packing *k, const uint32_t *out, size_t i, unsigned *row, unsigned *col);

#endif
