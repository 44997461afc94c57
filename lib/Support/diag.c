#include "Support/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "Support/arena.h"
#include "Support/readable.h"

struct heddle_context {
  hd_arena arena;
  heddle_diagnostic *list; /* owned; its strings live in the arena */
  size_t count, cap;
};

heddle_context *heddle_context_create(void) {
  hd_memory_count_json();
  return hd_memory_reserve() ? calloc(1, sizeof(heddle_context)) : NULL;
}

void heddle_context_free(heddle_context *ctx) {
  heddle_context_clear(ctx);
  hd_free(ctx);
}

void heddle_context_clear(heddle_context *ctx) {
  if (!ctx)
    return;
  hd_free(ctx->list);
  ctx->list = NULL;
  ctx->count = ctx->cap = 0;
  hd_arena_free(&ctx->arena);
}

size_t heddle_context_count(const heddle_context *ctx) { return ctx ? ctx->count : 0; }

const heddle_diagnostic *heddle_context_get(const heddle_context *ctx, size_t i) {
  return i < heddle_context_count(ctx) ? &ctx->list[i] : NULL;
}

const heddle_diagnostic *hd_first_error(const heddle_context *ctx) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++)
    if (ctx->list[i].severity == HEDDLE_ERROR)
      return &ctx->list[i];
  return NULL;
}

const char *hd_first_error_text(const heddle_context *ctx, const char *otherwise) {
  const heddle_diagnostic *first = hd_first_error(ctx);
  return first ? first->text : otherwise;
}

/* Diagnostics quote input, which may contain terminal control sequences. */
static const char *readable(hd_arena *arena, const char *text) {
  size_t n_bytes = hd_readable(text, NULL, 0) + 1;
  char *out = hd_arena_alloc(arena, n_bytes);
  hd_readable(text, out, n_bytes);
  return out;
}

static void add(heddle_context *ctx, heddle_severity severity, hd_loc loc, const char *rule,
                const char *format, va_list args) {
  if (!ctx)
    return;
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = hd_xmalloc((size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, format, args);
  heddle_diagnostic d = {
      .severity = severity,
      .rule = hd_arena_strdup(&ctx->arena, rule),
      .text = readable(&ctx->arena, text),
      .file = loc.file ? readable(&ctx->arena, loc.file) : NULL,
      .line = loc.line,
      .col = loc.col,
  };
  hd_free(text);
  HD_PUSH(ctx->list, ctx->count, ctx->cap, d);
}

heddle_status hd_error(heddle_context *ctx, heddle_status status, hd_loc loc, const char *rule,
                       const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(ctx, HEDDLE_ERROR, loc, rule, format, args);
  va_end(args);
  return status;
}

void hd_note(heddle_context *ctx, hd_loc loc, const char *rule, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(ctx, HEDDLE_NOTE, loc, rule, format, args);
  va_end(args);
}

void hd_warning(heddle_context *ctx, hd_loc loc, const char *rule, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(ctx, HEDDLE_WARNING, loc, rule, format, args);
  va_end(args);
}

/* Calls `add` with a text that is already formatted. */
static void add_text(heddle_context *ctx, const heddle_diagnostic *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(ctx, d->severity, (hd_loc){d->file, d->line, d->col}, d->rule, format, args);
  va_end(args);
}

void hd_say_again(heddle_context *ctx, const heddle_context *said) {
  for (size_t i = 0; i < heddle_context_count(said); i++)
    add_text(ctx, &said->list[i], "%s", said->list[i].text);
}

void hd_name_file(heddle_context *ctx, size_t first, const char *file) {
  for (size_t i = first; i < heddle_context_count(ctx); i++)
    if (!ctx->list[i].file)
      ctx->list[i].file = readable(&ctx->arena, file);
}

heddle_status hd_bug(heddle_context *ctx, const char *file, int line, const char *what) {
#ifndef NDEBUG
  fprintf(stderr, "heddle: bug at %s:%d: %s\n", file, line, what);
  (void)ctx;
  abort();
#else
  return hd_error(ctx, HEDDLE_INTERNAL, HD_NOWHERE, "internal", "%s:%d: %s", file, line, what);
#endif
}

size_t heddle_diagnostic_format(const heddle_diagnostic *d, char *out, size_t out_bytes) {
  static const char *const severities[] = {"note", "warning", "error"};
  char where[32] = "";
  if (!d) {
    if (out_bytes)
      out[0] = '\0';
    return 0;
  }
  if (d->line)
    snprintf(where, sizeof where, "%u:%u: ", d->line, d->col);
  else if (d->file) /* the whole file: its beginning, for a uniform format */
    snprintf(where, sizeof where, "1:1: ");
  int n = snprintf(out, out_bytes, "%s%s%s%s[%s]: %s", d->file ? d->file : "", d->file ? ":" : "",
                   where, severities[d->severity], d->rule, d->text);
  return n < 0 ? 0 : (size_t)n;
}
