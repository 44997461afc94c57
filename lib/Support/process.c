#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/spawn.h"

enum { POLL_MS = 2, DRAIN_CHUNKS = 64, TIMED_OUT = -1, LOST = -2 };

/* Reads available bytes without waiting, up to a limit: a child that never stops writing must not
 * prevent its timeout. False at the end of the output. */
static bool drain(int fd, hd_strbuf *output) {
  char chunk[4096];
  for (int i = 0; i < DRAIN_CHUNKS; i++) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n > 0) {
      if (output)
        hd_strbuf_addn(output, chunk, (size_t)n);
      continue;
    }
    if (n < 0 && errno == EINTR)
      continue;
    return n < 0 && errno == EAGAIN;
  }
  return true;
}

/* Returns the wait status; LOST if the host program ignores SIGCHLD or reaps all children;
 * TIMED_OUT after killing the child's process group. Waits for the end of the child and not of the
 * output, because a grandchild may keep the pipe open. */
static int collect(pid_t pid, int fd, double timeout_s, hd_strbuf *output) {
  double deadline = hd_clock_seconds() + timeout_s;
  bool open = true;
  int status = 0;
  for (;;) {
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    (void)poll(&wanted, open ? 1 : 0, POLL_MS);
    open = open && drain(fd, output);
    pid_t ended = waitpid(pid, &status, open || timeout_s > 0 ? WNOHANG : 0);
    if (ended == pid)
      break;
    if (ended < 0 && errno != EINTR)
      return LOST;
    if (timeout_s > 0 && hd_clock_seconds() > deadline) {
      hd_spawn_kill(pid, &status);
      return TIMED_OUT;
    }
  }
  if (open)
    drain(fd, output);
  return status;
}

heddle_status hd_process_run_with(heddle_context *ctx, const char *const *argv,
                                  const hd_memory_file *files, int n_files, double timeout_s,
                                  hd_strbuf *output, int *exit_code) {
  int pid, fd;
  HD_TRY(hd_spawn(ctx, argv, HD_SPAWN_LISTEN, files, n_files, &pid, &fd));
  int status = collect(pid, fd, timeout_s, output);
  close(fd);
  if (status == TIMED_OUT)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "process.timeout",
                    "'%s' did not end within %g s and was killed", argv[0], timeout_s);
  if (status == LOST)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "process.wait",
                    "the exit code of '%s' is lost: this program ignores SIGCHLD, or waits for "
                    "children that it did not start; legal: neither while this call runs",
                    argv[0]);
  *exit_code = hd_exit_code(status);
  return HEDDLE_OK;
}

uint64_t hd_process_memory(int pid) {
  char path[64], text[128];
  unsigned long long all, resident = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  size_t n = hd_file_read_head(path, text, sizeof text - 1);
  text[n] = '\0';
  return sscanf(text, "%llu %llu", &all, &resident) == 2
             ? resident * (uint64_t)sysconf(_SC_PAGESIZE)
             : 0;
}

/* 0: it has ended. */
static int parent_of(int pid) {
  char path[64], text[256];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  text[hd_file_read_head(path, text, sizeof text - 1)] = '\0';
  const char *name_end = strrchr(text, ')'); /* the name may contain anything */
  return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

bool hd_process_is_below(int pid, int ancestor) {
  enum { MAX_DEPTH = 64 };
  for (int depth = 0; pid > 1 && pid != ancestor && depth < MAX_DEPTH; depth++)
    pid = parent_of(pid);
  return pid == ancestor;
}

heddle_status hd_process_run(heddle_context *ctx, const char *const *argv, double timeout_s,
                             hd_strbuf *output, int *exit_code) {
  return hd_process_run_with(ctx, argv, NULL, 0, timeout_s, output, exit_code);
}

#if defined(__SANITIZE_ADDRESS__) /* ASan maps terabytes and is slow */
enum { LIMITS_MEMORY = 0, SLOWER = 10 };
#else
enum { LIMITS_MEMORY = 1, SLOWER = 1 };
#endif

static bool set_limit(int resource, rlim_t most) {
  return setrlimit(resource, &(struct rlimit){most, most}) == 0;
}

/* The timer sends SIGPROF and is finer than RLIMIT_CPU, the fallback if the signal is caught. */
static bool set_time(double cpu_seconds) {
  long us = (long)(cpu_seconds * SLOWER * 1e6);
  struct itimerval once = {.it_value = {us / 1000000, us % 1000000}};
  return setitimer(ITIMER_PROF, &once, NULL) == 0 &&
         set_limit(RLIMIT_CPU, (rlim_t)(cpu_seconds * SLOWER) + 1);
}

heddle_status hd_process_limit(heddle_context *ctx, double cpu_seconds, size_t memory_bytes) {
  bool ok = set_time(cpu_seconds) && set_limit(RLIMIT_CORE, 0) &&
            set_limit(RLIMIT_FSIZE, 4 << 20) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            (!LIMITS_MEMORY || set_limit(RLIMIT_AS, memory_bytes));
  return ok ? HEDDLE_OK
            : hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "process.limit",
                       "cannot limit this process: %s", strerror(errno));
}
