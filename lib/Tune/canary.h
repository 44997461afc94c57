/* Tune/canary.h: two fixed loads that tell a device's own state: a stream of reads, which the
 * memory decides, and a kernel of arithmetic, which the clock decides. Their code never changes, so
 * that their times can be compared over builds and years. */
#ifndef HD_CANARY_H
#define HD_CANARY_H

#include "Runtime/device.h"

/* Seconds a launch: medians. */
typedef struct hd_canary {
  double read_s;   /* of 256 MiB */
  double kernel_s; /* of 2^33 single-precision fused multiply-adds */
} hd_canary;

heddle_status hd_canary_run(heddle_context *ctx, const hd_device *device, hd_canary *canary);

#endif
