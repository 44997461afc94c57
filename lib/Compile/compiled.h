/* Compile/compiled.h: a compiled kernel from inside, and what is done to any once there is PTX. */
#ifndef HD_COMPILED_H
#define HD_COMPILED_H

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

/* Takes the PTX over (consumed), assembles it where ptxas is not NULL, and writes the manifest. */
heddle_status hd_compiled_finish(heddle_context *ctx, const char *ptxas, hd_manifest *manifest,
                                 char *ptx, size_t n_bytes, heddle_compiled *compiled);

#endif
