/* IR/grow.h: growing arrays in an arena, without a stored capacity. */
#ifndef HD_GROW_H
#define HD_GROW_H

#include <stdint.h>
#include <string.h>

#include "Support/arena.h"

/* Makes room for one more element in an array that was made by hd_grow or hd_grow_exact only. The
 * array is moved if its length is 0 or a power of two. */
static inline void *hd_grow(hd_arena *arena, void *array, int32_t n, size_t elem_bytes) {
  if (n != 0 && (n & (n - 1)) != 0)
    return array;
  void *moved = hd_arena_alloc(arena, elem_bytes * (n ? 2 * (size_t)n : 1));
  if (n)
    memcpy(moved, array, elem_bytes * (size_t)n);
  return moved;
}

/* An array of n elements with the capacity that hd_grow expects. */
static inline void *hd_grow_exact(hd_arena *arena, int32_t n, size_t elem_bytes) {
  size_t cap = 1;
  while (cap < (size_t)n)
    cap *= 2;
  return n ? hd_arena_alloc(arena, elem_bytes * cap) : NULL;
}

#endif
