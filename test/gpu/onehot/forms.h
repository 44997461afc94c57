/* forms.h: which rows run as bare kernels, and in which forms. */
#ifndef ONEHOT_FORMS_H
#define ONEHOT_FORMS_H

#include "packing.h"

/* Matrix instructions of the target whose layout is verified. */
bool row_runs(const hd_spec_row *row, const hd_target *target);

/* The form that kernels use: A in core matrices without swizzle, B in 128-byte rows. */
form form_plain(const hd_spec_row *row, unsigned selector);

/* Canonical shared-memory forms, transposes and negation of a wgmma row; false if a visit fails. */
typedef bool form_visit(void *user, const form *f);
/* s32: C at both ends of its range, saturated and wrapped. */
bool forms_of_overflow(const hd_spec_row *row, form_visit *visit, void *user);
bool forms_of_wgmma(const hd_spec_row *row, form_visit *visit, void *user);

#endif
