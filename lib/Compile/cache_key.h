/* Compile/cache_key.h: what makes two compiles the same. */
#ifndef HD_CACHE_KEY_H
#define HD_CACHE_KEY_H

#include "IR/ir.h"
#include "heddle/compile.h"

/* What a kernel is made from, on any machine: the module after select_shape (it holds target,
 * schedule and instruction), the spec tables, the versions of Heddle and LLVM, the user's epilogue.
 * Manifests hold it. */
hd_hash hd_kernel_hash(const hd_module *front, const heddle_compile_options *options);

/* And by what: Heddle's very sources, the manifest's version, and whether and by which ptxas it is
 * assembled. Never a path. False: there is no cache, or ptxas is no file here but a name that is
 * found on PATH, which may be another one tomorrow. */
bool hd_cache_key(hd_hash kernel, const heddle_compile_options *options, hd_hash *key);

#endif
