/* die_at.so, for LD_PRELOAD: kills its process at one of its writes or sends, or fakes a full disk.
 *
 *   DIE_PROGRAM=NAME   only in this program, not in its children
 *   DIE_AT=K           SIGKILL in the K-th call that writes or sends; DIE_HALF=1: after half of it
 *   FULL_AT=K          FULL_FOR calls that write a file fail with ENOSPC, from the K-th on
 *
 * Counted: write, pwrite, writev, send, sendto, sendmsg, fsync, fdatasync, ftruncate, rename. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

extern char *program_invocation_short_name;

static long die_at, full_at, full_for, n_calls, n_writes;
static bool is_half;

static long number(const char *name) {
  const char *text = getenv(name);
  return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *program = getenv("DIE_PROGRAM");
  if (!program || strcmp(program, program_invocation_short_name) != 0)
    return;
  die_at = number("DIE_AT");
  full_at = number("FULL_AT");
  full_for = number("FULL_FOR");
  is_half = number("DIE_HALF") != 0;
}

static bool dies(void) {
  return die_at && __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED) == die_at;
}

static void end(void) {
  kill(getpid(), SIGKILL);
  for (;;)
    pause();
}

static bool is_file(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_full(int fd) {
  if (!full_at || !is_file(fd))
    return false;
  long n = __atomic_add_fetch(&n_writes, 1, __ATOMIC_RELAXED);
  if (n < full_at || n >= full_at + full_for)
    return false;
  errno = ENOSPC;
  return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITER(name, params, args, half_args, fd)                                                  \
  ssize_t name params {                                                                            \
    if (is_full(fd))                                                                               \
      return -1;                                                                                   \
    if (dies()) {                                                                                  \
      if (is_half)                                                                                 \
        (void)!REAL(name) half_args;                                                               \
      end();                                                                                       \
    }                                                                                              \
    return REAL(name) args;                                                                        \
  }

WRITER(write, (int fd, const void *p, size_t n), (fd, p, n), (fd, p, n / 2), fd)
WRITER(pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), (fd, p, n / 2, at), fd)
WRITER(pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), (fd, p, n / 2, at),
       fd)
WRITER(writev, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, v, 0), fd)

#define SENDER(name, params, args, half_args)                                                      \
  ssize_t name params {                                                                            \
    if (dies()) {                                                                                  \
      if (is_half)                                                                                 \
        (void)!REAL(name) half_args;                                                               \
      end();                                                                                       \
    }                                                                                              \
    return REAL(name) args;                                                                        \
  }

SENDER(send, (int fd, const void *p, size_t n, int f), (fd, p, n, f), (fd, p, n / 2, f))
SENDER(sendto,
       (int fd, const void *p, size_t n, int f, const struct sockaddr *to, socklen_t len),
       (fd, p, n, f, to, len), (fd, p, n / 2, f, to, len))
SENDER(sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f), (fd, m, f))

#define CHANGER(name, params, args)                                                                \
  int name params {                                                                                \
    if (dies())                                                                                    \
      end();                                                                                       \
    return REAL(name) args;                                                                        \
  }

CHANGER(fsync, (int fd), (fd))
CHANGER(fdatasync, (int fd), (fd))
CHANGER(ftruncate, (int fd, off_t n), (fd, n))
CHANGER(ftruncate64, (int fd, off64_t n), (fd, n))
CHANGER(rename, (const char *from, const char *to), (from, to))
