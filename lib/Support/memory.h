/* Support/memory.h: allocation, and the handling of memory shortages.
 *
 * Heddle's own code never gets NULL. If malloc fails, the functions below allocate from a reserve:
 * address space that the first context of the process maps, and that uses memory only where it is
 * touched. Each time, the thread's count of shortages is incremented. A function that returns a
 * status reads the count before its work and compares it afterwards:
 *
 *   uint64_t before = hd_memory_shortages();
 *   heddle_status status = hd_memory_status(ctx, before, work(…)); // HEDDLE_NO_MEMORY if it rose
 *   if (status != HEDDLE_OK) → free everything, return nothing
 *
 * All public functions do this. Passes and loops over input check in between, so that each step
 * uses a small part of the reserve. Large buffers whose size depends on the input are allocated by
 * hd_try_malloc. The process aborts only if the reserve is exhausted as well. */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

/* malloc, calloc, realloc of a block of old_bytes, and strdup. Never NULL. */
void *hd_xmalloc(size_t n_bytes);
void *hd_xzalloc(size_t n_bytes);
void *hd_xrealloc(void *p, size_t old_bytes, size_t n_bytes);
char *hd_xstrdup(const char *text);

/* Frees memory from these functions or from malloc; accepts NULL. Heddle's own code always uses it.
 * Memory that a caller will free() is never from the reserve: a shortage means no result. */
void hd_free(void *p);

/* malloc and calloc, for a size that depends on the input. On failure they return NULL and add a
 * diagnostic that names `what`. The caller returns HEDDLE_NO_MEMORY. */
void *hd_try_malloc(heddle_context *ctx, size_t n_bytes, const char *what);
void *hd_try_zalloc(heddle_context *ctx, size_t n_bytes, const char *what);

/* The number of shortages of this thread, including hd_memory_add_shortages. */
uint64_t hd_memory_shortages(void);
/* Adds n shortages: those of a joined thread, or of a library's own allocator. */
void hd_memory_add_shortages(uint64_t n);
/* Returns status, or HEDDLE_NO_MEMORY and a diagnostic if there was a shortage since `before`. */
heddle_status hd_memory_status(heddle_context *ctx, uint64_t before, heddle_status status);

/* Maps the reserve, once per process. False if there is not enough address space. */
bool hd_memory_reserve(void);
/* Counts the shortages of jansson from now on, by wrapping its allocator unless it is already
 * wrapped. */
void hd_memory_count_json(void);
/* Blocks of the reserve in use; for tests. */
size_t hd_memory_reserve_blocks(void);

#endif
