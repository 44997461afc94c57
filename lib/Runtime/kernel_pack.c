/* heddle_pack_device: launches a pack kernel. The caller gives the row pitch in bytes. */
#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"
#include "heddle/pack.h"

/* The kinds of pack kernels: a kernel is of the first kind whose argument it has. */
static const struct kind {
  hd_arg_kind arg; /* NONE: any */
  const char *does, *made_by;
} kinds[] = {
    {HD_ARG_MASK, "prunes along rows and columns", "heddle_pack_compile_two_way"},
    {HD_ARG_KEEP, "packs under a mask", "heddle_pack_compile_masked"},
    {HD_ARG_TWIN, "packs the transposed matrix, too", "heddle_pack_compile_twin"},
    {HD_ARG_SCALE_A, "quantizes", "heddle_pack_compile_quantized"},
    {HD_ARG_NONE, "packs one matrix", "heddle_pack_compile"},
};

static const struct kind *find_kind(const hd_manifest *manifest) {
  const struct kind *kind = kinds;
  while (kind->arg != HD_ARG_NONE && !hd_manifest_arg(manifest, kind->arg))
    kind++;
  return kind;
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

/* An argument that not all kinds have. */
typedef struct extra {
  hd_arg_kind arg;
  const void *ptr;
} extra;

/* more: the arguments of this kind, the one that identifies it first; ends with NONE. */
static heddle_status launch(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                            uint64_t k, const void *dense, size_t row_bytes, void *payload,
                            const extra *more, void *stream) {
  HD_TRY(check_kernel(ctx, &kernel->manifest, more->arg));
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
  for (; more->arg != HD_ARG_NONE; more++)
    values.v[more->arg] = (uint64_t)(uintptr_t)more->ptr;
  values.v[HD_ARG_M] = m;
  values.v[HD_ARG_K] = k;
  values.v[HD_ARG_LDB] = row_bytes / bytes;
  return hd_kernel_launch_values(ctx, kernel, &values, stream);
}

heddle_status heddle_pack_device(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                 uint64_t k, const void *dense, size_t row_bytes, void *payload,
                                 void *stream) {
  const extra none = {HD_ARG_NONE, NULL};
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, &none, stream);
}

heddle_status heddle_pack_device_twin(heddle_context *ctx, const heddle_kernel *kernel, uint64_t m,
                                      uint64_t k, const void *dense, size_t row_bytes,
                                      void *payload, void *twin, void *stream) {
  const extra more[] = {{HD_ARG_TWIN, twin}, {HD_ARG_NONE, NULL}};
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, more, stream);
}

heddle_status heddle_pack_device_two_way(heddle_context *ctx, const heddle_kernel *kernel,
                                         uint64_t m, uint64_t k, const void *dense,
                                         size_t row_bytes, void *payload, void *twin, void *mask,
                                         void *stream) {
  const extra more[] = {{HD_ARG_MASK, mask}, {HD_ARG_TWIN, twin}, {HD_ARG_NONE, NULL}};
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, more, stream);
}

heddle_status heddle_pack_device_masked(heddle_context *ctx, const heddle_kernel *kernel,
                                        uint64_t m, uint64_t k, const void *dense,
                                        size_t row_bytes, const void *mask, void *payload,
                                        void *twin, void *stream) {
  const extra more[] = {{HD_ARG_KEEP, mask}, {HD_ARG_TWIN, twin}, {HD_ARG_NONE, NULL}};
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, more, stream);
}

heddle_status heddle_pack_device_quantized(heddle_context *ctx, const heddle_kernel *kernel,
                                           uint64_t m, uint64_t k, const void *dense,
                                           size_t row_bytes, const void *scales, void *payload,
                                           void *stream) {
  const extra more[] = {{HD_ARG_SCALE_A, scales}, {HD_ARG_NONE, NULL}};
  return launch(ctx, kernel, m, k, dense, row_bytes, payload, more, stream);
}
