/* Allocations that fail: malloc, calloc and realloc of the process and its shared libraries are
 * replaced by these. */
#ifndef SHORTAGE_H
#define SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations are counted and may fail. */
typedef enum shortage_of {
  SHORTAGE_ANY, /* of all libraries, also libc */
  SHORTAGE_OWN  /* by the program itself, into which Heddle is linked; not by LLVM */
} shortage_of;

/* From now on the n-th counted allocation fails (0: none), and if `lasting` all later ones too.
 * Allocations are tracked. */
void shortage_begin(shortage_of of, uint64_t n, bool lasting);
/* Ends this and returns the number of counted allocations. */
uint64_t shortage_end(void);
/* Counted allocations since shortage_begin that have not been freed. */
int64_t shortage_leaks(void);

#endif
