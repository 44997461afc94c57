/* Runtime/device.h: devices for tools and tests: properties, guarded buffers, timing. Not part of
 * the launch path and not public. An hd_device is used by one thread. Its context (the primary one)
 * is current on the thread that opened it. */
#ifndef HD_DEVICE_H
#define HD_DEVICE_H

#include <stdbool.h>

#include "Runtime/driver.h"

typedef struct hd_device_info {
  char name[128];
  char target[16]; /* "sm_90a" */
  char pci_id[32];
  int32_t n_sms;
  int64_t l2_bytes;
  int32_t driver_version; /* 12080 = CUDA 12.8 */
} hd_device_info;

typedef struct hd_device {
  heddle_runtime *runtime; /* borrowed */
  hd_device_info info;
  void *stream; /* its own, not synchronised with the default stream */
  void *spin_module, *spin;
} hd_device;

/* Opens a device (owned). Makes its primary context current, and loads the spin kernel. */
heddle_status hd_device_open(heddle_context *ctx, heddle_runtime *runtime, int ordinal,
                             hd_device **device);
void hd_device_close(hd_device *device);
/* Waits for the stream. Returns the error of a kernel that failed. */
heddle_status hd_device_sync(heddle_context *ctx, const hd_device *device);

/* Device memory between two guard bands. Guards are filled with HD_GUARD_BYTE, a NaN in every float
 * type: values read from a guard corrupt the result, and writes to a guard are detected. */
enum { HD_GUARD_BYTES = 64 * 1024, HD_GUARD_BYTE = 0xFF, HD_POISON_BYTE = 0xFF };

typedef struct hd_buffer {
  uint64_t address; /* first byte of the buffer: a multiple of 256, plus the requested offset */
  size_t n_bytes;
  uint64_t base; /* of the allocation */
  size_t base_bytes;
} hd_buffer;

/* offset_bytes (below 256) misaligns the address on purpose. All bytes start as HD_GUARD_BYTE. */
heddle_status hd_buffer_create(heddle_context *ctx, const hd_device *device, size_t n_bytes,
                               size_t offset_bytes, hd_buffer *buffer);
void hd_buffer_free(const hd_device *device, hd_buffer *buffer);
/* Copies of the whole buffer. They first wait for all earlier work of the context. */
heddle_status hd_buffer_upload(heddle_context *ctx, const hd_device *device,
                               const hd_buffer *buffer, const void *data);
heddle_status hd_buffer_download(heddle_context *ctx, const hd_device *device,
                                 const hd_buffer *buffer, void *data);
/* Fills the buffer, but not its guards, with a byte (HD_POISON_BYTE before a run), and waits. */
heddle_status hd_buffer_fill(heddle_context *ctx, const hd_device *device,
                             const hd_buffer *buffer, int byte);
/* HEDDLE_MISMATCH, with the buffer's name and the first wrong byte, if a guard was overwritten. */
heddle_status hd_buffer_check(heddle_context *ctx, const hd_device *device,
                              const hd_buffer *buffer, const char *name);

/* Copies of the same bytes, so that launch i reads copy i % n_sets and finds the L2 cold. */
typedef struct hd_rotation {
  hd_buffer *set; /* owned */
  size_t n_sets;
} hd_rotation;

/* Number of sets that hold at least total_bytes together (the measurement protocol: 256 MiB). */
size_t hd_rotation_count(size_t bytes_per_set, size_t total_bytes);
heddle_status hd_rotation_create(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, size_t n_sets, hd_rotation *rotation);
void hd_rotation_free(const hd_device *device, hd_rotation *rotation);

/* Launches a function with a one-dimensional grid of n_ctas CTAs of n_threads threads each. */
heddle_status hd_device_launch(heddle_context *ctx, const hd_device *device, void *function,
                               uint32_t n_ctas, uint32_t n_threads, void **params, void *stream);

/* Launches work item `index` into a stream. Also called during stream capture. */
typedef heddle_status (*hd_launch_fn)(heddle_context *ctx, void *user, size_t index, void *stream);

/* Seconds per launch on the device: n launches between two events, queued after a spin kernel. */
heddle_status hd_time_stream(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                             void *user, size_t n, double *seconds);

/* n launches, captured once and replayed any number of times. */
typedef struct hd_graph {
  void *graph, *exec;
  size_t n;
} hd_graph;

heddle_status hd_graph_capture(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                               void *user, size_t n, hd_graph *graph);
/* Seconds per launch: n_replays of the graph between two events, queued after a spin kernel. */
heddle_status hd_graph_time(heddle_context *ctx, const hd_device *device, const hd_graph *graph,
                            size_t n_replays, double *seconds);
void hd_graph_free(const hd_device *device, hd_graph *graph);

/* Keeps the stream busy for a time, so that launches queue up. */
heddle_status hd_device_spin(heddle_context *ctx, const hd_device *device, uint64_t nanoseconds);

#endif
