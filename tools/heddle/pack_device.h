/* heddle/pack_device.h: prunes and packs with a kernel, on a device or in the simulator. */
#ifndef HD_PACK_DEVICE_H
#define HD_PACK_DEVICE_H

#include "sparse_io.h"

/* Packs job->dense into n_bytes of payload. ordinal: number of the device. */
heddle_status pack_on_device(const sparse_job *job, int ordinal, void *payload, size_t n_bytes);
/* The same with the kernel for sm_90a, simulated. */
heddle_status pack_in_simulator(const sparse_job *job, void *payload, size_t n_bytes);

/* Time on the device, with that of a copy that moves as many bytes. */
typedef struct pack_speed {
  char device[128];
  double seconds, copy_seconds;
} pack_speed;
heddle_status pack_time_on_device(const sparse_job *job, int ordinal, size_t n_bytes,
                                  pack_speed *speed);

#endif
