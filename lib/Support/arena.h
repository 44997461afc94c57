/* Support/arena.h: memory that is freed all at once. */
#ifndef HD_ARENA_H
#define HD_ARENA_H

#include <stddef.h>

#include "Support/memory.h"

/* A bump allocator. Initialize with zeros. Never returns NULL (Support/memory.h). */
typedef struct hd_arena {
  struct hd_arena_block *head;
} hd_arena;

/* Zeroed memory, aligned to 16 bytes, valid until hd_arena_free. */
void *hd_arena_alloc(hd_arena *arena, size_t n_bytes);
/* A copy of n_bytes of data. */
void *hd_arena_copy(hd_arena *arena, const void *data, size_t n_bytes);
/* A copy of a string, of n characters, or of formatted text. */
char *hd_arena_strdup(hd_arena *arena, const char *text);
char *hd_arena_strndup(hd_arena *arena, const char *text, size_t n);
char *hd_arena_printf(hd_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hd_arena_free(hd_arena *arena);

#define HD_NEW(arena, type) ((type *)hd_arena_alloc((arena), sizeof(type)))
#define HD_NEW_ARRAY(arena, type, n) ((type *)hd_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Appends a value to an array (owned, hd_free) and grows the array if needed. */
#define HD_PUSH(array, count, cap, value)                                                          \
  do {                                                                                             \
    if ((count) == (cap)) {                                                                        \
      size_t hd_push_old = sizeof *(array) * (size_t)(cap);                                        \
      (cap) = (cap) ? (cap) * 2 : 8;                                                               \
      (array) = hd_xrealloc((array), hd_push_old, sizeof *(array) * (size_t)(cap));                \
    }                                                                                              \
    (array)[(count)++] = (value);                                                                  \
  } while (0)

#define HD_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
