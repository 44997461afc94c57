#include "trial/trial.h"

#include <string.h>

#include "Kernel/bundle.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

heddle_status trial_kernel_compile(heddle_context *ctx, const char *file, const char *text,
                                   size_t text_bytes, const heddle_compile_options *options,
                                   trial_kernel *kernel) {
  heddle_status status =
      heddle_compile(ctx, file, text, text_bytes, options, &kernel->compiled);
  return status == HEDDLE_OK ? trial_kernel_open(ctx, kernel) : status;
}

heddle_status trial_kernel_open(heddle_context *ctx, trial_kernel *kernel) {
  size_t n_bytes;
  const char *json = heddle_compiled_manifest(kernel->compiled, &n_bytes);
  kernel->code.cubin = heddle_compiled_cubin(kernel->compiled, &kernel->code.cubin_bytes);
  kernel->code.ptx = heddle_compiled_ptx(kernel->compiled, &kernel->code.ptx_bytes);
  return hd_manifest_read(ctx, json, n_bytes, &kernel->arena, &kernel->manifest);
}

/* ---- from files ---- */

/* Lengths of "FOLDER/" and of "FOLDER/NAME" in FOLDER/NAME.json. */
static int32_t folder_of(const char *json_path) {
  const char *slash = strrchr(json_path, '/');
  return slash ? (int32_t)(slash + 1 - json_path) : 0;
}

static int32_t stem_of(const char *json_path) {
  const char *end = strrchr(json_path, '.');
  bool is_json = end && strcmp(end, ".json") == 0;
  return (int32_t)(is_json ? (size_t)(end - json_path) : strlen(json_path));
}

/* Reads the file whose path is the first `kept` bytes of the manifest's path, then `rest`. */
static heddle_status read_beside(heddle_context *ctx, const char *json_path, int32_t kept,
                                 const char *rest, char **data, size_t *n_bytes) {
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%.*s%s", kept, json_path, rest);
  heddle_status status = hd_file_read(ctx, hd_strbuf_text(&path), data, n_bytes);
  hd_strbuf_free(&path);
  return status;
}

/* The cubin is optional. PTX is required, because the simulator runs it. */
static heddle_status read_single(heddle_context *ctx, const char *path, const char *json,
                                 size_t json_bytes, trial_kernel *kernel) {
  HD_TRY(hd_manifest_read(ctx, json, json_bytes, &kernel->arena, &kernel->manifest));
  HD_TRY(read_beside(ctx, path, stem_of(path), ".ptx", &kernel->file[0], &kernel->code.ptx_bytes));
  kernel->code.ptx = kernel->file[0];
  if (kernel->manifest.cubin_hash[0]) {
    HD_TRY(read_beside(ctx, path, stem_of(path), ".cubin", &kernel->file[1],
                       &kernel->code.cubin_bytes));
    kernel->code.cubin = kernel->file[1];
  }
  return hd_manifest_check_code(ctx, &kernel->manifest, &kernel->code);
}

static heddle_status pick_part(heddle_context *ctx, const hd_bundle *bundle, const char *target,
                               trial_runs *runs, const void *user, int32_t *part) {
  hd_strbuf names = {0};
  *part = -1;
  for (int32_t i = 0; i < bundle->n_parts; i++) {
    const char *name = bundle->part[i].manifest.target;
    bool suits = target ? strcmp(name, target) == 0 : runs && runs(user, name);
    if (suits && (*part < 0 || strlen(name) > strlen(bundle->part[*part].manifest.target)))
      *part = i; /* prefers sm_90a to sm_80 */
    hd_strbuf_printf(&names, "%s%s", i ? ", " : "", name);
  }
  if (*part < 0 && !target)
    *part = 0;
  heddle_status status =
      *part >= 0 ? HEDDLE_OK
                 : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bundle.target",
                            "%s has no code for %s; legal: %s", bundle->name, target,
                            hd_strbuf_text(&names));
  hd_strbuf_free(&names);
  return status;
}

static heddle_status read_bundle(heddle_context *ctx, const char *path, const char *json,
                                 size_t json_bytes, const char *target, trial_runs *runs,
                                 const void *user, trial_kernel *kernel) {
  hd_bundle *bundle = HD_NEW(&kernel->arena, hd_bundle);
  int32_t part;
  size_t n_bytes;
  HD_TRY(hd_bundle_read(ctx, json, json_bytes, &kernel->arena, bundle));
  HD_TRY(pick_part(ctx, bundle, target, runs, user, &part));
  HD_TRY(read_beside(ctx, path, folder_of(path), bundle->file, &kernel->file[0], &n_bytes));
  kernel->manifest = bundle->part[part].manifest;
  return hd_bundle_code(ctx, bundle, part, (const unsigned char *)kernel->file[0], n_bytes,
                        kernel->decompressed, &kernel->code);
}

heddle_status trial_kernel_read(heddle_context *ctx, const char *path, const char *json,
                                size_t json_bytes, const char *target, trial_runs *runs,
                                const void *user, trial_kernel *kernel) {
  return hd_bundle_is(json, json_bytes)
             ? read_bundle(ctx, path, json, json_bytes, target, runs, user, kernel)
             : read_single(ctx, path, json, json_bytes, kernel);
}

void trial_kernel_free(trial_kernel *kernel) {
  for (int32_t i = 0; i < 2; i++) {
    hd_free(kernel->file[i]);
    hd_free(kernel->decompressed[i]);
  }
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
