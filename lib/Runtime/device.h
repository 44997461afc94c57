/* Runtime/device.h: a device as tools and tests see it: facts, guarded buffers, timing. Not part of
 * the launch path and not public. One hd_device is used by one thread; its context (the primary
 * one) is current on the thread that opened it. */
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

/* Opens a device: primary context current, a stream, the spin kernel (owned). */
heddle_status hd_device_open(heddle_context *ctx, heddle_runtime *runtime, int ordinal,
                             hd_device **device);
void hd_device_close(hd_device *device);
/* Waits for the stream; the error of a kernel that failed comes out here. */
heddle_status hd_device_sync(heddle_context *ctx, const hd_device *device);

/* Device memory between two guard bands. Guards hold HD_GUARD_BYTE: a NaN in every float type, so
 * that a value read from them spoils a result, and a write into them is found. */
enum { HD_GUARD_BYTES = 64 * 1024, HD_GUARD_BYTE = 0xFF, HD_POISON_BYTE = 0xFF };

typedef struct hd_buffer {
  uint64_t address; /* first byte that is ours: a multiple of 256, plus the offset asked for */
  size_t n_bytes;
  uint64_t base; /* of the allocation */
  size_t base_bytes;
} hd_buffer;

/* offset_bytes (below 256) misaligns the address on purpose. Everything is poisoned at first. */
heddle_status hd_buffer_create(heddle_context *ctx, const hd_device *device, size_t n_bytes,
                               size_t offset_bytes, hd_buffer *buffer);
void hd_buffer_free(const hd_device *device, hd_buffer *buffer);
/* Whole-buffer copies; they wait for all work before them. */
heddle_status hd_buffer_upload(heddle_context *ctx, const hd_device *device,
                               const hd_buffer *buffer, const void *data);
heddle_status hd_buffer_download(heddle_context *ctx, const hd_device *device,
                                 const hd_buffer *buffer, void *data);
/* Fills the buffer with a byte (HD_POISON_BYTE before a run); guards stay. Done on return. */
heddle_status hd_buffer_fill(heddle_context *ctx, const hd_device *device,
                             const hd_buffer *buffer, int byte);
/* HEDDLE_MISMATCH, naming the buffer and the first byte, when a guard was written to. */
heddle_status hd_buffer_check(heddle_context *ctx, const hd_device *device,
                              const hd_buffer *buffer, const char *name);

/* Copies of the same bytes, so that launch i reads copy i % n_sets and finds the L2 cold. */
typedef struct hd_rotation {
  hd_buffer *set; /* owned */
  size_t n_sets;
} hd_rotation;

/* How many sets of that many bytes make at least total_bytes (the protocol: 256 MiB). */
size_t hd_rotation_count(size_t bytes_per_set, size_t total_bytes);
heddle_status hd_rotation_create(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, size_t n_sets, hd_rotation *rotation);
void hd_rotation_free(const hd_device *device, hd_rotation *rotation);

/* Launches CTAs of so many threads each, in one dimension, of a function with these parameters. */
heddle_status hd_device_launch(heddle_context *ctx, const hd_device *device, void *function,
                               uint32_t n_ctas, uint32_t n_threads, void **params, void *stream);

/* Launches work number `index` into a stream; called while capturing too. */
typedef heddle_status (*hd_launch_fn)(heddle_context *ctx, void *user, size_t index, void *stream);

/* Seconds a launch on the device, of n launches behind a spin kernel, between two events. */
heddle_status hd_time_stream(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                             void *user, size_t n, double *seconds);

/* n launches captured once, replayed at will. */
typedef struct hd_graph {
  void *graph, *exec;
  size_t n;
} hd_graph;

heddle_status hd_graph_capture(heddle_context *ctx, const hd_device *device, hd_launch_fn launch,
                               void *user, size_t n, hd_graph *graph);
/* Seconds a launch over n_replays of the graph, behind a spin kernel, between two events. */
heddle_status hd_graph_time(heddle_context *ctx, const hd_device *device, const hd_graph *graph,
                            size_t n_replays, double *seconds);
void hd_graph_free(const hd_device *device, hd_graph *graph);

/* Keeps the stream busy for that long, so that launches queue up behind it. */
heddle_status hd_device_spin(heddle_context *ctx, const hd_device *device, uint64_t nanoseconds);

#endif
