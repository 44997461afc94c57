#include <pthread.h>
#include <stdatomic.h>

#include "mutate.h"

enum { MAX_THREADS = 64 };

typedef struct pool {
  size_t n;
  atomic_size_t next;
  void (*work)(void *user, size_t i);
  void *user;
} pool;

static void *run(void *user) {
  pool *p = user;
  for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n;)
    p->work(p->user, i);
  return NULL;
}

void mutate_pool(int n_threads, size_t n, void (*work)(void *user, size_t i), void *user) {
  pool p = {.n = n, .work = work, .user = user};
  pthread_t thread[MAX_THREADS];
  int started = 0;
  while (started < n_threads - 1 && started < MAX_THREADS &&
         pthread_create(&thread[started], NULL, run, &p) == 0)
    started++;
  run(&p);
  while (started)
    pthread_join(thread[--started], NULL);
}
