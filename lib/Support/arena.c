#include "Support/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, ALIGN = 16 };

struct hd_arena_block {
  struct hd_arena_block *next;
  size_t used, cap;
};

static struct hd_arena_block *add_block(hd_arena *arena, size_t n_bytes) {
  size_t header = (sizeof(struct hd_arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  size_t cap = header + (n_bytes > BLOCK_BYTES ? n_bytes : BLOCK_BYTES);
  struct hd_arena_block *block = hd_xzalloc(cap);
  block->next = arena->head;
  block->used = header;
  block->cap = cap;
  arena->head = block;
  return block;
}

void *hd_arena_alloc(hd_arena *arena, size_t n_bytes) {
  if (n_bytes > SIZE_MAX / 2)
    n_bytes = SIZE_MAX / 2; /* too large to exist, but the sums below do not overflow */
  n_bytes = (n_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  struct hd_arena_block *block = arena->head;
  if (!block || block->cap - block->used < n_bytes)
    block = add_block(arena, n_bytes);
  void *p = (char *)block + block->used;
  block->used += n_bytes;
  return p;
}

void *hd_arena_copy(hd_arena *arena, const void *data, size_t n_bytes) {
  void *p = hd_arena_alloc(arena, n_bytes);
  if (n_bytes)
    memcpy(p, data, n_bytes);
  return p;
}

char *hd_arena_strndup(hd_arena *arena, const char *text, size_t n) {
  char *copy = hd_arena_alloc(arena, n + 1);
  memcpy(copy, text, n);
  return copy;
}

char *hd_arena_strdup(hd_arena *arena, const char *text) {
  return hd_arena_strndup(arena, text, strlen(text));
}

char *hd_arena_printf(hd_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *text = hd_arena_alloc(arena, (size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, format, again);
  va_end(again);
  va_end(args);
  return text;
}

void hd_arena_free(hd_arena *arena) {
  while (arena->head) {
    struct hd_arena_block *next = arena->head->next;
    hd_free(arena->head);
    arena->head = next;
  }
}
