/* Support/arena.h: memory that is freed all at once. */
#ifndef HD_ARENA_H
#define HD_ARENA_H

#include <stddef.h>

#include "heddle/context.h"

/* A bump allocator. Zero-initialise to start. Never fails: out of memory says so and
 * aborts (a compile needs a few megabytes; input sizes are bounded before allocation). */
typedef struct hd_arena {
  struct hd_arena_block *head;
} hd_arena;

/* Zeroed memory, aligned to 16 bytes, valid until hd_arena_free. */
void *hd_arena_alloc(hd_arena *arena, size_t n_bytes);
/* A copy of n_bytes of data. */
void *hd_arena_copy(hd_arena *arena, const void *data, size_t n_bytes);
/* A copy of a string, of n characters, or of a formatted one. */
char *hd_arena_strdup(hd_arena *arena, const char *text);
char *hd_arena_strndup(hd_arena *arena, const char *text, size_t n);
char *hd_arena_printf(hd_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hd_arena_free(hd_arena *arena);

#define HD_NEW(arena, type) ((type *)hd_arena_alloc((arena), sizeof(type)))
#define HD_NEW_ARRAY(arena, type, n) ((type *)hd_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* malloc, the same zeroed, realloc and strdup; they never return NULL. */
void *hd_xmalloc(size_t n_bytes);
void *hd_xzalloc(size_t n_bytes);
void *hd_xrealloc(void *p, size_t n_bytes);
char *hd_xstrdup(const char *text);

/* malloc, and the same zeroed, where a caller can go on without it: NULL, and a diagnostic that
 * names what it was for, when it cannot be had. The caller returns HEDDLE_NO_MEMORY. */
void *hd_try_malloc(heddle_context *ctx, size_t n_bytes, const char *what);
void *hd_try_zalloc(heddle_context *ctx, size_t n_bytes, const char *what);

/* Makes room for one more element in a malloc'd array (owned). */
#define HD_PUSH(array, count, cap, value)                                                          \
  do {                                                                                             \
    if ((count) == (cap)) {                                                                        \
      (cap) = (cap) ? (cap) * 2 : 8;                                                               \
      (array) = hd_xrealloc((array), sizeof *(array) * (size_t)(cap));                             \
    }                                                                                              \
    (array)[(count)++] = (value);                                                                  \
  } while (0)

#define HD_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
