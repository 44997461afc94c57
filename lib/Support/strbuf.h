/* Support/strbuf.h: a growing string. */
#ifndef HD_STRBUF_H
#define HD_STRBUF_H

#include <stddef.h>

/* Initialize with zeros. text (owned) is NUL-terminated once something was added. */
typedef struct hd_strbuf {
  char *text;
  size_t len, cap;
} hd_strbuf;

void hd_strbuf_add(hd_strbuf *buf, const char *text);
void hd_strbuf_addn(hd_strbuf *buf, const char *text, size_t n);
void hd_strbuf_printf(hd_strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The text so far ("" when empty), borrowed until the next change. */
const char *hd_strbuf_text(const hd_strbuf *buf);
/* Hands the text over to the caller (owned, hd_free) and empties the buffer. */
char *hd_strbuf_take(hd_strbuf *buf);
void hd_strbuf_free(hd_strbuf *buf);

#endif
