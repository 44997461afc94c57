#include "trial/trial.h"

heddle_status trial_kernel_compile(heddle_context *ctx, const char *file, const char *text,
                                   size_t text_bytes, const heddle_compile_options *options,
                                   trial_kernel *kernel) {
  heddle_status status =
      heddle_compile(ctx, file, text, text_bytes, options, &kernel->compiled);
  if (status != HEDDLE_OK)
    return status;
  size_t n_bytes;
  const char *json = heddle_compiled_manifest(kernel->compiled, &n_bytes);
  return hd_manifest_read(ctx, json, n_bytes, &kernel->arena, &kernel->manifest);
}

void trial_kernel_free(trial_kernel *kernel) {
  heddle_kernel_free(kernel->loaded);
  heddle_compiled_free(kernel->compiled);
  hd_arena_free(&kernel->arena);
  *kernel = (trial_kernel){0};
}

heddle_family trial_kernel_family(const hd_manifest *manifest) {
  heddle_family family = HEDDLE_FAMILY_NONE;
  heddle_family_parse(manifest->family, &family);
  return family;
}
