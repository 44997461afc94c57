/* Support/child.h: a child process that is talked to by lines. Its standard input and output are
 * one socket, so that speaking to one that died is an answer and not a signal; its standard
 * error is ours. */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include <stdbool.h>

#include "Support/strbuf.h"
#include "heddle/context.h"

/* Zero: not started. */
typedef struct hd_child {
  int pid, fd;    /* pid 0: not running */
  bool ended;     /* it closed its end, or said 1 MiB that nobody took; lines may be pending */
  hd_strbuf heard; /* bytes that are no whole line yet, and lines not yet taken */
} hd_child;

/* Starts argv[0] (found on PATH) in a process group of its own. No shell. */
heddle_status hd_child_start(heddle_context *ctx, const char *const *argv, hd_child *child);
/* Sends one line; false when nobody listens any more. */
bool hd_child_say(hd_child *child, const char *line);
/* Takes the next whole line (owned by the buffer, without its end); false when there is none
 * yet. */
bool hd_child_take(hd_child *child, hd_strbuf *line);
/* Waits until one of n children has said something or ended, at most timeout_s. Children that
 * are NULL or not running are passed over. */
void hd_children_wait(hd_child *const *children, int n, double timeout_s);
/* Kills its process group, waits a few seconds for it, frees what it said; *how (may be NULL) is
 * its exit code, or 128 + signal. One that was not started is fine. */
void hd_child_stop(hd_child *child, int *how);

#endif
