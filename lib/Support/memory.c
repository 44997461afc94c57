#include "Support/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "Support/diag.h"

/* The process has one reserve, like malloc's heap. Its blocks are contiguous, and each follows its
 * header. The search is linear, because the reserve is used rarely and for few blocks at a time. */
typedef struct block {
  size_t n_bytes; /* without the header; a multiple of ALIGN */
  size_t used;
} block;

enum { ALIGN = 16, MiB = 1 << 20 };
_Static_assert(sizeof(block) == ALIGN, "what follows a header is aligned");

static struct {
  pthread_once_t once;
  pthread_mutex_t lock;
  char *begin, *end; /* set once, before the first allocation */
  char *top;         /* end of the last block */
  size_t n_used;
} reserve = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local uint64_t shortages;

static void set_aside(void) {
  static const size_t sizes[] = {256, 64, 16}; /* MiB; the smaller ones for address space limits */
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *p = mmap(NULL, sizes[i] * MiB, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      continue;
    reserve.begin = reserve.top = p;
    reserve.end = p + sizes[i] * MiB;
    return;
  }
}

bool hd_memory_reserve(void) {
  pthread_once(&reserve.once, set_aside);
  return reserve.begin != NULL;
}

/* Unmaps the reserve when the library is unloaded. */
static void __attribute__((destructor)) give_back(void) {
  if (!reserve.begin || reserve.n_used)
    return;
  munmap(reserve.begin, (size_t)(reserve.end - reserve.begin));
  reserve.begin = reserve.end = NULL;
}

static bool is_reserved(const void *p) {
  return (const char *)p >= reserve.begin && (const char *)p < reserve.end;
}

static block *next_block(block *b) { return (block *)((char *)b + sizeof *b + b->n_bytes); }

static void split(block *b, size_t n_bytes) {
  if (b->n_bytes - n_bytes < 2 * sizeof *b)
    return;
  size_t rest = b->n_bytes - n_bytes - sizeof *b;
  b->n_bytes = n_bytes;
  *next_block(b) = (block){.n_bytes = rest};
}

/* The first free block of at least that size, or NULL. Merges free neighbors during the search. */
static block *find_free(size_t n_bytes) {
  for (block *b = (block *)(void *)reserve.begin; (char *)b < reserve.top; b = next_block(b)) {
    while (!b->used && (char *)next_block(b) < reserve.top && !next_block(b)->used)
      b->n_bytes += sizeof *b + next_block(b)->n_bytes;
    if (!b->used && b->n_bytes >= n_bytes) {
      split(b, n_bytes);
      return b;
    }
  }
  return NULL;
}

static block *take_block(size_t n_bytes) {
  block *b = find_free(n_bytes);
  if (!b && (size_t)(reserve.end - reserve.top) >= sizeof *b + n_bytes) {
    b = (block *)(void *)reserve.top;
    b->n_bytes = n_bytes;
    reserve.top = (char *)next_block(b);
  }
  if (b) {
    b->used = 1;
    reserve.n_used++;
  }
  return b;
}

/* Allocates from the reserve, not zeroed. */
static void *take(size_t n_bytes) {
  block *b = NULL;
  shortages++;
  if (n_bytes < SIZE_MAX / 2 && hd_memory_reserve()) {
    pthread_mutex_lock(&reserve.lock);
    b = take_block((n_bytes + ALIGN - 1) / ALIGN * ALIGN);
    pthread_mutex_unlock(&reserve.lock);
  }
  if (b)
    return b + 1;
  fprintf(stderr, "heddle: out of memory, and the reserve has no %zu bytes\n", n_bytes);
  abort();
}

static void give(void *p) {
  pthread_mutex_lock(&reserve.lock);
  ((block *)p - 1)->used = 0;
  if (--reserve.n_used == 0) {
    madvise(reserve.begin, (size_t)(reserve.top - reserve.begin), MADV_DONTNEED);
    reserve.top = reserve.begin;
  }
  pthread_mutex_unlock(&reserve.lock);
}

size_t hd_memory_reserve_blocks(void) {
  pthread_mutex_lock(&reserve.lock);
  size_t n = reserve.n_used;
  pthread_mutex_unlock(&reserve.lock);
  return n;
}

void *hd_xmalloc(size_t n_bytes) {
  void *p = malloc(n_bytes ? n_bytes : 1);
  return p ? p : take(n_bytes);
}

void *hd_xzalloc(size_t n_bytes) {
  void *p = calloc(n_bytes ? n_bytes : 1, 1);
  return p ? p : memset(take(n_bytes), 0, n_bytes);
}

void *hd_xrealloc(void *p, size_t old_bytes, size_t n_bytes) {
  if (!p)
    return hd_xmalloc(n_bytes);
  void *moved = is_reserved(p) ? NULL : realloc(p, n_bytes ? n_bytes : 1);
  if (moved)
    return moved;
  moved = hd_xmalloc(n_bytes);
  memcpy(moved, p, old_bytes < n_bytes ? old_bytes : n_bytes);
  hd_free(p);
  return moved;
}

char *hd_xstrdup(const char *text) { return strcpy(hd_xmalloc(strlen(text) + 1), text); }

void hd_free(void *p) {
  if (p && is_reserved(p))
    give(p);
  else
    free(p);
}

uint64_t hd_memory_shortages(void) { return shortages; }

void hd_memory_add_shortages(uint64_t n) { shortages += n; }
