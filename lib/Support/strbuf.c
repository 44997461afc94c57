#include "Support/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Support/arena.h"

static void reserve(hd_strbuf *buf, size_t n) {
  if (buf->len + n + 1 <= buf->cap)
    return;
  size_t old = buf->cap;
  while (buf->cap < buf->len + n + 1)
    buf->cap = buf->cap ? buf->cap * 2 : 256;
  buf->text = hd_xrealloc(buf->text, old, buf->cap);
}

void hd_strbuf_addn(hd_strbuf *buf, const char *text, size_t n) {
  reserve(buf, n);
  memcpy(buf->text + buf->len, text, n);
  buf->len += n;
  buf->text[buf->len] = '\0';
}

void hd_strbuf_add(hd_strbuf *buf, const char *text) { hd_strbuf_addn(buf, text, strlen(text)); }

void hd_strbuf_printf(hd_strbuf *buf, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  reserve(buf, 0);
  size_t room = buf->cap - buf->len;
  size_t n = (size_t)vsnprintf(buf->text + buf->len, room, format, args);
  if (n >= room) {
    reserve(buf, n);
    vsnprintf(buf->text + buf->len, n + 1, format, again);
  }
  buf->len += n;
  va_end(again);
  va_end(args);
}

const char *hd_strbuf_text(const hd_strbuf *buf) { return buf->text ? buf->text : ""; }

char *hd_strbuf_take(hd_strbuf *buf) {
  if (!buf->text)
    hd_strbuf_add(buf, "");
  char *text = buf->text;
  *buf = (hd_strbuf){0};
  return text;
}

void hd_strbuf_free(hd_strbuf *buf) {
  hd_free(buf->text);
  *buf = (hd_strbuf){0};
}
