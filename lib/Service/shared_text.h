/* Service/shared_text.h: an answer for many requests: its text, its ETag, and the response object
 * of the HTTP library. Reference-counted. */
#ifndef HD_SHARED_TEXT_H
#define HD_SHARED_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct hd_shared_text {
  atomic_int refs;
  char etag[40];
  const char *type;
  char *text; /* owned; by `native` if it exists */
  size_t n;
  void *native; /* response of the HTTP library; NULL: not created yet */
  void (*free_native)(void *native);
} hd_shared_text;

/* text is consumed; type is a constant; etag "": none. The caller owns one reference. */
hd_shared_text *hd_shared_text_make(const char *type, const char *etag, char *text);
hd_shared_text *hd_shared_text_ref(hd_shared_text *shared);
void hd_shared_text_unref(hd_shared_text *shared); /* accepts NULL */

#endif
