/* Compile/cache_key.h: what makes two compiles the same. */
#ifndef HD_CACHE_KEY_H
#define HD_CACHE_KEY_H

#include "IR/ir.h"
#include "heddle/compile.h"

/* The module after select_shape (it holds target, schedule and instruction), the spec tables,
 * Heddle, LLVM, the manifest's version, the user's epilogue, and whether and by which ptxas it is
 * assembled. Never a path. */
hd_hash hd_cache_key(const hd_module *front, const heddle_compile_options *options);

#endif
