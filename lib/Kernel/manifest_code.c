/* A manifest describes how its code is launched. With another kernel's code, a launch would be
 * silently wrong, so the manifest contains the hash of its code. */
#include <string.h>

#include "Kernel/manifest.h"
#include "Support/diag.h"
#include "Support/hash.h"

static void format_hash(const void *data, size_t n_bytes, char out[33]) {
  out[0] = '\0';
  if (data && n_bytes)
    hd_hash_format(hd_hash_bytes(data, n_bytes), out);
}

void hd_manifest_name_code(hd_manifest *manifest, const heddle_image *code) {
  format_hash(code->ptx, code->ptx_bytes, manifest->ptx_hash);
  format_hash(code->cubin, code->cubin_bytes, manifest->cubin_hash);
}

static heddle_status check_part(heddle_context *ctx, const hd_manifest *manifest, const char *what,
                                const void *data, size_t n_bytes, const char *wanted) {
  char got[33];
  format_hash(data, n_bytes, got);
  if (!got[0] || strcmp(got, wanted) == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "manifest.code",
                  "the %s given is not that of this manifest of kernel %s: got hash %s; legal: %s; "
                  "nearest: the files of one `heddle gen`",
                  what, manifest->name, got, wanted[0] ? wanted : "none");
}

heddle_status hd_manifest_check_code(heddle_context *ctx, const hd_manifest *manifest,
                                     const heddle_image *code) {
  HD_TRY(check_part(ctx, manifest, "PTX", code->ptx, code->ptx_bytes, manifest->ptx_hash));
  return check_part(ctx, manifest, "cubin", code->cubin, code->cubin_bytes, manifest->cubin_hash);
}
