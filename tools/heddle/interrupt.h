/* heddle/interrupt.h: a user's Ctrl-C, or that nobody reads on, held back while something is to end
 * in good order. */
#ifndef HD_INTERRUPT_H
#define HD_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* Holds SIGINT, SIGTERM, SIGHUP and SIGPIPE back, those that would end this process. Of one
 * thread. */
void interrupt_hold(sigset_t *held);
/* Whether one of them came. */
bool interrupt_came(const sigset_t *held);
/* Lets them through: one that came ends the process, as it would have. */
void interrupt_release(const sigset_t *held);

#endif
