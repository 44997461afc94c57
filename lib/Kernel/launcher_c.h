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

/* NAME.h, NAME.c, and NAME.c.bin, which NAME.c includes with .incbin (owned). */
typedef struct hd_launcher_files {
  char *header, *source;
  unsigned char *binary;
  size_t binary_bytes;
} hd_launcher_files;

/* The position of an image in NAME.c.bin. n_bytes of PTX includes its terminating NUL. */
typedef struct hd_binary_image {
  int32_t part; /* index of the part that the code belongs to */
  bool is_ptx;
  uint64_t offset, n_bytes;
} hd_binary_image;

/* Writes the launcher of one problem for one or several targets. NAME is the name in the manifests.
 * The C needs no CUDA header, links no libcuda and compiles with cc -std=c11 -Wall -Wextra -Werror.
 * The output is reproducible. NAME.h documents the functions: NAME_load, which loads the best part
 * for the device, NAME, NAME_workspace, NAME_unload, NAME_error. A launch performs the checks of
 * hd_manifest_plan in the same order. image (2 * n elements, may be NULL) receives the positions of
 * the code. Returns HEDDLE_INVALID if a manifest is invalid or does not match its code, if the
 * parts belong to different problems, or if the name is reserved in C or by the launcher. */
heddle_status hd_launcher_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                                hd_launcher_files *files, hd_binary_image *image,
                                int32_t *n_images);
void hd_launcher_files_free(hd_launcher_files *files);

/* launcher_binary.c: NAME.c.bin. A header of 64 bytes (magic, then the hash of all bytes after the
 * header in hexadecimal) and the images, cubin before PTX, each at a multiple of 64 bytes. */
void hd_binary_make(const hd_launcher_part *parts, int32_t n, hd_strbuf *out, char hash[33],
                    hd_binary_image *image, int32_t *n_images);
enum { HD_BINARY_HEAD = 64, HD_BINARY_HASH_AT = 16 };
#define HD_BINARY_MAGIC "HEDDLE-BINARY-1\n"

/* launcher_checks.c: the parts of NAME.c that depend on the manifest's arguments and variants. */
void hd_launcher_values(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_checks(hd_strbuf *out, const hd_manifest *manifest);
void hd_launcher_variant(hd_strbuf *out, const char *name, const hd_variant *variant, int index);
/* The parameters that the caller passes: "int32_t m, int64_t ldb, " …. numbers_only omits pointers
 * and float scalars. */
void hd_launcher_params(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);
/* The initializer of an hd_values from these parameters. */
void hd_launcher_initialiser(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only);

#endif
