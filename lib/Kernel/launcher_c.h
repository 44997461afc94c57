/* Kernel/launcher_c.h: the ahead-of-time launcher of a kernel, as C source. */
#ifndef HD_LAUNCHER_C_H
#define HD_LAUNCHER_C_H

#include "Kernel/manifest.h"
#include "Support/strbuf.h"

/* A kernel for one target: its manifest and code (a cubin, PTX or both). Borrowed. */
typedef struct hd_launcher_part {
  const hd_manifest *manifest;
  heddle_image code;
} hd_launcher_part;
enum { HD_MAX_PARTS = 8 };

/* NAME.h, NAME.c, and NAME.c.bin, which the assembler takes into NAME.c (owned). */
typedef struct hd_launcher_files {
  char *header, *source;
  unsigned char *binary;
  size_t binary_bytes;
} hd_launcher_files;

/* Where an image lies in NAME.c.bin. PTX ends with a NUL, which is one of its bytes here. */
typedef struct hd_binary_image {
  int32_t part; /* whose code it is */
  bool is_ptx;
  uint64_t offset, n_bytes;
} hd_binary_image;

/* The launcher of one problem's kernel for one or several targets, NAME being the manifests' name.
 * Its C needs no CUDA header, links no libcuda and compiles with cc -std=c11 -Wall -Wextra -Werror;
 * same input, same bytes. NAME.h documents the functions: NAME_load, which takes the best part for
 * the device, NAME, NAME_workspace, NAME_unload, NAME_error. A launch makes the checks of
 * hd_manifest_plan, in its order. image (of 2 * n; NULL: not wanted) gets where the code went.
 * HEDDLE_INVALID when a manifest is not whole or not that of its code, when parts are not of one
 * problem, or when the name is not one that C and this file leave free. */
heddle_status hd_launcher_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                                hd_launcher_files *files, hd_binary_image *image,
                                int32_t *n_images);
void hd_launcher_files_free(hd_launcher_files *files);

/* launcher_binary.c: NAME.c.bin, 64 bytes of head (the magic, the hash of what follows in
 * hexadecimal) and the images, cubin before PTX; each begins at a multiple of 64. */
void hd_binary_make(const hd_launcher_part *parts, int32_t n, hd_strbuf *out, char hash[33],
                    hd_binary_image *image, int32_t *n_images);
enum { HD_BINARY_HEAD = 64, HD_BINARY_HASH_AT = 16 };
#define HD_BINARY_MAGIC "HEDDLE-BINARY-1\n"

/* launcher_checks.c: the parts of NAME.c that depend on the manifest's arguments and variants. */
void hd_launcher_values(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_checks(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_variant(hd_strbuf *out, const char *name, const hd_variant *variant, int index);
/* "int32_t m, int64_t ldb, " …: what the caller passes; pointers and scalars unless
 * numbers_only. */
void hd_launcher_params(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);
/* The initialiser of an hd_values from those parameters. */
void hd_launcher_initialiser(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);

#endif
