/* IR/grow.h: arrays that grow in an arena, without a stored capacity. */
#ifndef HD_GROW_H
#define HD_GROW_H

#include <stdint.h>
#include <string.h>

#include "Support/arena.h"

/* Room for one more element in an array that was only ever grown by hd_grow, or that hd_grow_exact
 * made: it moves when its length is 0 or a power of two. */
static inline void *hd_grow(hd_arena *arena, void *array, int32_t n, size_t elem_bytes) {
  if (n != 0 && (n & (n - 1)) != 0)
    return array;
  void *moved = hd_arena_alloc(arena, elem_bytes * (n ? 2 * (size_t)n : 1));
  if (n)
    memcpy(moved, array, elem_bytes * (size_t)n);
  return moved;
}

/* An array of n elements with the room that hd_grow expects. */
static inline void *hd_grow_exact(hd_arena *arena, int32_t n, size_t elem_bytes) {
  size_t cap = 1;
  while (cap < (size_t)n)
    cap *= 2;
  return n ? hd_arena_alloc(arena, elem_bytes * cap) : NULL;
}

#endif
