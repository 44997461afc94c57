/* heddle/memory.h: the few calls that programs without a CUDA library need. */
#include <stdio.h>

#include "Runtime/driver.h"
#include "Support/diag.h"

heddle_status heddle_device_use(heddle_context *ctx, heddle_runtime *runtime, int ordinal) {
  int device, count = 0;
  void *context;
  HD_CU_TRY(ctx, runtime, device_count, &count);
  if (ordinal < 0 || ordinal >= count || ordinal >= HD_MAX_DEVICES)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "device.ordinal",
                    "unknown device %d; legal: 0 to %d", ordinal, count - 1);
  HD_CU_TRY(ctx, runtime, device_get, &device, ordinal);
  HD_CU_TRY(ctx, runtime, primary_retain, &context, device);
  if (runtime->used[ordinal])
    runtime->cu.primary_release(device); /* the runtime retains each primary context only once */
  runtime->used[ordinal] = 1;
  HD_CU_TRY(ctx, runtime, context_set, context);
  return HEDDLE_OK;
}

heddle_status heddle_device_target(heddle_context *ctx, const heddle_runtime *runtime,
                                   char target[16]) {
  int device, major, minor;
  HD_CU_TRY(ctx, runtime, context_device, &device);
  HD_CU_TRY(ctx, runtime, device_attribute, &major, HD_CU_DEV_CC_MAJOR, device);
  HD_CU_TRY(ctx, runtime, device_attribute, &minor, HD_CU_DEV_CC_MINOR, device);
  snprintf(target, 16, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
  return HEDDLE_OK;
}

heddle_status heddle_device_alloc(heddle_context *ctx, const heddle_runtime *runtime,
                                  size_t n_bytes, void **pointer) {
  uint64_t address;
  size_t least = n_bytes > 0 ? n_bytes : 1; /* the driver refuses to allocate 0 bytes */
  HD_CU_TRY(ctx, runtime, mem_alloc, &address, least);
  int result = runtime->cu.fill8(address, 0, least, NULL);
  if (result == HD_CU_SUCCESS)
    result = runtime->cu.stream_sync(NULL);
  if (result != HD_CU_SUCCESS)
    runtime->cu.mem_free(address);
  HD_TRY(hd_driver_check(ctx, &runtime->cu, result, "fill8"));
  *pointer = (void *)(uintptr_t)address;
  return HEDDLE_OK;
}

void heddle_device_free(const heddle_runtime *runtime, void *pointer) {
  if (runtime && pointer)
    runtime->cu.mem_free((uint64_t)(uintptr_t)pointer);
}

heddle_status heddle_device_upload(heddle_context *ctx, const heddle_runtime *runtime, void *to,
                                   const void *from, size_t n_bytes) {
  HD_CU_TRY(ctx, runtime, context_sync);
  if (n_bytes > 0)
    HD_CU_TRY(ctx, runtime, copy_in, (uint64_t)(uintptr_t)to, from, n_bytes);
  HD_CU_TRY(ctx, runtime, context_sync);
  return HEDDLE_OK;
}

heddle_status heddle_device_download(heddle_context *ctx, const heddle_runtime *runtime, void *to,
                                     const void *from, size_t n_bytes) {
  HD_CU_TRY(ctx, runtime, context_sync);
  if (n_bytes > 0)
    HD_CU_TRY(ctx, runtime, copy_out, to, (uint64_t)(uintptr_t)from, n_bytes);
  return HEDDLE_OK;
}
