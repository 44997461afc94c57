/* Bench/peer_pad.h: a case whose sizes are rounded up, for a peer that refuses them as they are:
 * what a user of that peer would do. Operands lie in buffers of their own, zeros around them. */
#ifndef HD_PEER_PAD_H
#define HD_PEER_PAD_H

#include "Bench/peers.h"

typedef struct hd_padded {
  hd_bench_case bench; /* of the rounded sizes, over the buffers below */
  hd_rotation a, b, d; /* owned */
} hd_padded;

/* Whether multiples of `unit` and of `smaller` are other sizes. */
bool hd_padded_differs(const hd_bench_case *bench, int64_t unit, int64_t smaller);
/* Sizes up to multiples of `unit`. Not of batches. */
heddle_status hd_padded_make(heddle_context *ctx, const hd_device *device,
                             const hd_bench_case *from, int64_t unit, hd_padded *padded);
void hd_padded_free(const hd_device *device, hd_padded *padded);
/* What a launch on buffer set 0 left in the padded D, without the padding, to the case's own D. */
heddle_status hd_padded_crop(heddle_context *ctx, const hd_device *device, const hd_padded *padded,
                             const hd_bench_case *to, bool row_major);

#endif
