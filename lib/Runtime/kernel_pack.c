/* heddle_pack_device: launches a pack kernel. The caller gives the row pitch in bytes. */
#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"
#include "heddle/pack.h"

static heddle_status check_kernel(heddle_context *ctx, const hd_manifest *manifest, bool twin) {
  bool is_pack = hd_manifest_is_pack(manifest);
  bool has_twin = hd_manifest_arg(manifest, HD_ARG_TWIN) != NULL;
  if (is_pack && has_twin == twin)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "pack.kernel",
                  "got kernel %s, which %s; legal: a kernel of %s", manifest->name,
                  !is_pack   ? "multiplies"
                  : has_twin ? "packs the transposed matrix, too"
                             : "packs one matrix",
                  twin ? "heddle_pack_compile_twin" : "heddle_pack_compile");
}

/* twin: NULL if the kernel has none. */
static heddle_status launch(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                            uint64_t k, const void *dense, size_t row_bytes, void *payload,
                            void *twin, void *stream) {
  /* The launch cannot detect these errors, because it counts elements in 31 bits. */
  size_t bytes = heddle_elem_get(kernel->manifest.a_elem)->container_bits / 8;
  if (m > INT32_MAX || k > INT32_MAX)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "pack.size",
                    "got %llu x %llu; legal: up to 2^30 each", (unsigned long long)m,
                    (unsigned long long)k);
  if (row_bytes % bytes)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "pack.pitch",
                    "got rows %zu bytes apart; legal: whole elements of %zu bytes; nearest: %zu",
                    row_bytes, bytes, row_bytes / bytes * bytes + bytes);
  hd_values values = {0};
  values.v[HD_ARG_B] = (uint64_t)(uintptr_t)dense;
  values.v[HD_ARG_D] = (uint64_t)(uintptr_t)payload;
  values.v[HD_ARG_TWIN] = (uint64_t)(uintptr_t)twin;
  values.v[HD_ARG_M] = m;
  values.v[HD_ARG_K] = k;
  values.v[HD_ARG_LDB] = row_bytes / bytes;
  return hd_kernel_launch_values(ctx, kernel, &values, stream);
}

heddle_status heddle_pack_device(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                 uint64_t k, const void *dense, size_t row_bytes, void *payload,
                                 void *stream) {
  HD_TRY(check_kernel(ctx, &kernel->manifest, false));
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, NULL, stream);
}

heddle_status heddle_pack_device_twin(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                      uint64_t k, const void *dense, size_t row_bytes,
                                      void *payload, void *twin, void *stream) {
  HD_TRY(check_kernel(ctx, &kernel->manifest, true));
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, twin, stream);
}
