/* Atomic writes: a reader sees the old file or the new one, even if the writer is killed. A new
 * file has no name while it is written (O_TMPFILE), if that is supported. Then it gets the
 * name PATH.N.tmp, N from 0 to N_SLOTS - 1, and is renamed at once. Its writer holds a lock on it
 * (flock). A temporary file without a lock was left by a killed process, and is removed when PATH
 * is written next. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"

enum { N_SLOTS = 8, TRIES = 1000, WAIT_MS = 2 };

/* A new file that does not have its final name yet. */
typedef struct staged {
  int fd;   /* -1: none */
  int slot; /* N of PATH.N.tmp; -1: it has no name yet */
  mode_t mode;
} staged;

static bool write_all(int fd, const char *data, size_t n_bytes) {
  while (n_bytes) {
    ssize_t n = write(fd, data, n_bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    data += n;
    n_bytes -= (size_t)n;
  }
  return true;
}

static heddle_status write_error(heddle_context *ctx, const char *path, const char *what) {
  int code = errno;
  return hd_error(ctx, code == ENOENT ? HEDDLE_NOT_FOUND : HEDDLE_ENVIRONMENT,
                  (hd_loc){.file = path}, "file.io", "cannot %s: %s", what, strerror(code));
}

static bool slot_name(char name[PATH_MAX], const char *path, int slot) {
  int n = snprintf(name, PATH_MAX, "%s.%d.tmp", path, slot);
  if (n > 0 && n < PATH_MAX)
    return true;
  errno = ENAMETOOLONG;
  return false;
}

static bool is_at(int fd, const char *name) {
  struct stat here, there;
  return fstat(fd, &here) == 0 && lstat(name, &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/* Removes the temporary file of that slot if its writer has ended. Only the holder of the lock
 * removes or renames a file, so the name cannot change to another file after is_at. */
static void collect(const char *path, int slot) {
  char name[PATH_MAX];
  int fd = slot_name(name, path, slot) ? open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd < 0)
    return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, name))
    (void)unlink(name);
  close(fd);
}

static int open_folder_of(const char *path, int flags, mode_t mode) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  int n = !slash ? 1 : slash == path ? 1 : (int)(slash - path);
  if (snprintf(folder, sizeof folder, "%.*s", n, slash ? path : ".") >= (int)sizeof folder)
    return -1;
  return open(folder, flags | O_CLOEXEC, mode);
}

/* False if a collector holds the lock. On a file system without locks there are no collectors. */
static bool lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

/* Gives the unnamed file the slot's name, or creates a file with that name. */
static bool take_slot(staged *s, const char *path, int slot) {
  char name[PATH_MAX], self[64];
  if (!slot_name(name, path, slot))
    return false;
  if (s->fd >= 0) {
    snprintf(self, sizeof self, "/proc/self/fd/%d", s->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  }
  int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, s->mode);
  if (fd < 0)
    return false;
  if (lock(fd) && is_at(fd, name)) {
    s->fd = fd;
    return true;
  }
  close(fd); /* a collector was faster */
  errno = EEXIST;
  return false;
}

/* Takes a free slot. If all are taken, other writers of the same path will soon be done: waits. */
static bool take_name(staged *s, const char *path) {
  for (int i = 0; i < TRIES; i++) {
    if (take_slot(s, path, i % N_SLOTS)) {
      s->slot = i % N_SLOTS;
      return true;
    }
    if (errno != EEXIST)
      return false;
    if (i % N_SLOTS == N_SLOTS - 1)
      (void)poll(NULL, 0, WAIT_MS);
  }
  return false;
}

static void drop(staged *s, const char *path) {
  char name[PATH_MAX];
  if (s->slot >= 0 && slot_name(name, path, s->slot))
    (void)unlink(name);
  if (s->fd >= 0)
    close(s->fd);
  *s = (staged){-1, -1, 0};
}

/* Writes the data to disk, to a file without a name if possible. */
static bool stage(const hd_file_part *part, staged *s) {
  for (int i = 0; i < N_SLOTS; i++)
    collect(part->path, i);
  /* take_slot needs /proc to name the file later. */
  bool can_name = access("/proc/self/fd", X_OK) == 0;
  s->fd = can_name ? open_folder_of(part->path, O_TMPFILE | O_WRONLY, s->mode) : -1;
  bool open = s->fd >= 0 ? lock(s->fd) : take_name(s, part->path);
  return open && write_all(s->fd, part->data, part->n_bytes) && fsync(s->fd) == 0;
}

static bool put_in_place(const hd_file_part *part, staged *s) {
  char name[PATH_MAX];
  if (!part->data)
    return unlink(part->path) == 0 || errno == ENOENT;
  if (!slot_name(name, part->path, s->slot) || rename(name, part->path) != 0)
    return false;
  s->slot = -1;
  return true;
}

/* Makes the renames durable. It is not an error if the file system cannot sync a folder. */
static void sync_folder_of(const char *path) {
  int fd = open_folder_of(path, O_RDONLY | O_DIRECTORY, 0);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
}

/* Names all files, then renames them. Blocks signals, so that Ctrl-C cannot interrupt the set. */
static heddle_status put_all(heddle_context *ctx, const hd_file_part *part, staged *s, size_t n) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  bool ok = true;
  size_t at = 0;
  for (size_t i = 0; ok && i < n; i++)
    if (part[i].data && s[i].slot < 0) {
      ok = take_name(&s[i], part[i].path);
      at = i;
    }
  for (size_t i = 0; ok && i < n; i++) {
    ok = put_in_place(&part[i], &s[i]);
    at = i;
  }
  int code = errno;
  for (size_t i = 0; i < n; i++)
    drop(&s[i], part[i].path);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = code;
  return ok ? HEDDLE_OK : write_error(ctx, part[at].path, "write");
}

heddle_status hd_file_write_set(heddle_context *ctx, const hd_file_part *part, size_t n) {
  staged s[HD_MAX_FILE_PARTS];
  for (size_t i = 0; i < n; i++)
    s[i] = (staged){-1, -1, part[i].own ? 0644 : 0666};
  for (size_t i = 0; i < n; i++) {
    if (!part[i].data || stage(&part[i], &s[i]))
      continue;
    heddle_status status = write_error(ctx, part[i].path, "write");
    for (size_t j = 0; j <= i; j++)
      drop(&s[j], part[j].path);
    return status;
  }
  HD_TRY(put_all(ctx, part, s, n));
  if (n)
    sync_folder_of(part[n - 1].path);
  return HEDDLE_OK;
}

/* A device or a pipe (/dev/stdout, /dev/null) cannot be replaced by a rename. */
static heddle_status write_in_place(heddle_context *ctx, const char *path, const void *data,
                                    size_t n_bytes) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return write_error(ctx, path, "open for writing");
  bool ok = write_all(fd, data, n_bytes);
  int code = errno;
  if (close(fd) != 0 && ok) {
    ok = false;
    code = errno;
  }
  errno = code;
  return ok ? HEDDLE_OK : write_error(ctx, path, "write");
}

heddle_status hd_file_write(heddle_context *ctx, const char *path, const void *data,
                            size_t n_bytes) {
  if (strcmp(path, "-") == 0)
    return write_all(STDOUT_FILENO, data, n_bytes) ? HEDDLE_OK : write_error(ctx, path, "write");
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    return write_in_place(ctx, path, data, n_bytes);
  return hd_file_write_set(ctx, &(hd_file_part){path, data ? data : "", n_bytes, false}, 1);
}
