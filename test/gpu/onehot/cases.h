/* cases.h: the problems that a row must pass. */
#ifndef ONEHOT_CASES_H
#define ONEHOT_CASES_H

#include "batch.h"

/* Every A element x metadata code, every B element, every metadata field x code, random values. */
bool cases_full(batch *b, problem *p);
/* Every row and column of D once, every 7th B element: for the other N of wgmma. */
bool cases_light(batch *b, problem *p);
/* Random problems. */
bool cases_random(batch *b, problem *p, unsigned n);

#endif
