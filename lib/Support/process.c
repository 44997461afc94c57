#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/spawn.h"

enum { POLL_MS = 2, DRAIN_CHUNKS = 64, TIMED_OUT = -1, LOST = -2 };

/* Reads what is there without waiting, within bounds: a child that never stops talking must not
 * outlive its time. False at the end of the output. */
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

static void wait_for_output(int fd, bool open) {
  struct pollfd wanted = {.fd = fd, .events = POLLIN};
  (void)poll(&wanted, open ? 1 : 0, POLL_MS);
}

/* The wait status; LOST when the host program ignores SIGCHLD or reaps all children; TIMED_OUT
 * after killing the child's process group. A grandchild that keeps the pipe open does not hold us:
 * the child's own end decides. */
static int collect(pid_t pid, int fd, double timeout_s, hd_strbuf *output) {
  double deadline = hd_clock_seconds() + timeout_s;
  bool open = true;
  int status = 0;
  for (;;) {
    wait_for_output(fd, open);
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

heddle_status hd_process_run(heddle_context *ctx, const char *const *argv, double timeout_s,
                             hd_strbuf *output, int *exit_code) {
  return hd_process_run_with(ctx, argv, NULL, 0, timeout_s, output, exit_code);
}
