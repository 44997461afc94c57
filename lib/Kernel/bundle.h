/* Kernel/bundle.h: NAME.json of a bundle: the kernels of one problem for several targets, and the
 * positions of their code in NAME.c.bin. */
#ifndef HD_BUNDLE_H
#define HD_BUNDLE_H

#include "Kernel/launcher_c.h"

enum { HD_BUNDLE_VERSION = 1, HD_MAX_CODE_BYTES = 1 << 28 };

typedef struct hd_bundle_part {
  hd_manifest manifest;
  hd_binary_image image[2];
  int32_t n_images;
} hd_bundle_part;

typedef struct hd_bundle {
  const char *name, *file; /* file: NAME.c.bin, beside the JSON; strings live in the arena */
  uint64_t n_bytes;        /* size of the file */
  bool compressed;         /* as in hd_binary */
  int32_t n_parts;
  hd_bundle_part part[HD_MAX_PARTS];
} hd_bundle;

/* Writes the JSON text (owned, hd_free); byte-reproducible. binary: of hd_launcher_write. */
heddle_status hd_bundle_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                              const hd_binary *binary, char **json);

/* True if the JSON text is a bundle and not a single manifest. */
bool hd_bundle_is(const char *json, size_t n_bytes);
/* HEDDLE_INVALID if the bundle is malformed; the errors of hd_manifest_read for its manifests. */
heddle_status hd_bundle_read(heddle_context *ctx, const char *json, size_t n_bytes,
                             hd_arena *arena, hd_bundle *bundle);
/* Finds a part's code in the file's bytes (borrowed), or decompresses it: owned[i], NULL before, is
 * then the memory of image i (hd_free, after an error, too). HEDDLE_INVALID if it is not the part's
 * code. */
heddle_status hd_bundle_code(heddle_context *ctx, const hd_bundle *bundle, int32_t part,
                             const unsigned char *binary, size_t n_bytes, void *owned[2],
                             heddle_image *code);

#endif
