/* Support/lock.h: a lock between processes, implemented by a lock file. Children that are started
 * while it is held inherit it; it is free when the last of them has ended. The file is kept. */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "heddle/context.h"

/* Initialize fd to -1: not held. */
typedef struct hd_lock {
  int fd;
} hd_lock;

/* Takes the lock without waiting. HEDDLE_NOT_FOUND, without a diagnostic, if another process holds
 * it. HEDDLE_ENVIRONMENT if the file cannot be created or locked. */
heddle_status hd_lock_take(heddle_context *ctx, const char *path, hd_lock *lock);
void hd_lock_free(hd_lock *lock);

#endif
