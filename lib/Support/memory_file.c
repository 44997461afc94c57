#include "Support/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "Support/diag.h"

static bool fill(int fd, const char *data, size_t n_bytes) {
  for (ssize_t n; n_bytes; data += n, n_bytes -= (size_t)n)
    if ((n = write(fd, data, n_bytes)) < 0)
      return false;
  return true;
}

/* The descriptor is above 2, because a child gets its own standard descriptors. */
static int make(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC), above = fd;
  if (fd >= 0 && fd <= STDERR_FILENO) {
    above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
  }
  return above;
}

heddle_status hd_memory_file_create(heddle_context *ctx, const char *name, const void *data,
                                    size_t n_bytes, hd_memory_file *file) {
  hd_memory_file made = {.fd = make(name)};
  if (made.fd < 0 || !fill(made.fd, data, n_bytes)) {
    int code = errno;
    hd_memory_file_close(&made);
    return hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = name}, "file.io",
                    "cannot make a file of %zu bytes in memory: %s", n_bytes, strerror(code));
  }
  snprintf(made.path, sizeof made.path, "/proc/self/fd/%d", made.fd);
  *file = made;
  return HEDDLE_OK;
}

void hd_memory_file_close(hd_memory_file *file) {
  if (file->fd >= 0)
    close(file->fd);
  file->fd = -1;
}
