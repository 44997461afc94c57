#include "Compile/build.h"

#include "Compile/commit.h"       /* made by the build */
#include "Compile/sources_hash.h" /* made by the build */
#include "Spec/spec.h"
#include "Support/hash.h"

void hd_build_sources(char out[33]) {
  static const char text[] = HD_SOURCES_HASH " llvm " HEDDLE_LLVM_VERSION;
  hd_hash_format(hd_hash_combine(hd_hash_bytes(text, sizeof text), hd_spec_hash()), out);
}

const char *hd_build_commit(void) {
  return HD_COMMIT;
}

const char *hd_build_llvm(void) {
  return HEDDLE_LLVM_VERSION;
}
