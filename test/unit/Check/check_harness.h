/* Kernels of test/check/Inputs, as they are or with an error injected, before the checker. */
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
  const char *name, *file, *rules; /* rules: any of these words */
  edit edits[MOST_EDITS];
} injected;

/* The text of an input; owned. */
char *kernel_text(const char *file);
/* The text (consumed) with its first `from` replaced; owned. */
char *replace(char *text, const edit *e);
heddle_status check_text(const char *text, hd_check_report *report);
/* How many of the errors were not found by one of their rules; each is named. */
int count_missed(const injected *errors, size_t n);

#endif
