/* Support/memory.h: memory that runs out softly.
 *
 * Heddle's own code meets no NULL. Where malloc has nothing left, the functions below take from a
 * reserve: address space that the first context of the process sets aside, and that costs memory
 * only where it is touched. Each time, the thread's count of shortages goes up. A function that
 * returns a status notes the count before its work and looks again behind it:
 *
 *   uint64_t before = hd_memory_shortages();
 *   heddle_status status = hd_memory_status(ctx, before, work(…)); // HEDDLE_NO_MEMORY after one
 *   if (status != HEDDLE_OK) → free everything, hand out nothing
 *
 * All public functions do so; passes, and loops over input, look in between, so that one step takes
 * a small part of the reserve. What is out of proportion to a step (a buffer of a given size) is
 * asked for by hd_try_malloc. Only when the reserve, too, is used up, the process aborts. */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

/* malloc, the same zeroed, realloc of what had old_bytes, and strdup. Never NULL. */
void *hd_xmalloc(size_t n_bytes);
void *hd_xzalloc(size_t n_bytes);
void *hd_xrealloc(void *p, size_t old_bytes, size_t n_bytes);
char *hd_xstrdup(const char *text);

/* Frees what these functions gave, or malloc did; accepts NULL. The only way that Heddle's own code
 * frees. What is handed to a caller to free() is looked at first: after a shortage nothing is. */
void hd_free(void *p);

/* malloc, and the same zeroed, where the size is the input's: NULL, and a diagnostic that names
 * what it was for, when it cannot be had. The caller returns HEDDLE_NO_MEMORY. */
void *hd_try_malloc(heddle_context *ctx, size_t n_bytes, const char *what);
void *hd_try_zalloc(heddle_context *ctx, size_t n_bytes, const char *what);

/* How often this thread had no memory from malloc, or was told so. */
uint64_t hd_memory_shortages(void);
/* n more: those of a thread that was joined, or of a library's own allocator. */
void hd_memory_add_shortages(uint64_t n);
/* status; or HEDDLE_NO_MEMORY and a diagnostic when there was a shortage since `before`. */
heddle_status hd_memory_status(heddle_context *ctx, uint64_t before, heddle_status status);

/* Sets the reserve aside, once a process; false when there is no address space for it. */
bool hd_memory_reserve(void);
/* From here on jansson's shortages are counted, too: the allocator that it has is wrapped, unless
 * it is. */
void hd_memory_count_json(void);
/* Blocks of the reserve in use; for tests. */
size_t hd_memory_reserve_blocks(void);

#endif
