#include "Support/zstd_frame.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "Support/memory.h"

enum { LEVEL = 19 }; /* higher ones need much memory, also to decompress */

void *hd_zstd_frame_make(const void *data, size_t n_bytes, size_t *frame_bytes) {
  size_t bound = ZSTD_compressBound(n_bytes), n = 0;
  void *frame = malloc(bound);
  ZSTD_CCtx *zstd = ZSTD_createCCtx();
  bool made = frame && zstd;
  if (made) {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    n = ZSTD_compress2(zstd, frame, bound, data, n_bytes);
    made = !ZSTD_isError(n); /* only memory can be missing */
  }
  ZSTD_freeCCtx(zstd);
  if (!made) {
    hd_memory_add_shortages(1);
    hd_free(frame);
    return NULL;
  }
  *frame_bytes = n;
  return frame;
}

bool hd_zstd_frame_read(const void *frame, size_t frame_bytes, void *data, size_t n_bytes) {
  size_t n = ZSTD_decompress(data, n_bytes, frame, frame_bytes);
  if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
    hd_memory_add_shortages(1);
  return n == n_bytes;
}
