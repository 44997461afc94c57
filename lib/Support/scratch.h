/* Support/scratch.h: a temporary folder. hd_scratch_close removes it; if this process ends in any
 * other way, SIGKILL included, a child process removes it. */
#ifndef HD_SCRATCH_H
#define HD_SCRATCH_H

#include "Support/child.h"

/* All zero: not open. */
typedef struct hd_scratch {
  char *path; /* owned */
  hd_child keeper;
} hd_scratch;

/* Makes a new folder under `base` (NULL or "": /tmp). */
heddle_status hd_scratch_open(heddle_context *ctx, const char *base, hd_scratch *scratch);
/* Removes the folder and its contents. Accepts a scratch that is not open. */
void hd_scratch_close(hd_scratch *scratch);

#endif
