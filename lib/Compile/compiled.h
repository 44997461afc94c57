/* Compile/compiled.h: a compiled kernel from inside, and what is done to any once there is PTX. */
#ifndef HD_COMPILED_H
#define HD_COMPILED_H

#include "Emit/ptxas.h"
#include "Kernel/manifest.h"
#include "Runtime/kernel_cache.h"
#include "Support/arena.h"
#include "heddle/compile.h"

struct heddle_compiled {
  hd_arena arena;
  hd_cache_entry entry; /* manifest, PTX, cubin; owned by its storage when it came from the cache */
  char *ptx, *json;     /* owned, when it was compiled here */
  void *cubin;          /* owned */
  const char *name, *schedule;
};

/* Which variants the gate refused, and why the first of them; zero-initialise. */
typedef struct hd_gated {
  bool any, variant[HD_MAX_VARIANTS];
  char why[HD_PTXAS_REFUSAL];
} hd_gated;

/* Takes the PTX over (consumed), assembles it where ptxas is not NULL, and writes the manifest.
 * What the gate of ptxas refuses is an error; with `gated` it is told there: HEDDLE_UNSUPPORTED,
 * and no text. */
heddle_status hd_compiled_finish(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                                 char *ptx, size_t n_bytes, heddle_compiled *compiled,
                                 hd_gated *gated);

#endif
