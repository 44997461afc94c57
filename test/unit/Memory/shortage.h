/* Allocations that fail: the process's malloc, calloc and realloc go through here, and so do those
 * of shared libraries. */
#ifndef SHORTAGE_H
#define SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations are counted, and may fail. */
typedef enum shortage_of {
  SHORTAGE_ANY, /* every library's, libc's too */
  SHORTAGE_OWN  /* called from the program itself, into which Heddle is linked: not LLVM's */
} shortage_of;

/* From now on the n-th counted allocation fails (0: none does), and with `lasting` all behind it,
 * too. What is allocated is watched. */
void shortage_begin(shortage_of of, uint64_t n, bool lasting);
/* Ends it; how many allocations were counted. */
uint64_t shortage_end(void);
/* Counted allocations since shortage_begin that nobody has freed. */
int64_t shortage_leaks(void);

#endif
