/* Claims that wait for a job, and waking the keeper. */
#include <unistd.h>

#include "Service/service_state.h"

void hd_wait_for_job(hd_request *r) {
  hd_service *s = r->service;
  hd_arena_free(&r->arena); /* saves memory: thousands of claims may wait */
  pthread_mutex_lock(&s->waiting_lock);
  bool waits = !s->stopping; /* hd_keeper_stop removes waiting requests */
  if (waits) {
    hd_request **at = s->waiting_last ? s->waiting_last : &s->waiting;
    r->next = NULL;
    *at = r;
    s->waiting_last = &r->next;
    s->n_waiting++;
  }
  pthread_mutex_unlock(&s->waiting_lock);
  if (!waits) {
    hd_answer_nothing(r);
    hd_request_resume(r);
  }
}

hd_request *hd_take_waiting(hd_service *s, bool (*take)(const hd_request *r, const void *user),
                                const void *user, int64_t n) {
  hd_request *out = NULL, **last = &out;
  pthread_mutex_lock(&s->waiting_lock);
  for (hd_request **at = &s->waiting; *at && n > 0;) {
    hd_request *r = *at;
    if (!take(r, user)) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    r->next = NULL;
    *last = r;
    last = &r->next;
    s->n_waiting--;
    n--;
  }
  s->waiting_last = &s->waiting;
  while (*s->waiting_last)
    s->waiting_last = &(*s->waiting_last)->next;
  pthread_mutex_unlock(&s->waiting_lock);
  return out;
}

void hd_keeper_wake(hd_service *s) {
  ssize_t n = write(s->wake[1], "", 1); /* if the pipe is full, the keeper is awake */
  (void)n;
}
