/* NAME.c.bin: a header with the hash that NAME.c checks, then the code of all targets. */
#include <string.h>

#include "Kernel/launcher_c.h"
#include "Support/hash.h"
#include "Support/memory.h"
#include "Support/parallel.h"
#include "Support/zstd_frame.h"

static void add_aligned(hd_strbuf *out, const void *data, size_t n_bytes) {
  static const char zeros[HD_BINARY_HEAD];
  hd_strbuf_addn(out, data, n_bytes);
  hd_strbuf_addn(out, zeros, HD_BINARY_HEAD - out->len % HD_BINARY_HEAD); /* includes a NUL */
}

static void add_code(hd_strbuf *out, hd_binary *binary, int32_t part, bool is_ptx,
                     const void *code, size_t n_bytes) {
  uint64_t with_nul = n_bytes + is_ptx;
  if (n_bytes == 0)
    return;
  binary->image[binary->n_images++] = (hd_binary_image){part, is_ptx, out->len, with_nul, with_nul};
  add_aligned(out, code, n_bytes);
}

/* ---- compression ---- */

typedef struct frames {
  const hd_strbuf *code;
  const hd_binary *binary;
  void *frame[2 * HD_MAX_PARTS]; /* owned */
  size_t n_bytes[2 * HD_MAX_PARTS];
} frames;

static void make_frame(void *user, int32_t i) {
  frames *f = user;
  const hd_binary_image *image = &f->binary->image[i];
  f->frame[i] = hd_zstd_frame_make(f->code->text + image->offset, (size_t)image->code_bytes,
                                   &f->n_bytes[i]);
}

/* Replaces the images by frames, each made on a thread of its own. */
static void compress_images(hd_strbuf *code, hd_binary *binary) {
  frames f = {.code = code, .binary = binary};
  hd_strbuf out = {0};
  hd_parallel(binary->n_images, binary->n_images, make_frame, &f);
  hd_strbuf_addn(&out, code->text, HD_BINARY_HEAD);
  for (int32_t i = 0; i < binary->n_images; i++) {
    if (!f.frame[i])
      continue; /* a shortage: nothing will be written */
    binary->image[i].offset = out.len;
    binary->image[i].n_bytes = f.n_bytes[i];
    add_aligned(&out, f.frame[i], f.n_bytes[i]);
    hd_free(f.frame[i]);
  }
  hd_strbuf_free(code);
  *code = out;
}

hd_binary hd_binary_make(const hd_launcher_part *parts, int32_t n, bool compress) {
  const char head[HD_BINARY_HEAD] = HD_BINARY_MAGIC;
  hd_binary made = {.compressed = compress};
  hd_strbuf out = {0};
  hd_strbuf_addn(&out, head, sizeof head);
  for (int32_t i = 0; i < n; i++) {
    const heddle_image *code = &parts[i].code;
    add_code(&out, &made, i, false, code->cubin, code->cubin_bytes);
    add_code(&out, &made, i, true, code->ptx, code->ptx_bytes);
  }
  if (compress)
    compress_images(&out, &made);
  hd_hash_format(hd_hash_bytes(out.text + sizeof head, out.len - sizeof head), made.hash);
  memcpy(out.text + HD_BINARY_HASH_AT, made.hash, 32);
  made.n_bytes = out.len;
  made.data = hd_strbuf_take(&out);
  return made;
}
