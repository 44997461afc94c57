/* heddle_pack_device: launches a pack kernel. The caller gives the row pitch in bytes. */
#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"
#include "heddle/pack.h"

/* The kinds of pack kernels, by an argument that only they have. */
static const struct kind {
  hd_arg_kind arg; /* NONE: none of the others' */
  const char *does, *made_by;
} kinds[] = {
    {HD_ARG_NONE, "packs one matrix", "heddle_pack_compile"},
    {HD_ARG_TWIN, "packs the transposed matrix, too", "heddle_pack_compile_twin"},
    {HD_ARG_SCALE_A, "quantizes", "heddle_pack_compile_quantized"},
};

static const struct kind *find_kind(const hd_manifest *manifest) {
  for (size_t i = 1; i < HD_COUNT(kinds); i++)
    if (hd_manifest_arg(manifest, kinds[i].arg))
      return &kinds[i];
  return &kinds[0];
}

static heddle_status check_kernel(heddle_context *ctx, const hd_manifest *manifest,
                                  hd_arg_kind arg) {
  bool is_pack = hd_manifest_is_pack(manifest);
  const struct kind *kind = find_kind(manifest), *wanted = kinds;
  while (wanted->arg != arg)
    wanted++;
  if (is_pack && kind == wanted)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "pack.kernel",
                  "got kernel %s, which %s; legal: a kernel of %s", manifest->name,
                  is_pack ? kind->does : "multiplies", wanted->made_by);
}

/* `more`: the pointer that only this kind of kernel has, for its argument `arg`. */
static heddle_status launch(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                            uint64_t k, const void *dense, size_t row_bytes, void *payload,
                            hd_arg_kind arg, const void *more, void *stream) {
  HD_TRY(check_kernel(ctx, &kernel->manifest, arg));
  /* The launch cannot detect these errors, because it counts elements in 31 bits. */
  size_t bytes = heddle_elem_get(kernel->manifest.b_elem)->container_bits / 8;
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
  values.v[arg] = (uint64_t)(uintptr_t)more;
  values.v[HD_ARG_M] = m;
  values.v[HD_ARG_K] = k;
  values.v[HD_ARG_LDB] = row_bytes / bytes;
  return hd_kernel_launch_values(ctx, kernel, &values, stream);
}

heddle_status heddle_pack_device(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                 uint64_t k, const void *dense, size_t row_bytes, void *payload,
                                 void *stream) {
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, HD_ARG_NONE, NULL, stream);
}

heddle_status heddle_pack_device_twin(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                      uint64_t k, const void *dense, size_t row_bytes,
                                      void *payload, void *twin, void *stream) {
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, HD_ARG_TWIN, twin, stream);
}

heddle_status heddle_pack_device_quantized(heddle_context *ctx, const heddle_kernel *kernel,
                                           uint64_t m, uint64_t k, const void *dense,
                                           size_t row_bytes, const void *scales, void *payload,
                                           void *stream) {
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, HD_ARG_SCALE_A, scales, stream);
}
