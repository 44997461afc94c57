/* heddle/launcher.h: kernels ahead of time: the C source that loads and launches one without
 * Heddle, as `heddle gen` writes it. Needs no GPU, no driver, no LLVM. */
#ifndef HEDDLE_LAUNCHER_H
#define HEDDLE_LAUNCHER_H

#include <stddef.h>

#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One target's kernel: heddle_compiled_manifest, and the code that it was written with. Borrowed
 * for the call. */
typedef struct heddle_launcher_part {
  const char *manifest_json;
  size_t json_bytes;
  heddle_image image;
} heddle_launcher_part;

enum { HEDDLE_MAX_LAUNCHER_PARTS = 8 };

typedef struct heddle_launcher heddle_launcher;

/* The launcher of one problem's kernel for one target or several (n_parts of them, 1 to 8), NAME
 * being the kernel's name. The same parts give the same bytes. *launcher is owned. HEDDLE_INVALID
 * when a manifest is not that of its code, when parts are of two problems or of one target twice,
 * or when C has another use for the name. Thread-safe with a ctx a thread. */
HEDDLE_API heddle_status heddle_launcher_write(heddle_context *ctx,
                                               const heddle_launcher_part *parts, size_t n_parts,
                                               heddle_launcher **launcher);
/* Accepts NULL. */
HEDDLE_API void heddle_launcher_free(heddle_launcher *launcher);

/* What goes into files of these names, in one folder. Borrowed, until heddle_launcher_free. */
HEDDLE_API const char *heddle_launcher_name(const heddle_launcher *launcher);   /* NAME */
HEDDLE_API const char *heddle_launcher_header(const heddle_launcher *launcher); /* NAME.h */
/* NAME.c: C11 or C++17. The assembler takes NAME.c.bin into it. */
HEDDLE_API const char *heddle_launcher_source(const heddle_launcher *launcher);
HEDDLE_API const void *heddle_launcher_binary(const heddle_launcher *launcher, size_t *n_bytes);
/* NAME.json: which targets there are, and where their code lies; `heddle run` takes it. */
HEDDLE_API const char *heddle_launcher_manifest(const heddle_launcher *launcher);

#ifdef __cplusplus
}
#endif
#endif
