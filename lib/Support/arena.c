#include "Support/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"

enum { BLOCK_BYTES = 64 * 1024, ALIGN = 16 };

struct hd_arena_block {
  struct hd_arena_block *next;
  size_t used, cap;
};

static void out_of_memory(void) {
  fputs("heddle: out of memory\n", stderr);
  abort();
}

void *hd_xmalloc(size_t n_bytes) {
  void *p = malloc(n_bytes ? n_bytes : 1);
  if (!p)
    out_of_memory();
  return p;
}

void *hd_xzalloc(size_t n_bytes) {
  void *p = calloc(n_bytes ? n_bytes : 1, 1);
  if (!p)
    out_of_memory();
  return p;
}

void *hd_xrealloc(void *p, size_t n_bytes) {
  p = realloc(p, n_bytes ? n_bytes : 1);
  if (!p)
    out_of_memory();
  return p;
}

char *hd_xstrdup(const char *text) { return strcpy(hd_xmalloc(strlen(text) + 1), text); }

static void *tried(heddle_context *ctx, void *p, size_t n_bytes, const char *what) {
  if (!p)
    hd_error(ctx, HEDDLE_NO_MEMORY, HD_NOWHERE, "memory.size",
             "%s takes %zu bytes, which this machine does not give; legal: smaller sizes", what,
             n_bytes);
  return p;
}

void *hd_try_malloc(heddle_context *ctx, size_t n_bytes, const char *what) {
  return tried(ctx, malloc(n_bytes ? n_bytes : 1), n_bytes, what);
}

void *hd_try_zalloc(heddle_context *ctx, size_t n_bytes, const char *what) {
  return tried(ctx, calloc(n_bytes ? n_bytes : 1, 1), n_bytes, what);
}

static struct hd_arena_block *add_block(hd_arena *arena, size_t n_bytes) {
  size_t header = (sizeof(struct hd_arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  size_t cap = header + (n_bytes > BLOCK_BYTES ? n_bytes : BLOCK_BYTES);
  struct hd_arena_block *block = calloc(1, cap);
  if (!block)
    out_of_memory();
  block->next = arena->head;
  block->used = header;
  block->cap = cap;
  arena->head = block;
  return block;
}

void *hd_arena_alloc(hd_arena *arena, size_t n_bytes) {
  if (n_bytes > SIZE_MAX / 2)
    out_of_memory();
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
    free(arena->head);
    arena->head = next;
  }
}
