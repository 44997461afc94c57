/* heddle/memory.h: device, memory and copies for programs that do not use CUDA themselves
 * (examples, tests). Other programs pass their own pointers, streams and context to
 * heddle_kernel_launch. */
#ifndef HEDDLE_MEMORY_H
#define HEDDLE_MEMORY_H

#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the primary context of a device current on this thread. The driver keeps it until
 * heddle_runtime_free. HEDDLE_ENVIRONMENT if there is no such device. One thread at a time. */
HEDDLE_API heddle_status heddle_device_use(heddle_context *ctx, heddle_runtime *runtime,
                                           int ordinal);
/* Target of the current device: "sm_90a", "sm_80", … (at most 16 bytes with the NUL). */
HEDDLE_API heddle_status heddle_device_target(heddle_context *ctx, const heddle_runtime *runtime,
                                              char target[16]);

/* Device memory of the current context, zeroed, aligned to 256 bytes (owned:
 * heddle_device_free). */
HEDDLE_API heddle_status heddle_device_alloc(heddle_context *ctx, const heddle_runtime *runtime,
                                             size_t n_bytes, void **pointer);
HEDDLE_API void heddle_device_free(const heddle_runtime *runtime, void *pointer);

/* Synchronous copies: they wait for all earlier work of the current context, and until they are
 * complete. */
HEDDLE_API heddle_status heddle_device_upload(heddle_context *ctx, const heddle_runtime *runtime,
                                              void *to, const void *from, size_t n_bytes);
HEDDLE_API heddle_status heddle_device_download(heddle_context *ctx, const heddle_runtime *runtime,
                                                void *to, const void *from, size_t n_bytes);

#ifdef __cplusplus
}
#endif
#endif
