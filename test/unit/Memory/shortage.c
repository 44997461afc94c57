#include "shortage.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* glibc's own names for these functions. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

/* The linker's symbols for the beginning and end of the program's code. */
extern char __executable_start, etext;

#define EXPORT __attribute__((visibility("default")))

enum { SLOTS = 1 << 17 }; /* open addressing; never full */
static void *const gone = (void *)1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool on, lasting;
  shortage_of of;
  uint64_t fail_at, n;
  int64_t n_live;
  void *slot[SLOTS];
} s;

static size_t hash(const void *p) { return ((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15)) >> 47; }

static void watch(void *p) {
  size_t i = hash(p);
  while (s.slot[i] && s.slot[i] != gone)
    i = (i + 1) % SLOTS;
  s.slot[i] = p;
  s.n_live++;
}

static void forget(const void *p) {
  size_t left = SLOTS;
  for (size_t i = hash(p); s.slot[i] && left; i = (i + 1) % SLOTS, left--)
    if (s.slot[i] == p) {
      s.slot[i] = gone;
      s.n_live--;
      return;
    }
}

static bool is_counted(const void *caller) {
  bool own = (const char *)caller >= &__executable_start && (const char *)caller < &etext;
  return s.on && (s.of == SHORTAGE_ANY || own);
}

/* Counts an allocation; whether it fails. */
static bool count(void) {
  s.n++;
  bool fails = s.fail_at && (s.lasting ? s.n >= s.fail_at : s.n == s.fail_at);
  if (fails)
    errno = ENOMEM;
  return fails;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

EXPORT void *malloc(size_t n) {
  pthread_mutex_lock(&lock);
  bool counted = is_counted(CALLER);
  void *p = counted && count() ? NULL : __libc_malloc(n);
  if (counted && p)
    watch(p);
  pthread_mutex_unlock(&lock);
  return p;
}

EXPORT void *calloc(size_t n, size_t size) {
  pthread_mutex_lock(&lock);
  bool counted = is_counted(CALLER);
  void *p = counted && count() ? NULL : __libc_calloc(n, size);
  if (counted && p)
    watch(p);
  pthread_mutex_unlock(&lock);
  return p;
}

EXPORT void *realloc(void *old, size_t n) {
  pthread_mutex_lock(&lock);
  bool counted = is_counted(CALLER);
  void *p = counted && count() ? NULL : __libc_realloc(old, n);
  if (p && s.n_live)
    forget(old);
  if (counted && p)
    watch(p);
  pthread_mutex_unlock(&lock);
  return p;
}

EXPORT void free(void *p) {
  if (!p)
    return;
  pthread_mutex_lock(&lock);
  if (s.n_live)
    forget(p);
  __libc_free(p);
  pthread_mutex_unlock(&lock);
}

void shortage_begin(shortage_of of, uint64_t n, bool lasting) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < SLOTS; i++)
    s.slot[i] = NULL;
  s.of = of;
  s.fail_at = n;
  s.lasting = lasting;
  s.n = 0;
  s.n_live = 0;
  s.on = true;
  pthread_mutex_unlock(&lock);
}

uint64_t shortage_end(void) {
  pthread_mutex_lock(&lock);
  s.on = false;
  uint64_t n = s.n;
  pthread_mutex_unlock(&lock);
  return n;
}

int64_t shortage_leaks(void) { return s.n_live; }
