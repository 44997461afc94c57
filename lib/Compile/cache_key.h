/* Compile/cache_key.h: hashes that identify a kernel and an entry of the cache. */
#ifndef HD_CACHE_KEY_H
#define HD_CACHE_KEY_H

#include "IR/ir.h"
#include "heddle/compile.h"

/* The hash of a kernel's inputs, the same on every machine: the module after select_shape (with
 * target, schedule and instruction), the spec tables, the versions of Heddle and LLVM, and the
 * user's epilogue. Manifests contain this hash. */
hd_hash hd_kernel_hash(const hd_module *front, const heddle_compile_options *options);

/* The key of the cache: the kernel's hash, the hash of Heddle's sources, the manifest's version,
 * whether ptxas is used, and the stamp of its file, but never a path. False: there is no cache, or
 * ptxas is only a name to be found on PATH, which may refer to another program later. */
bool hd_cache_key(hd_hash kernel, const heddle_compile_options *options, hd_hash *key);

#endif
