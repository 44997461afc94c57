/* One target a public parser, FUZZ_PARSER: any bytes end in a status. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "Choice/tuned.h"
#include "Kernel/bundle.h"
#include "Schedule/schedule.h"
#include "Sparse/npy.h"
#include "heddle/ir.h"
#include "heddle/manifest.h"
#include "heddle/sparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* What is read is printed, and read again. */
static inline void fuzz_module(heddle_context *ctx, const char *text, size_t n) {
  heddle_module *module, *again;
  char *printed;
  size_t printed_bytes;
  if (heddle_module_parse(ctx, NULL, text, n, &module) != HEDDLE_OK)
    return;
  heddle_module_print(module, &printed, &printed_bytes);
  if (heddle_module_parse(ctx, NULL, printed, printed_bytes, &again) != HEDDLE_OK)
    abort();
  heddle_module_free(again);
  heddle_module_free(module);
  free(printed);
}

static inline void fuzz_manifest(heddle_context *ctx, const char *text, size_t n) {
  heddle_manifest *manifest;
  if (heddle_manifest_read(ctx, text, n, &manifest) == HEDDLE_OK)
    heddle_manifest_free(manifest);
}

static inline void fuzz_bundle(heddle_context *ctx, const char *text, size_t n) {
  hd_arena arena = {0};
  hd_bundle bundle;
  (void)hd_bundle_read(ctx, text, n, &arena, &bundle);
  hd_arena_free(&arena);
}

static inline void fuzz_schedule(heddle_context *ctx, const char *text, size_t n) {
  char *copy = strndup(text, n);
  hd_schedule_words words = {0};
  (void)hd_schedule_parse(ctx, HD_NOWHERE, copy, &words);
  free(copy);
}

static inline void fuzz_tuned(heddle_context *ctx, const char *text, size_t n) {
  hd_tuned *tuned;
  if (hd_tuned_parse(ctx, "fuzz", text, n, &tuned) == HEDDLE_OK)
    heddle_tuned_free(tuned);
}

static inline void fuzz_npy(heddle_context *ctx, const char *text, size_t n) {
  hd_npy npy;
  (void)hd_npy_open(ctx, "fuzz", text, n, &npy);
}

static inline void fuzz_sparse(heddle_context *ctx, const char *text, size_t n) {
  heddle_sparse_info info;
  (void)heddle_sparse_check(ctx, text, n, &info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  heddle_context *ctx = heddle_context_create();
  FUZZ_PARSER(ctx, (const char *)data, n_bytes);
  heddle_context_free(ctx);
  return 0;
}
