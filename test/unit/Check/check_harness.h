/* Runs the checker on kernels of test/check/Inputs, unchanged or with an injected fault. */
#ifndef CHECK_HARNESS_H
#define CHECK_HARNESS_H

#include "Check/check.h"

#define CLUSTER "hopper_cluster"
#define GATHER "hopper_gather"
#define AMPERE "ampere_cp_async"
#define SPLIT "ampere_split"
#define SUM "hopper_split"
#define RING_SUM "hopper_ring_sum"
#define STAGED "hopper_staged"
#define LAST "hopper_last"

enum { MOST_EDITS = 8 };

typedef struct edit {
  const char *from, *to;
} edit;

typedef struct injected {
  const char *name, *file, *rules; /* rules: one of these words must be reported */
  edit edits[MOST_EDITS];
} injected;

/* Returns the text of an input; owned. */
char *kernel_text(const char *file);
/* Returns the text (consumed) with the first `from` replaced; owned. */
char *replace(char *text, const edit *e);
heddle_status check_text(const char *text, hd_check_report *report);
/* Returns the number of faults that no rule of theirs detected, and prints the name of each. */
int count_missed(const injected *errors, size_t n);

#endif
