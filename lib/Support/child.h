/* Support/child.h: a child process that exchanges lines with this one. Its standard input and
 * output are one socket, so that a write to a dead child is an error and not a signal. Its standard
 * error is inherited. */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include <stdbool.h>

#include "Support/strbuf.h"
#include "heddle/context.h"

/* All zero: not started. */
typedef struct hd_child {
  int pid, fd;    /* pid 0: not running */
  bool ended;     /* it closed its end, or over 1 MiB is pending; lines may be pending */
  hd_strbuf heard; /* received lines that are not taken yet, and a partial line */
} hd_child;

/* Starts argv[0] (found on PATH) in its own process group. No shell. */
heddle_status hd_child_start(heddle_context *ctx, const char *const *argv, hd_child *child);
/* Sends one line. False if the child does not read it. */
bool hd_child_say(hd_child *child, const char *line);
/* Takes the next whole line, without its end, into the buffer. False if there is no whole line
 * yet. */
bool hd_child_take(hd_child *child, hd_strbuf *line);
/* Waits at most timeout_s until one of n children has sent something or ended. Ignores children
 * that are NULL or not running. */
void hd_children_wait(hd_child *const *children, int n, double timeout_s);
/* Kills the process group, waits a few seconds for it, and frees the received lines. *how (may be
 * NULL) is the exit code, or 128 + signal. Accepts a child that was not started. */
void hd_child_stop(hd_child *child, int *how);

#endif
