/* layout_shared.h: layouts of operands that an MMA reads from shared memory through a
 * descriptor. */
#ifndef HEDDLE_LAYOUT_SHARED_H
#define HEDDLE_LAYOUT_SHARED_H

#include <stdint.h>

#include "Spec/spec.h"
#include "layout_picture.h"

/* As given on the command line. */
typedef struct layout_form {
  const char *swizzle, *major; /* "none", "32", "64", "128"; "k", "mn" */
  int64_t lbo, sbo;            /* bytes; 0: no gaps */
} layout_form;

/* Adds every element of A or B of wgmma.sp or tcgen05.mma.sp; CLI_GO, or the exit code for an
 * illegal form, which is reported. */
int layout_shared_entries(const hd_spec_row *row, hd_operand_id id, const layout_form *form,
                          layout_picture *p);

#endif
