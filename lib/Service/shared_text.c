#include "Service/shared_text.h"

#include <stdio.h>
#include <string.h>

#include "Support/arena.h"

hd_shared_text *hd_shared_text_make(const char *type, const char *etag, char *text) {
  hd_shared_text *s = hd_xzalloc(sizeof *s);
  atomic_init(&s->refs, 1);
  snprintf(s->etag, sizeof s->etag, "%s", etag);
  s->type = type;
  s->text = text;
  s->n = strlen(text);
  return s;
}

hd_shared_text *hd_shared_text_ref(hd_shared_text *s) {
  atomic_fetch_add(&s->refs, 1);
  return s;
}

void hd_shared_text_unref(hd_shared_text *s) {
  if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
    return;
  if (s->native)
    s->free_native(s->native); /* frees the text after its last use */
  else
    hd_free(s->text);
  hd_free(s);
}
