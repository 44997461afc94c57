/* Kernel/launcher_c.h: the ahead-of-time launcher of a kernel, as C source. */
#ifndef HD_LAUNCHER_C_H
#define HD_LAUNCHER_C_H

#include "Kernel/manifest.h"
#include "Support/strbuf.h"

/* The code that a launcher embeds; one of the two may be absent (NULL, 0). */
typedef struct hd_launcher_code {
  const void *cubin;
  size_t cubin_bytes;
  const char *ptx;
  size_t ptx_bytes;
} hd_launcher_code;

/* The texts of NAME.h and NAME.c (owned), NAME being manifest->name. They need no CUDA header, link
 * no libcuda and compile with cc -std=c11 -Wall -Wextra -Werror; same input, same bytes. NAME.h
 * documents the functions: NAME_load, NAME, NAME_workspace, NAME_unload, NAME_error. A launch makes
 * the checks of hd_manifest_plan, in its order. HEDDLE_INVALID when the manifest is not whole, or
 * its name is not one that C and this file leave free. */
heddle_status hd_launcher_write(heddle_context *ctx, const hd_manifest *manifest,
                                const hd_launcher_code *code, char **header, char **source);

/* launcher_checks.c: the parts of NAME.c that depend on the manifest's arguments and variants. */
void hd_launcher_values(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_checks(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_variant(hd_strbuf *out, const hd_manifest *manifest, int index);
/* "int32_t m, int64_t ldb, " …: what the caller passes; pointers and scalars unless
 * numbers_only. */
void hd_launcher_params(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);
/* The initialiser of an hd_values from those parameters. */
void hd_launcher_initialiser(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);

#endif
