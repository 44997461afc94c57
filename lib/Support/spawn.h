/* Support/spawn.h: starting a program and its exit status. Private to this folder: process.c runs a
 * program to completion, child.c exchanges lines with one. */
#ifndef HD_SPAWN_H
#define HD_SPAWN_H

#include <stdbool.h>

#include "Support/memory_file.h"

typedef enum hd_spawn_mode {
  HD_SPAWN_LISTEN, /* stdin is /dev/null; stdout and stderr are a pipe to this process */
  HD_SPAWN_TALK    /* stdin and stdout are a socket to this process; stderr is inherited */
} hd_spawn_mode;

/* Starts argv[0] (found on PATH; no shell) with no signal blocked, in its own process group, so
 * that killing the group ends its children as well. It inherits `files`. *fd is the other end,
 * non-blocking (owned, close). HEDDLE_ENVIRONMENT if the program cannot be started. */
heddle_status hd_spawn(heddle_context *ctx, const char *const *argv, hd_spawn_mode mode,
                       const hd_memory_file *files, int n_files, int *pid, int *fd);
/* Waits at most most_s seconds for the process to end. True if it has ended. *wait_status (from
 * waitpid) is untouched if it was reaped elsewhere. */
bool hd_spawn_wait(int pid, double most_s, int *wait_status);
/* Kills the process group and waits for the process a few seconds only: inside a driver it may take
 * long to end, or never end. */
void hd_spawn_kill(int pid, int *wait_status);
/* Converts a wait status: the exit code, or 128 + the signal that ended the process. */
int hd_exit_code(int wait_status);

#endif
