/* NAME.c.bin: a header with the hash that NAME.c checks, then the code of all targets. */
#include <string.h>

#include "Kernel/launcher_c.h"
#include "Support/hash.h"

static void add_image(hd_strbuf *out, const void *data, size_t n_bytes, hd_binary_image *image) {
  static const char zeros[HD_BINARY_HEAD];
  *image = (hd_binary_image){.offset = out->len, .n_bytes = n_bytes};
  hd_strbuf_addn(out, data, n_bytes);
  hd_strbuf_addn(out, zeros, HD_BINARY_HEAD - out->len % HD_BINARY_HEAD); /* includes a NUL */
}

void hd_binary_make(const hd_launcher_part *parts, int32_t n, hd_strbuf *out, char hash[33],
                    hd_binary_image *image, int32_t *n_images) {
  char head[HD_BINARY_HEAD] = HD_BINARY_MAGIC;
  int32_t at = 0;
  hd_strbuf_addn(out, head, sizeof head);
  for (int32_t i = 0; i < n; i++) {
    const heddle_image *code = &parts[i].code;
    if (code->cubin_bytes) {
      add_image(out, code->cubin, code->cubin_bytes, &image[at]);
      image[at++].part = i;
    }
    if (code->ptx_bytes) {
      add_image(out, code->ptx, code->ptx_bytes, &image[at]);
      image[at].n_bytes++; /* the NUL */
      image[at].is_ptx = true;
      image[at++].part = i;
    }
  }
  hd_hash_format(hd_hash_bytes(out->text + sizeof head, out->len - sizeof head), hash);
  memcpy(out->text + HD_BINARY_HASH_AT, hash, 32);
  *n_images = at;
}
