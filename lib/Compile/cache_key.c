#include "Compile/cache_key.h"

#include "Kernel/manifest.h"
#include "Spec/spec.h"
#include "Support/file.h"

static hd_hash fold(hd_hash hash, const void *data, size_t n_bytes) {
  return hd_hash_combine(hash, hd_hash_bytes(data, n_bytes));
}

hd_hash hd_cache_key(const hd_module *front, const heddle_compile_options *options) {
  static const char versions[] = "heddle " HEDDLE_VERSION " llvm " HEDDLE_LLVM_VERSION;
  hd_hash key = hd_hash_combine(hd_module_hash(front), hd_spec_hash());
  key = fold(key, versions, sizeof versions);
  key =
      fold(key, options->user_epilogue, options->user_epilogue ? options->user_epilogue_bytes : 0);
  uint64_t stamp[3] = {0, 0, HD_MANIFEST_VERSION}; /* entries hold manifests */
  if (options->ptxas)
    hd_file_stamp(options->ptxas, stamp);
  return fold(key, stamp, sizeof stamp);
}
