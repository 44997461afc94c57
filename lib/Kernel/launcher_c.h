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

/* The position of an image in NAME.c.bin. code_bytes of PTX includes its terminating NUL. */
typedef struct hd_binary_image {
  int32_t part; /* index of the part that the code belongs to */
  bool is_ptx;
  uint64_t offset, n_bytes; /* in the file */
  uint64_t code_bytes;      /* n_bytes, or those of the code before it was compressed */
} hd_binary_image;

/* NAME.c.bin: a header of 64 bytes (magic, then the hash of all bytes after the header in
 * hexadecimal) and the images, cubin before PTX, each at a multiple of 64 bytes. */
typedef struct hd_binary {
  char *data; /* owned */
  size_t n_bytes;
  char hash[33];
  bool compressed; /* each image is a zstd frame */
  int32_t n_images;
  hd_binary_image image[2 * HD_MAX_PARTS];
} hd_binary;
enum { HD_BINARY_HEAD = 64, HD_BINARY_HASH_AT = 16 };
#define HD_BINARY_MAGIC "HEDDLE-BINARY-1\n"

/* NAME.h, NAME.c, and NAME.c.bin, which NAME.c includes with .incbin (owned). */
typedef struct hd_launcher_files {
  char *header, *source;
  hd_binary binary;
} hd_launcher_files;

/* Writes the launcher of one problem for one or several targets. NAME is the name in the manifests.
 * The C needs no CUDA header, links no libcuda and compiles with cc -std=c11 -Wall -Wextra -Werror;
 * if the code is compressed, it includes <zstd.h> and links libzstd.
 * The output is reproducible. NAME.h documents the functions: NAME_load, which loads the best part
 * for the device, NAME, NAME_workspace, NAME_unload, NAME_error. A launch performs the checks of
 * hd_manifest_plan in the same order. Returns HEDDLE_INVALID if a manifest is invalid or does not
 * match its code, if the parts belong to different problems, or if the name is reserved in C or by
 * the launcher. */
heddle_status hd_launcher_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                                bool compress, hd_launcher_files *files);
void hd_launcher_files_free(hd_launcher_files *files);

/* launcher_binary.c. If memory is short, the binary is incomplete, and the thread's count of
 * shortages rises. */
hd_binary hd_binary_make(const hd_launcher_part *parts, int32_t n, bool compress);

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
