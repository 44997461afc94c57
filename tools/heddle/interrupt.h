/* heddle/interrupt.h: holds signals (Ctrl-C, a closed pipe) until an operation has ended
 * cleanly. */
#ifndef HD_INTERRUPT_H
#define HD_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGPIPE, except those that are ignored. For single-threaded
 * use. */
void interrupt_hold(sigset_t *held);
/* Whether a held signal is pending. */
bool interrupt_came(const sigset_t *held);
/* Unblocks them. A pending signal then ends the process as usual. */
void interrupt_release(const sigset_t *held);

#endif
