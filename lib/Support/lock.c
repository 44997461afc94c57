#include "Support/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "Support/diag.h"

heddle_status hd_lock_take(heddle_context *ctx, const char *path, hd_lock *lock) {
  int fd = open(path, O_RDWR | O_CREAT, 0666); /* no O_CLOEXEC: children inherit it */
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
    lock->fd = fd;
    return HEDDLE_OK;
  }
  int code = errno;
  if (fd >= 0)
    close(fd);
  if (fd >= 0 && code == EWOULDBLOCK)
    return HEDDLE_NOT_FOUND;
  return hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = path}, "lock.file",
                  "cannot lock it: %s", strerror(code));
}

void hd_lock_free(hd_lock *lock) {
  if (lock->fd >= 0)
    close(lock->fd);
  lock->fd = -1;
}
