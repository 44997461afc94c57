/* Support/diag.h: reports diagnostics to a context. */
#ifndef HD_DIAG_H
#define HD_DIAG_H

#include <stdint.h>

#include "heddle/context.h"

/* A location in an input text. file is borrowed for the call. line 0: unknown. */
typedef struct hd_loc {
  const char *file;
  uint32_t line, col;
} hd_loc;

#define HD_NOWHERE ((hd_loc){0})

/* Adds an error and returns `status`, so that a check needs one line. The text has the form "FACT;
 * legal: SET; nearest: VALUE" (docs/embedding.md):
 *   return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.range", "got %d; legal: 1 to 8", n); */
heddle_status hd_error(heddle_context *ctx, heddle_status status, hd_loc loc, const char *rule,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
void hd_note(heddle_context *ctx, hd_loc loc, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void hd_warning(heddle_context *ctx, hd_loc loc, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets the file of all diagnostics from index `first` on that have none (functions that parse a
 * buffer do not know its file). */
void hd_name_file(heddle_context *ctx, size_t first, const char *file);

/* Copies all diagnostics of another context (may be NULL). */
void hd_say_again(heddle_context *ctx, const heddle_context *said);

/* The first error (borrowed like the result of heddle_context_get), or its text. NULL, or
 * `otherwise`, if ctx is NULL or has no error. */
const heddle_diagnostic *hd_first_error(const heddle_context *ctx);
const char *hd_first_error_text(const heddle_context *ctx, const char *otherwise);

/* Reports a bug in Heddle: aborts without NDEBUG, else adds an error, returns HEDDLE_INTERNAL. */
heddle_status hd_bug(heddle_context *ctx, const char *file, int line, const char *what);
#define HD_BUG(ctx, what) hd_bug((ctx), __FILE__, __LINE__, (what))

/* Returns the status from the enclosing function if the call fails. */
#define HD_TRY(call)                                                                               \
  do {                                                                                             \
    heddle_status hd_try_status = (call);                                                          \
    if (hd_try_status != HEDDLE_OK)                                                                \
      return hd_try_status;                                                                        \
  } while (0)

#endif
