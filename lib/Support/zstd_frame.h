/* Support/zstd_frame.h: bytes compressed by zstd. */
#ifndef HD_ZSTD_FRAME_H
#define HD_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>

/* Makes a frame of its own for the data (owned, hd_free), with the size and a checksum of the data.
 * The same data and the same libzstd give the same bytes. NULL: a shortage (Support/memory.h). */
void *hd_zstd_frame_make(const void *data, size_t n_bytes, size_t *frame_bytes);

/* Decompresses a frame of n_bytes of data to `data`. False if the frame is damaged or of another
 * size, or if there was a shortage. */
bool hd_zstd_frame_read(const void *frame, size_t frame_bytes, void *data, size_t n_bytes);

#endif
