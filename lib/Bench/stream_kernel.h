/* Bench/stream_kernel.h: a kernel that only reads, each byte once: no kernel that must read as many
 * can be faster. */
#ifndef HD_STREAM_KERNEL_H
#define HD_STREAM_KERNEL_H

#include "Runtime/device.h"

enum { HD_STREAM_RANGES = 3 /* a launch reads up to so many */ };

typedef struct hd_stream {
  const hd_device *device;
  void *module, *kernel;
} hd_stream;

typedef struct hd_stream_range {
  uint64_t address, n_bytes; /* of 16 bytes; the last piece is read whole */
} hd_stream_range;

heddle_status hd_stream_open(heddle_context *ctx, const hd_device *device, hd_stream *s);
void hd_stream_close(hd_stream *s); /* takes one that is zero, too */
/* sink: four bytes of device memory, which are not written but by chance. */
heddle_status hd_stream_read(heddle_context *ctx, const hd_stream *s, const hd_stream_range *range,
                             int n, uint64_t sink, void *stream);

#endif
