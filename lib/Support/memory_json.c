/* jansson does not report failed allocations as such. This wrapper of its allocator counts them. */
#include <jansson.h>
#include <pthread.h>

#include "Support/memory.h"

/* jansson's previous allocator, which the wrapper calls. */
static pthread_mutex_t json_lock = PTHREAD_MUTEX_INITIALIZER;
static json_malloc_t given_malloc;
static json_free_t given_free;

static void *counting_malloc(size_t n_bytes) {
  void *p = given_malloc(n_bytes);
  if (!p)
    hd_memory_add_shortages(1);
  return p;
}

static void forward_free(void *p) { given_free(p); }

void hd_memory_count_json(void) {
  json_malloc_t now;
  json_free_t now_free;
  pthread_mutex_lock(&json_lock);
  json_get_alloc_funcs(&now, &now_free);
  if (now != counting_malloc) {
    given_malloc = now;
    given_free = now_free;
    json_set_alloc_funcs(counting_malloc, forward_free);
  }
  pthread_mutex_unlock(&json_lock);
}

/* Restores the previous allocator, because jansson may stay loaded after this library. */
static void __attribute__((destructor)) end(void) {
  json_malloc_t now;
  json_free_t now_free;
  json_get_alloc_funcs(&now, &now_free);
  if (now == counting_malloc)
    json_set_alloc_funcs(given_malloc, given_free);
}
