/* Support/scratch.h: a folder that goes when its owner ends: by hd_scratch_close, or by whatever
 * ends this process, SIGKILL included. A child watches for that. */
#ifndef HD_SCRATCH_H
#define HD_SCRATCH_H

#include "Support/child.h"

/* Zero: none. */
typedef struct hd_scratch {
  char *path; /* owned */
  hd_child keeper;
} hd_scratch;

/* A fresh folder under `base` (NULL or "": /tmp). */
heddle_status hd_scratch_open(heddle_context *ctx, const char *base, hd_scratch *scratch);
/* Removes it with all in it. One that was not opened is fine. */
void hd_scratch_close(hd_scratch *scratch);

#endif
