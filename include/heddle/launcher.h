/* heddle/launcher.h: writes the C source that loads and launches a kernel without Heddle, as
 * `heddle gen` does. Needs no GPU, no driver, no LLVM. */
#ifndef HEDDLE_LAUNCHER_H
#define HEDDLE_LAUNCHER_H

#include <stddef.h>

#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel of one target: heddle_compiled_manifest and its code. Borrowed for the call. */
typedef struct heddle_launcher_part {
  const char *manifest_json;
  size_t json_bytes;
  heddle_image image;
} heddle_launcher_part;

enum { HEDDLE_MAX_LAUNCHER_PARTS = 8 };

typedef struct heddle_launcher heddle_launcher;

/* Writes the launcher of a kernel for one or several targets (n_parts, 1 to 8). NAME is the name of
 * the kernel. The same parts give the same bytes. *launcher is owned. HEDDLE_INVALID if a manifest
 * does not belong to its code, if the parts belong to two problems or twice to one target, or if C
 * reserves the name. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_launcher_write(heddle_context *ctx,
                                               const heddle_launcher_part *parts, size_t n_parts,
                                               heddle_launcher **launcher);
/* The same with the code in NAME.c.bin compressed by zstd. NAME.c includes <zstd.h>, and its
 * program links libzstd. The same parts and the same libzstd give the same bytes. */
HEDDLE_API heddle_status heddle_launcher_write_zstd(heddle_context *ctx,
                                                    const heddle_launcher_part *parts,
                                                    size_t n_parts, heddle_launcher **launcher);
/* Accepts NULL. */
HEDDLE_API void heddle_launcher_free(heddle_launcher *launcher);

/* The contents of the files with these names, in one folder. Borrowed: valid until
 * heddle_launcher_free. */
HEDDLE_API const char *heddle_launcher_name(const heddle_launcher *launcher);   /* NAME */
HEDDLE_API const char *heddle_launcher_header(const heddle_launcher *launcher); /* NAME.h */
/* NAME.c: C11 or C++17. It includes NAME.c.bin with .incbin. */
HEDDLE_API const char *heddle_launcher_source(const heddle_launcher *launcher);
HEDDLE_API const void *heddle_launcher_binary(const heddle_launcher *launcher, size_t *n_bytes);
/* NAME.json: the targets and the offsets of their code; `heddle run` accepts it. */
HEDDLE_API const char *heddle_launcher_manifest(const heddle_launcher *launcher);

#ifdef __cplusplus
}
#endif
#endif
