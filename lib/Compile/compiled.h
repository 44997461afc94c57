/* Compile/compiled.h: the fields of a compiled kernel, and the steps after PTX emission. */
#ifndef HD_COMPILED_H
#define HD_COMPILED_H

#include "Emit/ptxas.h"
#include "Kernel/manifest.h"
#include "Runtime/kernel_cache.h"
#include "Support/arena.h"
#include "heddle/compile.h"

struct heddle_compiled {
  hd_arena arena;
  hd_cache_entry entry; /* manifest, PTX, cubin; if read from the cache, its storage owns them */
  char *ptx, *json;     /* owned, if compiled here */
  void *cubin;          /* owned */
  const char *name, *schedule;
};

/* The variants that the gate refused, and the first reason; zero-initialise. */
typedef struct hd_gated {
  bool any, variant[HD_MAX_VARIANTS];
  char why[HD_PTXAS_REFUSAL];
} hd_gated;

/* Consumes the PTX, assembles it if ptxas is not NULL, and writes the manifest. A kernel that the
 * gate refuses is HEDDLE_UNSUPPORTED, with a diagnostic, or with the reason in `gated` instead if
 * that is not NULL. */
heddle_status hd_compiled_finish(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                                 char *ptx, size_t n_bytes, heddle_compiled *compiled,
                                 hd_gated *gated);

#endif
