/* Kernel/bundle.h: NAME.json of a bundle: one problem's kernels for several targets, and where in
 * NAME.c.bin their code lies. */
#ifndef HD_BUNDLE_H
#define HD_BUNDLE_H

#include "Kernel/launcher_c.h"

enum { HD_BUNDLE_VERSION = 1 };

typedef struct hd_bundle_part {
  hd_manifest manifest;
  hd_binary_image image[2];
  int32_t n_images;
} hd_bundle_part;

typedef struct hd_bundle {
  const char *name, *file; /* file: NAME.c.bin, beside the JSON; strings live in the arena */
  uint64_t n_bytes;        /* of the file */
  int32_t n_parts;
  hd_bundle_part part[HD_MAX_PARTS];
} hd_bundle;

/* The text (owned, hd_free); byte-reproducible. images as hd_launcher_write gave them. */
heddle_status hd_bundle_write(heddle_context *ctx, const hd_launcher_part *parts, int32_t n,
                              const hd_binary_image *image, int32_t n_images,
                              size_t binary_bytes, char **json);

/* Whether a JSON text is of a bundle rather than of one manifest. */
bool hd_bundle_is(const char *json, size_t n_bytes);
/* HEDDLE_INVALID with what is wrong; a manifest of it as hd_manifest_read refuses it. */
heddle_status hd_bundle_read(heddle_context *ctx, const char *json, size_t n_bytes,
                             hd_arena *arena, hd_bundle *bundle);
/* A part's code in the file's bytes (borrowed). HEDDLE_INVALID when it is not that manifest's. */
heddle_status hd_bundle_code(heddle_context *ctx, const hd_bundle *bundle, int32_t part,
                             const unsigned char *binary, size_t n_bytes, heddle_image *code);

#endif
