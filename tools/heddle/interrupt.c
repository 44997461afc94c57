#include "interrupt.h"

#include <stddef.h>

#include "Support/arena.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { N_SIGNALS = HD_COUNT(signals) };

void interrupt_hold(sigset_t *held) {
  sigemptyset(held);
  for (int i = 0; i < N_SIGNALS; i++) {
    struct sigaction now;
    if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) /* nohup: SIG_IGN */
      sigaddset(held, signals[i]);
  }
  sigprocmask(SIG_BLOCK, held, NULL);
}

bool interrupt_came(const sigset_t *held) {
  sigset_t pending;
  bool came = false;
  if (sigpending(&pending) != 0)
    return false;
  for (int i = 0; i < N_SIGNALS; i++)
    came |= sigismember(held, signals[i]) == 1 && sigismember(&pending, signals[i]) == 1;
  return came;
}

void interrupt_release(const sigset_t *held) { sigprocmask(SIG_UNBLOCK, held, NULL); }
