#include "Support/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"

extern char **environ; /* inherited by the child; heddle itself does not read it */

/* Returns 0 or an error number. */
static int start(const char *const *argv, hd_spawn_mode mode, const hd_memory_file *files,
                 int n_files, int end, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (mode == HD_SPAWN_TALK) {
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, end, STDERR_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  for (int i = 0; i < n_files; i++) /* onto itself: clears FD_CLOEXEC */
    posix_spawn_file_actions_adddup2(&actions, files[i].fd, files[i].fd);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  int code = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return code;
}

heddle_status hd_spawn(heddle_context *ctx, const char *const *argv, hd_spawn_mode mode,
                       const hd_memory_file *files, int n_files, int *pid, int *fd) {
  int ends[2];
  pid_t started;
  int failed = mode == HD_SPAWN_TALK ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                                     : pipe2(ends, O_CLOEXEC);
  int code = failed ? errno : 0;
  if (code == 0) {
    code = start(argv, mode, files, n_files, ends[1], &started);
    close(ends[1]);
    if (code != 0)
      close(ends[0]);
  }
  if (code != 0)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "process.start", "cannot start '%s': %s",
                    argv[0], strerror(code));
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *pid = started;
  *fd = ends[0];
  return HEDDLE_OK;
}

bool hd_spawn_wait(int pid, double most_s, int *wait_status) {
  enum { POLL_MS = 2 };
  double deadline = hd_clock_seconds() + most_s;
  for (;;) {
    int status;
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid)
      *wait_status = status;
    if (ended == pid || (ended < 0 && errno != EINTR))
      return true;
    if (hd_clock_seconds() > deadline)
      return false;
    (void)poll(NULL, 0, POLL_MS);
  }
}

void hd_spawn_kill(int pid, int *wait_status) {
  enum { KILL_SECONDS = 5 };
  kill(-pid, SIGKILL);
  (void)hd_spawn_wait(pid, KILL_SECONDS, wait_status);
}

int hd_exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
