/* Support/spawn.h: how a program is started and how it ended. Of this folder: process.c waits for
 * one to end, child.c talks to one. */
#ifndef HD_SPAWN_H
#define HD_SPAWN_H

#include <stdbool.h>

#include "Support/memory_file.h"

typedef enum hd_spawn_mode {
  HD_SPAWN_LISTEN, /* its input is empty; its output and errors come to us by a pipe */
  HD_SPAWN_TALK    /* its input and output are a socket to us; its errors are ours */
} hd_spawn_mode;

/* Starts argv[0] (found on PATH; no shell) with no signal blocked, in a process group of its own,
 * so that killing the group ends what it started, too. It holds `files` as we do. *fd: our end,
 * which never blocks (yours to close). HEDDLE_ENVIRONMENT when it cannot be started. */
heddle_status hd_spawn(heddle_context *ctx, const char *const *argv, hd_spawn_mode mode,
                       const hd_memory_file *files, int n_files, int *pid, int *fd);
/* Waits for it to end, at most so long. True: it is gone; *wait_status (waitpid's) stays as it was
 * when somebody else has waited for it. */
bool hd_spawn_wait(int pid, double most_s, int *wait_status);
/* Kills its group, and waits for it, but not long: one that is deep in a driver may be slow to die,
 * or never do. */
void hd_spawn_kill(int pid, int *wait_status);
/* Of what waitpid says: its exit code, or 128 + the signal that ended it. */
int hd_exit_code(int wait_status);

#endif
