/* Implements heddle/launcher.h on top of launcher_c.h and bundle.h. */
#include "heddle/launcher.h"

#include <string.h>

#include "Kernel/bundle.h"
#include "Support/diag.h"

_Static_assert((int)HEDDLE_MAX_LAUNCHER_PARTS == (int)HD_MAX_PARTS, "ORDER LAUNCHER PARTS");

struct heddle_launcher {
  hd_arena arena; /* owns the manifests */
  const char *name;
  hd_launcher_files files;
  char *json; /* owned */
};

static heddle_status read_parts(heddle_context *ctx, const heddle_launcher_part *parts, size_t n,
                                heddle_launcher *l, hd_launcher_part *read) {
  for (size_t i = 0; i < n; i++) {
    hd_manifest *manifest = HD_NEW(&l->arena, hd_manifest);
    HD_TRY(hd_manifest_read(ctx, parts[i].manifest_json, parts[i].json_bytes, &l->arena, manifest));
    read[i] = (hd_launcher_part){manifest, parts[i].image};
    for (size_t j = 0; j < i; j++)
      if (strcmp(read[j].manifest->target, manifest->target) == 0)
        return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.target",
                        "got two parts for %s; legal: each target once", manifest->target);
  }
  l->name = read->manifest->name;
  return HEDDLE_OK;
}

static heddle_status write_files(heddle_context *ctx, const heddle_launcher_part *parts, size_t n,
                                 bool compress, heddle_launcher *l) {
  hd_launcher_part read[HD_MAX_PARTS];
  if (n < 1 || n > HD_MAX_PARTS)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launcher.parts",
                    "got %zu parts; legal: 1 to %d", n, HD_MAX_PARTS);
  HD_TRY(read_parts(ctx, parts, n, l, read));
  HD_TRY(hd_launcher_write(ctx, read, (int32_t)n, compress, &l->files));
  return n == 1 ? hd_manifest_write(ctx, read->manifest, &l->json)
                : hd_bundle_write(ctx, read, (int32_t)n, &l->files.binary, &l->json);
}

static heddle_status write_launcher(heddle_context *ctx, const heddle_launcher_part *parts,
                                    size_t n_parts, bool compress, heddle_launcher **launcher) {
  uint64_t before = hd_memory_shortages();
  heddle_launcher *made = hd_try_zalloc(ctx, sizeof *made, "a launcher");
  heddle_status status = made ? write_files(ctx, parts, n_parts, compress, made) : HEDDLE_NO_MEMORY;
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK)
    *launcher = made;
  else
    heddle_launcher_free(made);
  return status;
}

heddle_status heddle_launcher_write(heddle_context *ctx, const heddle_launcher_part *parts,
                                    size_t n_parts, heddle_launcher **launcher) {
  return write_launcher(ctx, parts, n_parts, false, launcher);
}

heddle_status heddle_launcher_write_zstd(heddle_context *ctx, const heddle_launcher_part *parts,
                                         size_t n_parts, heddle_launcher **launcher) {
  return write_launcher(ctx, parts, n_parts, true, launcher);
}

void heddle_launcher_free(heddle_launcher *l) {
  if (!l)
    return;
  hd_launcher_files_free(&l->files);
  hd_free(l->json);
  hd_arena_free(&l->arena);
  hd_free(l);
}

const char *heddle_launcher_name(const heddle_launcher *l) { return l->name; }
const char *heddle_launcher_header(const heddle_launcher *l) { return l->files.header; }
const char *heddle_launcher_source(const heddle_launcher *l) { return l->files.source; }
const char *heddle_launcher_manifest(const heddle_launcher *l) { return l->json; }

const void *heddle_launcher_binary(const heddle_launcher *l, size_t *n_bytes) {
  if (n_bytes)
    *n_bytes = l->files.binary.n_bytes;
  return l->files.binary.data;
}
