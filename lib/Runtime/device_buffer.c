/* Guarded buffers and rotations of them. */
#include "Runtime/device.h"
#include "Support/arena.h"
#include "Support/diag.h"

enum { ALIGN = 256 };

static void *pointer_of(uint64_t address) { return (void *)(uintptr_t)address; }

heddle_status hd_buffer_create(heddle_context *ctx, const hd_device *device, size_t n_bytes,
                               size_t offset_bytes, hd_buffer *buffer) {
  if (offset_bytes >= ALIGN || n_bytes > SIZE_MAX / 2)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "buffer.size",
                    "got %zu bytes at offset %zu; legal: an offset below %d", n_bytes, offset_bytes,
                    ALIGN);
  hd_buffer made = {.n_bytes = n_bytes, .base_bytes = n_bytes + 2 * HD_GUARD_BYTES + ALIGN};
  HD_CU_TRY(ctx, device->runtime, mem_alloc, &made.base, made.base_bytes);
  made.address = (made.base + HD_GUARD_BYTES + ALIGN - 1) / ALIGN * ALIGN + offset_bytes;
  int result = device->runtime->cu.fill8(made.base, HD_GUARD_BYTE, made.base_bytes, device->stream);
  if (result == HD_CU_SUCCESS)
    result = device->runtime->cu.stream_sync(device->stream);
  if (result != HD_CU_SUCCESS)
    device->runtime->cu.mem_free(made.base);
  HD_TRY(hd_driver_check(ctx, &device->runtime->cu, result, "fill8"));
  *buffer = made;
  return HEDDLE_OK;
}

void hd_buffer_free(const hd_device *device, hd_buffer *buffer) {
  if (buffer->base)
    device->runtime->cu.mem_free(buffer->base);
  *buffer = (hd_buffer){0};
}

heddle_status hd_buffer_upload(heddle_context *ctx, const hd_device *device,
                               const hd_buffer *buffer, const void *data) {
  return heddle_device_upload(ctx, device->runtime, pointer_of(buffer->address), data,
                              buffer->n_bytes);
}

heddle_status hd_buffer_download(heddle_context *ctx, const hd_device *device,
                                 const hd_buffer *buffer, void *data) {
  return heddle_device_download(ctx, device->runtime, data, pointer_of(buffer->address),
                                buffer->n_bytes);
}

heddle_status hd_buffer_fill(heddle_context *ctx, const hd_device *device,
                             const hd_buffer *buffer, int byte) {
  if (buffer->n_bytes > 0)
    HD_CU_TRY(ctx, device->runtime, fill8, buffer->address, (unsigned char)byte, buffer->n_bytes,
              device->stream);
  return hd_device_sync(ctx, device); /* later launches may be in any stream */
}

/* Checks that memory from..to holds only guard bytes. `at`: the offset of `from` in the buffer. */
static heddle_status check_range(heddle_context *ctx, const hd_device *device, const char *name,
                                 uint64_t from, uint64_t to, int64_t at) {
  size_t n = (size_t)(to - from);
  unsigned char *bytes = hd_xmalloc(n + 1);
  heddle_status status =
      heddle_device_download(ctx, device->runtime, bytes, pointer_of(from), n);
  for (size_t i = 0; status == HEDDLE_OK && i < n; i++) {
    if (bytes[i] != HD_GUARD_BYTE)
      status = hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "buffer.guard",
                        "a write outside of buffer %s: byte %lld is 0x%02x", name,
                        (long long)(at + (int64_t)i), bytes[i]);
  }
  hd_free(bytes);
  return status;
}

heddle_status hd_buffer_check(heddle_context *ctx, const hd_device *device,
                              const hd_buffer *buffer, const char *name) {
  uint64_t end = buffer->address + buffer->n_bytes;
  HD_TRY(check_range(ctx, device, name, buffer->base, buffer->address,
                     -(int64_t)(buffer->address - buffer->base)));
  return check_range(ctx, device, name, end, buffer->base + buffer->base_bytes,
                     (int64_t)buffer->n_bytes);
}

size_t hd_rotation_count(size_t bytes_per_set, size_t total_bytes) {
  enum { MAX_SETS = 4096 };
  if (bytes_per_set == 0)
    return 1;
  size_t n = (total_bytes - (total_bytes > 0)) / bytes_per_set + 1;
  return n < MAX_SETS ? n : MAX_SETS;
}

heddle_status hd_rotation_create(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, size_t n_sets, hd_rotation *rotation) {
  hd_rotation made = {0};
  heddle_status status = HEDDLE_OK;
  made.set = hd_try_zalloc(ctx, n_sets * sizeof *made.set, "a rotation of buffers");
  if (!made.set)
    return HEDDLE_NO_MEMORY;
  while (status == HEDDLE_OK && made.n_sets < n_sets) {
    status = hd_buffer_create(ctx, device, n_bytes, 0, &made.set[made.n_sets]);
    if (status == HEDDLE_OK && data)
      status = hd_buffer_upload(ctx, device, &made.set[made.n_sets], data);
    made.n_sets++;
  }
  if (status != HEDDLE_OK) {
    hd_rotation_free(device, &made);
    return status;
  }
  *rotation = made;
  return HEDDLE_OK;
}

void hd_rotation_free(const hd_device *device, hd_rotation *rotation) {
  for (size_t i = 0; i < rotation->n_sets; i++)
    hd_buffer_free(device, &rotation->set[i]);
  hd_free(rotation->set);
  *rotation = (hd_rotation){0};
}
