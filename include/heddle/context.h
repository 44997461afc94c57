/* heddle/context.h: the context that owns diagnostics. */
#ifndef HEDDLE_CONTEXT_H
#define HEDDLE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heddle_severity { HEDDLE_NOTE, HEDDLE_WARNING, HEDDLE_ERROR } heddle_severity;

/* One diagnostic. Strings are borrowed: valid until heddle_context_clear or _free. */
typedef struct heddle_diagnostic {
  heddle_severity severity;
  const char *rule;    /* e.g. "problem.k-group"; never NULL */
  const char *text;    /* "got …; legal: …; nearest: …" (docs/embedding.md) */
  const char *file;    /* NULL when the input has no file */
  uint32_t line, col;  /* 1-based; 0 = unknown */
} heddle_diagnostic;

/* Holds diagnostics. Not thread-safe: use one context per thread. The first context of a process
 * reserves address space (256 MiB, less under a limit), so that calls which run out of memory can
 * return HEDDLE_NO_MEMORY with everything freed. */
typedef struct heddle_context heddle_context;

/* A new context, owned by the caller. NULL when out of memory. */
HEDDLE_API heddle_context *heddle_context_create(void);
/* Frees it and every diagnostic in it; accepts NULL. */
HEDDLE_API void heddle_context_free(heddle_context *ctx);

/* The number of diagnostics, and the i-th (borrowed; NULL if i is out of range). A NULL ctx has
 * none. */
HEDDLE_API size_t heddle_context_count(const heddle_context *ctx);
HEDDLE_API const heddle_diagnostic *heddle_context_get(const heddle_context *ctx, size_t i);
/* Drops all diagnostics; accepts NULL. */
HEDDLE_API void heddle_context_clear(heddle_context *ctx);

/* Formats a diagnostic as `FILE:LINE:COL: error[RULE]: TEXT` into out (at most out_bytes with the
 * final NUL; out may be NULL when out_bytes is 0); returns the full length. A NULL diagnostic gives
 * "". */
HEDDLE_API size_t heddle_diagnostic_format(const heddle_diagnostic *diagnostic, char *out,
                                           size_t out_bytes);

#ifdef __cplusplus
}
#endif
#endif
