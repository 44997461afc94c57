/* Support/lock.h: a lock between processes, by a file. The children that are started while it is
 * held hold it, too: it is free when the last of them has ended, however. The file stays. */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "heddle/context.h"

/* Zero-initialise with fd = -1: not held. */
typedef struct hd_lock {
  int fd;
} hd_lock;

/* Takes it, or says at once that another process has it: HEDDLE_NOT_FOUND, without a diagnostic.
 * HEDDLE_ENVIRONMENT when the file cannot be made. */
heddle_status hd_lock_take(heddle_context *ctx, const char *path, hd_lock *lock);
void hd_lock_free(hd_lock *lock);

#endif
