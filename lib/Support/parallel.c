#include "Support/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "Support/memory.h"

typedef struct queue {
  void (*work)(void *user, int32_t i);
  void *user;
  int n;
  atomic_int next;
  atomic_uint_fast64_t shortages; /* memory shortages of the helper threads */
} queue;

static void take_items(queue *q) {
  for (int i = atomic_fetch_add(&q->next, 1); i < q->n; i = atomic_fetch_add(&q->next, 1))
    q->work(q->user, i);
}

static void *help(void *user) {
  queue *q = user;
  take_items(q);
  q->shortages += hd_memory_shortages(); /* the thread's total count */
  return NULL;
}

void hd_parallel(int32_t n_jobs, int32_t n, void (*work)(void *user, int32_t i), void *user) {
  enum { MAX_HELPERS = 64 };
  pthread_t thread[MAX_HELPERS];
  queue q = {.work = work, .user = user, .n = n};
  int n_threads = 0;
  while (n_threads < n_jobs - 1 && n_threads < MAX_HELPERS && n_threads < n - 1 &&
         pthread_create(&thread[n_threads], NULL, help, &q) == 0)
    n_threads++;
  take_items(&q);
  for (int i = 0; i < n_threads; i++)
    pthread_join(thread[i], NULL);
  hd_memory_add_shortages(q.shortages);
}
