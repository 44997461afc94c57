/* heddle/pack_device.h: prunes and packs with a kernel, on a device or in the simulator. */
#ifndef HD_PACK_DEVICE_H
#define HD_PACK_DEVICE_H

#include "sparse_io.h"

/* The payload of the matrix, and that of the transposed matrix (NULL: not wanted). two_way: both
 * have the same elements. */
typedef struct pack_result {
  void *payload, *twin;
  size_t n_bytes, n_twin;
  bool two_way;
} pack_result;

/* Packs job->dense. ordinal: number of the device. */
heddle_status pack_on_device(const sparse_job *job, int ordinal, const pack_result *result);
/* The same with the kernel for sm_90a, simulated. */
heddle_status pack_in_simulator(const sparse_job *job, const pack_result *result);

/* Time on the device, with that of a copy that moves as many bytes. */
typedef struct pack_speed {
  char device[128];
  double seconds, copy_seconds;
} pack_speed;
heddle_status pack_time_on_device(const sparse_job *job, int ordinal, const pack_result *result,
                                  pack_speed *speed);

#endif
