#include "Compile/cache_key.h"

#include "Compile/sources_hash.h" /* made by the build */
#include "Kernel/manifest.h"
#include "Spec/spec.h"
#include "Support/file.h"
#include "heddle/version.h"

static hd_hash fold(hd_hash hash, const void *data, size_t n_bytes) {
  return hd_hash_combine(hash, hd_hash_bytes(data, n_bytes));
}

hd_hash hd_kernel_hash(const hd_module *front, const heddle_compile_options *options) {
  static const char versions[] = "heddle " HEDDLE_VERSION " llvm " HEDDLE_LLVM_VERSION;
  hd_hash hash = hd_hash_combine(hd_module_hash(front), hd_spec_hash());
  hash = fold(hash, versions, sizeof versions);
  return fold(hash, options->user_epilogue,
              options->user_epilogue ? options->user_epilogue_bytes : 0);
}

bool hd_cache_key(hd_hash kernel, const heddle_compile_options *options, hd_hash *key) {
  static const char sources[] = HD_SOURCES_HASH;
  uint64_t facts[4] = {HD_MANIFEST_VERSION, options->ptxas != NULL}; /* entries hold manifests */
  if (options->ptxas)
    hd_file_stamp(options->ptxas, &facts[2]);
  *key = fold(fold(kernel, sources, sizeof sources), facts, sizeof facts);
  return options->cache && (!options->ptxas || facts[2] || facts[3]);
}
