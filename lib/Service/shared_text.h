/* Service/shared_text.h: an answer that many requests are given: its text, its ETag, and what the
 * HTTP library made of it. Counted references. */
#ifndef HD_SHARED_TEXT_H
#define HD_SHARED_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct hd_shared_text {
  atomic_int refs;
  char etag[40];
  const char *type;
  char *text; /* owned; by `native` once there is one */
  size_t n;
  void *native; /* the HTTP library's response; NULL: not made yet */
  void (*free_native)(void *native);
} hd_shared_text;

/* text is consumed; type is a constant; etag "" for none. One reference is the caller's. */
hd_shared_text *hd_shared_text_make(const char *type, const char *etag, char *text);
hd_shared_text *hd_shared_text_ref(hd_shared_text *shared);
void hd_shared_text_unref(hd_shared_text *shared); /* accepts NULL */

#endif
