/* Converts memory shortages to statuses: allocations that may fail, and the status of a call. */
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/memory.h"

static void *tried(heddle_context *ctx, void *p, size_t n_bytes, const char *what) {
  if (p)
    return p;
  hd_memory_add_shortages(1);
  hd_error(ctx, HEDDLE_NO_MEMORY, HD_NOWHERE, "memory.size",
           "%s needs %zu bytes, which this machine does not have; legal: smaller sizes", what,
           n_bytes);
  return NULL;
}

void *hd_try_malloc(heddle_context *ctx, size_t n_bytes, const char *what) {
  return tried(ctx, malloc(n_bytes ? n_bytes : 1), n_bytes, what);
}

void *hd_try_zalloc(heddle_context *ctx, size_t n_bytes, const char *what) {
  return tried(ctx, calloc(n_bytes ? n_bytes : 1, 1), n_bytes, what);
}

heddle_status hd_memory_status(heddle_context *ctx, uint64_t before, heddle_status status) {
  if (hd_memory_shortages() == before)
    return status;
  size_t n = heddle_context_count(ctx);
  const heddle_diagnostic *last = n ? heddle_context_get(ctx, n - 1) : NULL;
  if (last && strncmp(last->rule, "memory.", 7) == 0)
    return HEDDLE_NO_MEMORY;
  return hd_error(ctx, HEDDLE_NO_MEMORY, HD_NOWHERE, "memory.short",
                  "out of memory; nothing was created, and all memory was freed");
}
