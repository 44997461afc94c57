/* Tune/canary.h: two fixed loads that show the state of a device: a stream of reads, limited by the
 * memory bandwidth, and an arithmetic kernel, limited by the SM clock. Their code never changes, so
 * that their times can be compared across builds and over years. */
#ifndef HD_CANARY_H
#define HD_CANARY_H

#include "Runtime/device.h"

/* Median seconds per launch. */
typedef struct hd_canary {
  double read_s;   /* 256 MiB */
  double kernel_s; /* 2^33 single-precision fused multiply-adds */
} hd_canary;

heddle_status hd_canary_run(heddle_context *ctx, const hd_device *device, hd_canary *canary);

#endif
